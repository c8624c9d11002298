// A second implementation of the plain protocol, with no care: exclusive create, judge, unlink.
// usage: node plain_worker.mjs counter|cs|claim PROJECTS_DIR PROJECT_ID JSON_OPTS
// claim {n,tasks,base,startAt,pace,log}: claims the n slots of each task in turn; appends
// `won TASK K` to the log for each.
import fs from 'node:fs';
import path from 'node:path';

const [mode, dir, project, json] = process.argv.slice(2);
const opts = JSON.parse(json);
const file = path.join(dir, `${project}.json`);
const lock = `${file}.lock`;
const nap = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.max(ms, 0));

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}

function stale() {
  try {
    const text = fs.readFileSync(lock, 'utf8');
    if (text === '') return Date.now() - fs.statSync(lock).mtimeMs > 60_000;
    const { pid, at } = JSON.parse(text);
    return !alive(Number(pid)) || Date.now() - at > 60_000;
  } catch {
    return false;
  }
}

function locked(work) {
  const deadline = Date.now() + 10_000;
  for (;;) {
    try {
      fs.writeFileSync(lock, JSON.stringify({ pid: process.pid, at: Date.now() }), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (stale()) fs.rmSync(lock, { force: true });
    else if (Date.now() > deadline) throw new Error('timeout');
    else nap(5 + Math.random() * 20);
  }
  try {
    return work();
  } finally {
    try {
      if (JSON.parse(fs.readFileSync(lock, 'utf8')).pid === process.pid) fs.unlinkSync(lock);
    } catch {
      // Somebody took it.
    }
  }
}

function count() {
  const config = JSON.parse(fs.readFileSync(file, 'utf8'));
  const task = config.scheduledTasks.find(({ id }) => id === opts.task);
  task.state.lastDurationMs = (task.state.lastDurationMs ?? 0) + 1;
  const temporary = `${file}.${process.pid}.tmp`;
  fs.writeFileSync(temporary, JSON.stringify(config, null, 2));
  fs.renameSync(temporary, file);
}

function section() {
  const start = process.hrtime.bigint();
  nap(opts.csMs);
  fs.appendFileSync(opts.log, `${process.pid} ${start} ${process.hrtime.bigint()}\n`);
}

// A slot not later than the newest claimed one is taken.
function claim(id, slot) {
  const config = JSON.parse(fs.readFileSync(file, 'utf8'));
  const task = config.scheduledTasks.find((found) => found.id === id);
  const last = task.state.lastScheduledFor;
  if (last !== undefined && last >= slot - 5000) return false;
  Object.assign(task.state, { lastScheduledFor: slot, lastRunAt: slot, lastStatus: 'running' });
  const temporary = `${file}.${process.pid}.tmp`;
  fs.writeFileSync(temporary, JSON.stringify(config, null, 2));
  fs.renameSync(temporary, file);
  return true;
}

nap((opts.startAt ?? 0) - Date.now());
let ok = 0;
const errors = [];
function attempt(work) {
  try {
    const done = locked(work);
    ok += 1;
    return done;
  } catch (error) {
    errors.push(String(error));
    return false;
  }
}
if (mode === 'claim') {
  for (let k = 0; k < opts.n; k++) {
    nap(opts.startAt + (k + Math.random() * 0.6) * opts.pace - Date.now());
    for (const id of opts.tasks) {
      const won = attempt(() => claim(id, opts.base + k * 60_000));
      if (won) fs.appendFileSync(opts.log, `won ${id} ${k}\n`);
    }
  }
} else {
  for (let k = 0; k < opts.n; k++) attempt(mode === 'cs' ? section : count);
}
console.log(JSON.stringify({ pid: process.pid, ok, entered: ok, errors }));
