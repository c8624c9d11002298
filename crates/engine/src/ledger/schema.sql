-- Version 1. Times: *_at, *_for are wall time in ms since 1970; *_awake are ms awake since boot.

CREATE TABLE run (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  project        TEXT    NOT NULL,
  task           TEXT    NOT NULL,
  task_name      TEXT    NOT NULL,
  trigger        TEXT    NOT NULL,
  scheduled_for  INTEGER,                     -- NULL: a manual run
  attempt        INTEGER NOT NULL DEFAULT 1,
  status         TEXT    NOT NULL CHECK (status IN (
    'claimed', 'queued', 'retrying', 'running', 'blocked',
    'succeeded', 'failed', 'timed_out', 'cancelled', 'lost',
    'skipped', 'missed', 'deduped', 'superseded')),
  reason         TEXT,
  created_at     INTEGER NOT NULL,
  due_at         INTEGER,                     -- when a waiting row may start
  waited_as      TEXT,                        -- what an undone claim goes back to
  started_at     INTEGER,
  finished_at    INTEGER,
  duration_ms    INTEGER,
  holder         TEXT,
  fence          INTEGER NOT NULL DEFAULT 0,
  run_at         INTEGER,                     -- what the shared JSON got as lastRunAt
  session_id     TEXT,
  child          TEXT,
  error          TEXT,
  persist_error  TEXT,
  note           TEXT,
  tokens         TEXT,
  cost           REAL,
  answer         TEXT,
  count          INTEGER NOT NULL DEFAULT 1,  -- slots in this row; the last is scheduled_for
  first_for      INTEGER,                     -- the first of them
  json_pending   INTEGER NOT NULL DEFAULT 0   -- the shared JSON does not show the end yet
);
CREATE UNIQUE INDEX run_slot ON run (project, task, scheduled_for, attempt)
  WHERE scheduled_for IS NOT NULL;
CREATE INDEX run_task    ON run (project, task);      -- and by id within it
CREATE INDEX run_project ON run (project);
CREATE INDEX run_status  ON run (status);
CREATE INDEX run_created ON run (project, task, created_at);
CREATE INDEX run_at      ON run (created_at);
CREATE INDEX run_session ON run (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX run_pending ON run (id) WHERE json_pending = 1;

CREATE TRIGGER run_transition BEFORE UPDATE OF status ON run
WHEN old.status <> new.status AND NOT (
     old.status = 'claimed' AND new.status IN ('running', 'queued', 'retrying', 'failed',
       'cancelled', 'lost', 'skipped', 'deduped', 'superseded')
  OR old.status IN ('queued', 'retrying') AND new.status IN ('claimed', 'superseded',
       'cancelled', 'skipped', 'failed')
  OR old.status = 'running' AND new.status IN ('blocked', 'succeeded', 'failed', 'timed_out',
       'cancelled', 'lost')
  OR old.status = 'blocked' AND new.status IN ('running', 'succeeded', 'failed', 'timed_out',
       'cancelled', 'lost'))
BEGIN
  SELECT RAISE(ABORT, 'illegal transition of a run');
END;

-- One row per task that ever had a run; "running" while running_at is set.
CREATE TABLE marker (
  project    TEXT    NOT NULL,
  task       TEXT    NOT NULL,
  running_at INTEGER,                         -- the last beat, wall time
  beat_awake INTEGER,                         -- the last beat, ms awake since that boot
  run        INTEGER,
  holder     TEXT,
  lease_ms   INTEGER,                         -- the holder's own
  fence      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (project, task)
) WITHOUT ROWID;
CREATE INDEX marker_running ON marker (run) WHERE running_at IS NOT NULL;

CREATE TABLE step (
  id     INTEGER PRIMARY KEY,
  run    INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  at     INTEGER NOT NULL,
  kind   TEXT    NOT NULL,
  detail TEXT
);
CREATE INDEX step_run ON step (run);

CREATE TABLE ask (
  run         INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  id          TEXT    NOT NULL,
  kind        TEXT    NOT NULL,
  text        TEXT    NOT NULL,
  pattern     TEXT,
  options     TEXT    NOT NULL DEFAULT '[]',
  asked_at    INTEGER NOT NULL,
  answered_at INTEGER,
  answer      TEXT,
  PRIMARY KEY (run, id)
) WITHOUT ROWID;

CREATE TABLE control (
  id       INTEGER PRIMARY KEY,
  run      INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  body     TEXT    NOT NULL,
  at       INTEGER NOT NULL,
  taken_at INTEGER
);
CREATE INDEX control_waiting ON control (run) WHERE taken_at IS NULL;
CREATE INDEX control_run ON control (run);

-- Up to where every slot of a task has its row.
CREATE TABLE account (
  project       TEXT    NOT NULL,
  task          TEXT    NOT NULL,
  accounted_to  INTEGER NOT NULL,
  schedule_hash TEXT    NOT NULL,
  PRIMARY KEY (project, task)
) WITHOUT ROWID;

-- Pause of everything: project and task are empty. Auto-pause: those of the task.
CREATE TABLE hold (
  project         TEXT    NOT NULL,
  task            TEXT    NOT NULL,
  since           INTEGER NOT NULL,
  until           INTEGER,
  reason          TEXT,
  definition_hash TEXT,
  PRIMARY KEY (project, task)
) WITHOUT ROWID;

CREATE TABLE approval (
  hash        TEXT    PRIMARY KEY,
  approved_at INTEGER NOT NULL
) WITHOUT ROWID;

-- The text that was approved last of a task, to show what changed since.
CREATE TABLE approved_text (
  project TEXT NOT NULL,
  task    TEXT NOT NULL,
  body    TEXT NOT NULL,
  PRIMARY KEY (project, task)
) WITHOUT ROWID;

-- What a person has seen and put aside.
CREATE TABLE dismissal (
  id           TEXT    PRIMARY KEY,
  dismissed_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Slots that a rule held back; each becomes a row a minute later, whoever is there then.
CREATE TABLE held_slot (
  project   TEXT    NOT NULL,
  task      TEXT    NOT NULL,
  slot      INTEGER NOT NULL,
  task_name TEXT    NOT NULL,
  reason    TEXT    NOT NULL,
  held_at   INTEGER NOT NULL,
  PRIMARY KEY (project, task, slot)
) WITHOUT ROWID;

-- The newest run of a task when its auto-pause ended: failures are counted from there on.
CREATE TABLE streak (
  project   TEXT    NOT NULL,
  task      TEXT    NOT NULL,
  after_run INTEGER NOT NULL,
  PRIMARY KEY (project, task)
) WITHOUT ROWID;

CREATE TABLE policy (
  project TEXT NOT NULL,
  task    TEXT NOT NULL,
  body    TEXT NOT NULL,
  PRIMARY KEY (project, task)
) WITHOUT ROWID;
