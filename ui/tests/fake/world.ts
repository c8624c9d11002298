import type { ApprovalView, Ask, Event, EventKind, Policy, ProjectView, Run, RunBar, RunStatus, Schedule, TaskSummary } from '../../src/api/types';
import { pastOf } from './history';
import { checkOf } from './loop-file';
import { TUESDAY, type FakeOptions, type Row } from './model';
import { slotsAfter } from './slots';

export type NewTask = Partial<TaskSummary> & { every?: number; clock?: string[]; days?: number[]; prompt?: string; policy?: Policy; schedule?: Schedule; json?: boolean; user?: boolean; history?: string };

/** Everything that the server knows, and what can happen to it. Tests read it, and change it behind the page's back. */
export abstract class World {
  projects: ProjectView[] = [];
  rows: Row[] = [];
  runs: Run[] = [];
  asks = new Map<number, Ask[]>();
  files = new Map<string, string>();
  trash = new Map<string, { path: string; text: string; row: Row; at: number }>();
  dismissed = new Set<string>();
  paused: { since: number; until?: number } | undefined;
  approvals: ApprovalView[] = [];
  settings: Record<string, Record<string, unknown>> = {
    opencode: { url: '', binary: '', ready_timeout: '10s' }, command: { claude: { argv: ['claude', '-p', '--model', '{model}'], stdin: true } } as Record<string, unknown>,
    runs: { global: 4, per_project: 2, timeout: '45m', blocked_timeout: '12h', start_deadline: '5m', retries: 1, retry_backoff: '1m', catch_up: 'latest', catch_up_window: '1d', overlap: 'skip', pause_after_failures: 5, history: 1000 },
    lease: { heartbeat: '2m', duration: '10m' }, server: { host: '127.0.0.1', port: 4117 }, notify: { failure: true }, approval: { mode: 'risky' }, desktop: { keep_awake: false }, signal: { url: '' },
  };
  readonly options: FakeOptions;
  readonly start: number;
  #run = 0;
  readonly #began = Date.now();

  constructor(options: FakeOptions = {}) {
    this.options = options;
    this.start = options.now ?? TUESDAY;
  }
  now(): number {
    return this.start + (Date.now() - this.#began);
  }
  /** Tells everybody who listens. */
  abstract emit(kind: EventKind, over?: Partial<Event>): void;

  project(id: string, label: string, removable = true, problems: string[] = []): ProjectView {
    const project: ProjectView = { id, path: `/home/ada/src/${label}`, label, tasks: 0, enabled: 0, removable, problems };
    this.projects.push(project);
    return project;
  }
  add(project: ProjectView, name: string, over: NewTask): Row {
    const { every, clock, days, prompt, policy, schedule, json, user, history, ...summary } = over;
    const enabled = summary.enabled ?? true;
    const file = json ? undefined : user ? `/home/ada/.agents/loops/${name}.md` : `${project.path}/.agents/loops/${name}.md`;
    const id = json ? `task-${name}` : `loop:${user ? 'user' : 'project'}:${name}`;
    const model = summary.model ?? 'anthropic/claude-sonnet-4-5';
    const timezone = summary.timezone ?? 'UTC';
    const [providerID = '', ...rest] = model.split('/');
    const text = prompt ?? 'Summarize what changed in this repository since yesterday.\n\nGroup by area, name the risky changes first, and keep it under 200 words.';
    const row: Row = {
      summary: {
        projectId: project.id, projectLabel: project.label, id, name, enabled, condition: enabled ? 'armed' : 'off', words: 'Every day at 09:00', timezone, foreignZone: false, model, seenIn: user ? 3 : 1, recent: [],
        ...(file ? { loopFile: file, scope: user ? 'user' : 'project' } : {}), ...summary,
      },
      task: { id, name, enabled, schedule: schedule ?? { kind: 'cron', cron: '0 9 * * *', timezone }, execution: { prompt: text, providerID, modelID: rest.join('/') }, state: {}, ...(file ? { loopFile: file } : {}) },
      policy: policy ?? {},
      ...(every === undefined ? {} : { every }), ...(clock === undefined ? {} : { clock }), ...(days === undefined ? {} : { days }),
    };
    this.rows.push(row);
    if (file) {
      const cron = row.task.schedule.kind === 'cron' ? row.task.schedule.cron : '0 9 * * *';
      this.files.set(file, `---\nname: ${name}\nschedule: "${cron}"\nenabled: ${enabled}\nmodel: ${model}\n${timezone === 'UTC' ? '' : `timezone: ${timezone}\n`}---\n${text}\n`);
    }
    if (enabled && row.summary.condition !== 'needs_approval') {
      const next = slotsAfter(row, this.now(), 1)[0];
      if (next !== undefined) row.summary.nextRunAt = next.at;
    }
    for (const past of pastOf(row, history ?? 'ssssssssssssss', this.now())) this.push(row, past);
    return row;
  }
  push(row: Row, over: Partial<Run> & { status: RunStatus }): Run {
    const run: Run = { id: (this.#run += 1), projectId: row.summary.projectId, taskId: row.summary.id, taskName: row.summary.name, trigger: 'scheduled', attempt: 1, createdAt: over.startedAt ?? over.scheduledFor ?? this.now(), ...over };
    this.runs.push(run);
    this.derive(row);
    return run;
  }
  derive(row: Row): void {
    const mine = this.runs.filter((run) => run.taskId === row.summary.id && run.projectId === row.summary.projectId);
    const open = mine.filter((run) => ['claimed', 'queued', 'retrying', 'running', 'blocked'].includes(run.status)).at(-1);
    const ended = mine.filter((run) => run.finishedAt !== undefined || run.status === 'missed' || run.status === 'skipped');
    const last = ended.filter((run) => run.startedAt !== undefined).at(-1);
    row.summary.recent = ended.slice(-14).map((run): RunBar => ({ id: run.id, status: run.status, at: run.startedAt ?? run.scheduledFor ?? 0, ...(run.durationMs === undefined ? {} : { durationMs: run.durationMs }) }));
    if (last) row.summary.lastRun = last;
    if (open) row.summary.openRun = open;
    else delete row.summary.openRun;
    const asks = open ? (this.asks.get(open.id) ?? []) : [];
    if (asks.length > 0) row.summary.asks = asks;
    else delete row.summary.asks;
    const kept = row.summary.condition;
    row.summary.condition = open ? (open.status === 'blocked' ? 'blocked' : open.status === 'queued' || open.status === 'retrying' ? 'waiting' : 'running')
      : kept === 'needs_approval' || kept === 'auto_paused' ? kept : !row.summary.enabled ? 'off' : row.summary.nextRunAt === undefined && kept === 'idle' ? 'idle' : 'armed';
  }
  open(row: Row, status: RunStatus, ago: number, asks: Ask[] = []): Run {
    const at = this.now() - ago;
    const run = this.push(row, { status, scheduledFor: at - 400, ...(status === 'queued' ? {} : { startedAt: at, sessionId: `ses_${(at % 1e9).toString(36)}` }) });
    if (asks.length > 0) this.asks.set(run.id, asks);
    this.derive(row);
    return run;
  }
  row(project: string, id: string): Row | undefined {
    return this.rows.find((row) => row.summary.projectId === project && row.summary.id === id);
  }
  /** Changes a file behind everybody's back. */
  write(path: string, text: string): void {
    this.files.set(path, text);
    this.emit('tasks_changed');
  }
  finish(run: Run, status: RunStatus, over: Partial<Run> = {}): void {
    run.status = status;
    run.finishedAt = this.now();
    run.durationMs = run.finishedAt - (run.startedAt ?? run.finishedAt);
    Object.assign(run, over);
    const row = this.row(run.projectId, run.taskId);
    if (row) this.derive(row);
    this.emit('run_finished', { projectId: run.projectId, taskId: run.taskId, runId: run.id });
    if (run.persistError) this.emit('persist_error', { projectId: run.projectId, taskId: run.taskId, runId: run.id });
  }
  startRun(row: Row): Run {
    const run = this.push(row, { status: 'running', trigger: 'manual', startedAt: this.now(), sessionId: `ses_${this.#run}` });
    this.emit('run_changed', { projectId: run.projectId, taskId: run.taskId, runId: run.id });
    return run;
  }
  setText(path: string, text: string): void {
    this.files.set(path, text);
    const check = checkOf(text, this.now());
    for (const row of this.rows.filter((each) => each.summary.loopFile === path)) {
      if (check.definition) {
        row.summary.enabled = check.definition.enabled;
        row.task.enabled = check.definition.enabled;
        row.summary.words = check.preview?.words ?? row.summary.words;
        row.task.execution.prompt = check.definition.execution.prompt;
        delete row.summary.fileErrors;
        if (check.definition.enabled && check.preview?.next[0]) row.summary.nextRunAt = check.preview.next[0].at;
        else delete row.summary.nextRunAt;
      } else row.summary.fileErrors = check.diagnostics;
      this.derive(row);
    }
    this.emit('tasks_changed');
  }
}
