/**
 * A server that answers the routes from memory, with a day full of everything that the window has to show.
 * For working on the window, and for tests of what a real server cannot be brought to quickly.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { extname, join, normalize } from 'node:path';
import type {
  ApprovalView, Ask, CheckView, Diagnostic, Event, EventKind, LoopFileView, Need, Overview, Policy, Preview, ProjectView, Run, RunBar, RunStatus,
  RunView, Schedule, Step, Task, TaskDetail, TaskSummary, Timeline, Upcoming,
} from '../src/api/types';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export interface FakeOptions {
  /** The built page; without it only the routes answer. */
  dist?: string;
  /** How many further tasks there are beside the sample's. */
  many?: number;
  /** Nothing registered at all. */
  empty?: boolean;
  /** A project, and nothing in it. */
  bare?: boolean;
  /** Nothing that needs anybody. */
  calm?: boolean;
  /** Where its time begins; without one, on `TUESDAY`. */
  now?: number;
  /** A name as long as names may be, in a project with a long one. */
  long?: boolean;
}
/** A winter morning in the machine's zone, with enough behind and enough to come: what is shown is the same at every hour somebody runs the tests. */
export const TUESDAY = new Date(2026, 11, 1, 10, 18, 30).getTime();
interface Row { summary: TaskSummary; task: Task; policy: Policy; every?: number; clock?: string[]; days?: number[]; once?: number }

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
/** How far a zone's wall time is ahead of the machine's, in ms. */
function zoneShift(zone: string, at: number): number {
  const wall = (timeZone?: string): number => Date.parse(`${new Date(at).toLocaleString('en-US', timeZone ? { timeZone } : {})} UTC`);
  return wall(zone) - wall();
}
const etagOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

export class Fake {
  readonly port: number = 0;
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
  /** What was asked, for tests. */
  calls: { method: string; path: string; body: unknown }[] = [];
  /** Policy violations that the page reported. */
  violations: string[] = [];
  #streams = new Set<ServerResponse>();
  #event = 0;
  #server: Server | undefined;
  #run = 0;
  readonly #options: FakeOptions;
  readonly #start: number;
  readonly #began = Date.now();

  constructor(options: FakeOptions = {}) {
    this.#options = options;
    this.#start = options.now ?? TUESDAY;
    if (options.bare) this.#project('path_new', 'new-project');
    else if (!options.empty) this.#fill();
  }
  now(): number {
    return this.#start + (Date.now() - this.#began);
  }

  // ---- the sample -------------------------------------------------------------------------

  #project(id: string, label: string, removable = true, problems: string[] = []): ProjectView {
    const project: ProjectView = { id, path: `/home/ada/src/${label}`, label, tasks: 0, enabled: 0, removable, problems };
    this.projects.push(project);
    return project;
  }
  #add(project: ProjectView, name: string, over: Partial<TaskSummary> & { every?: number; clock?: string[]; days?: number[]; prompt?: string; policy?: Policy; schedule?: Schedule; json?: boolean; user?: boolean; history?: string }): Row {
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
      const next = this.#next(row, this.now(), 1)[0];
      if (next !== undefined) row.summary.nextRunAt = next.at;
    }
    this.#history(row, history ?? 'ssssssssssssss');
    return row;
  }
  #next(row: Row, after: number, count: number): Upcoming[] {
    const out: Upcoming[] = [];
    if (row.once !== undefined) return row.once > after ? [{ at: row.once }] : [];
    if (row.every !== undefined) {
      let at = Math.floor(after / row.every) * row.every + row.every;
      while (out.length < count) {
        out.push({ at });
        at += row.every;
      }
      return out;
    }
    const clock = row.clock ?? ['09:00'];
    for (let day = 0; out.length < count && day < 60; day += 1) {
      const date = new Date(after + day * DAY);
      if (row.days && !row.days.includes(date.getDay())) continue;
      for (const time of clock) {
        const [hour = 0, minute = 0] = time.split(':').map(Number);
        const at = new Date(date.getFullYear(), date.getMonth(), date.getDate(), hour, minute).getTime();
        if (at > after && out.length < count) out.push({ at });
      }
    }
    return out;
  }
  #before(row: Row, until: number, count: number): number[] {
    const from = until - (row.every !== undefined ? row.every * (count + 1) : (row.days ? 2.4 : 1.1) * DAY * (count + 2));
    return this.#next(row, from, 400).map((slot) => slot.at).filter((at) => at < until).slice(-count);
  }
  #history(row: Row, pattern: string): void {
    const dice = random([...row.summary.name].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) >>> 0);
    if (pattern === '') return;
    const slots = this.#before(row, this.now() - MINUTE, pattern.length);
    const usual = 15_000 + dice() * 400_000;
    slots.forEach((at, index) => {
      const letter = pattern[pattern.length - slots.length + index] ?? 's';
      const status = ({ s: 'succeeded', f: 'failed', t: 'timed_out', m: 'missed', k: 'skipped', d: 'deduped', c: 'cancelled', l: 'lost' } as Record<string, RunStatus>)[letter] ?? 'succeeded';
      const never = status === 'missed' || status === 'skipped' || status === 'deduped';
      const took = status === 'timed_out' ? 30 * MINUTE : Math.round(usual * (0.5 + dice()));
      this.#push(row, {
        status, scheduledFor: at,
        ...(never ? { reason: status === 'missed' ? 'asleep' : status === 'skipped' ? 'already_running' : 'claim_failed', ...(status === 'missed' ? { count: 3, firstFor: at - 2 * HOUR } : {}) } : {
          startedAt: at + Math.round(dice() * 900), finishedAt: at + took, durationMs: took, sessionId: `ses_${(at % 1e9).toString(36)}${index}`,
          tokens: { input: Math.round(3000 + dice() * 20000), output: Math.round(400 + dice() * 3000), reasoning: 0, cacheRead: Math.round(dice() * 40000), cacheWrite: 0 }, cost: Math.round(dice() * 2200) / 10000,
        }),
        ...(status === 'failed' ? { error: 'The model answered 429: rate limit reached for the organisation. Four attempts in 65 s.' } : {}),
        ...(status === 'timed_out' ? { error: 'The time limit of 30m was reached; the session was aborted.', reason: 'timeout' } : {}),
        ...(status === 'succeeded' ? { answer: 'Seven commits since yesterday, three of them in the scheduler.\n\n- claim: the marker is written before the session exists (risky, read twice)\n- timers: a wake-up after sleep no longer fires a slot twice\n- docs: the protocol names the lease\n\nNothing touches the database schema.' } : {}),
      });
    });
  }
  #push(row: Row, over: Partial<Run> & { status: RunStatus }): Run {
    const run: Run = { id: (this.#run += 1), projectId: row.summary.projectId, taskId: row.summary.id, taskName: row.summary.name, trigger: 'scheduled', attempt: 1, ...over };
    this.runs.push(run);
    this.#derive(row);
    return run;
  }
  #derive(row: Row): void {
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
  #open(row: Row, status: RunStatus, ago: number, asks: Ask[] = []): Run {
    const at = this.now() - ago;
    const run = this.#push(row, { status, scheduledFor: at - 400, ...(status === 'queued' ? {} : { startedAt: at, sessionId: `ses_${(at % 1e9).toString(36)}` }) });
    if (asks.length > 0) this.asks.set(run.id, asks);
    this.#derive(row);
    return run;
  }
  #fill(): void {
    const calm = this.#options.calm === true;
    const now = this.now();
    const alpha = this.#project('path_alpha', 'alpha');
    const beta = this.#project('path_beta', 'beta-site', false);
    const infra = this.#project('path_infra', 'infra');
    // Nine in Kyiv, in winter, where the machine keeps UTC.
    this.#add(alpha, 'daily-digest', { clock: ['07:00'], words: 'Every day at 09:00', timezone: 'Europe/Kyiv', foreignZone: true, schedule: { kind: 'cron', cron: '0 9 * * *', timezone: 'Europe/Kyiv' } });
    const triage = this.#add(alpha, 'triage-inbox', { every: 15 * MINUTE, words: 'Every 15 minutes', schedule: { kind: 'cron', cron: '*/15 * * * *', timezone: 'UTC' }, history: calm ? 'ssssssssssssss' : 'sssssssmssssss', policy: { timeout: '10m', overlap: 'queue' } });
    this.#open(triage, 'running', 3 * MINUTE + 12_000);
    const audit = this.#add(alpha, 'weekly-audit', { clock: ['07:30'], days: [1], words: 'Mondays at 07:30', history: 'ssssfs', model: 'anthropic/claude-opus-4-5' });
    const links = this.#add(beta, 'check-links', { every: HOUR, words: 'Every hour', history: calm ? 'ssssssssssssss' : 'ssssssssssfsff', schedule: { kind: 'cron', cron: '0 * * * *', timezone: 'UTC' } });
    this.#add(beta, 'changelog-draft', { clock: ['16:00'], days: [5], words: 'Fridays at 16:00', history: 'ssssss', json: true, schedule: { kind: 'weekly', times: ['16:00'], weekdays: [5], timezone: 'UTC' } });
    const prices = this.#add(beta, 'competitor-prices', { clock: ['06:00', '18:00'], words: 'Every day at 06:00 and 18:00', history: calm ? 'ssssssssssssss' : 'sssssssssfffff', json: true, schedule: { kind: 'daily', times: ['06:00', '18:00'], timezone: 'UTC' }, model: 'openai/gpt-5-mini' });
    const translate = this.#add(beta, 'translate-docs', { clock: ['22:15'], days: [1, 2, 3, 4, 5], words: 'Weekdays at 22:15', history: 'sssssss', model: 'google/gemini-3-pro' });
    const deps = this.#add(infra, 'dependency-updates', { clock: ['05:00'], words: 'Every day at 05:00', history: 'sssssstsssssss', model: 'claude/sonnet', policy: { catch_up: 'latest', retries: 2, retry_backoff: '5m', timeout: '1h' } });
    this.#add(infra, 'certificate-expiry', { clock: ['08:00'], words: 'Every day at 08:00', history: calm ? 'ssssssssssssss' : 'ssssssssssmmss' });
    this.#add(infra, 'postmortem-reminder', { enabled: false, clock: ['10:00'], words: 'Wednesdays at 10:00', days: [3], history: 'sssf', user: true });
    this.#add(infra, 'standup-notes', { clock: ['08:45'], days: [1, 2, 3, 4, 5], words: 'Weekdays at 08:45', history: 'ssssssssss', user: true });
    this.#add(alpha, 'old-report', { enabled: false, words: 'Every day at 12:00', clock: ['12:00'], history: 'ssssssf' });
    const once = this.#add(alpha, 'release-notes-2.0', { words: 'Once, on 3 December at 14:00', history: '', json: true, schedule: { kind: 'once', date: '2026-12-03', time: '14:00', timezone: 'UTC' }, clock: ['14:00'] });
    once.once = once.summary.nextRunAt = Math.floor(now / DAY) * DAY + 2 * DAY + 14 * HOUR;
    const queued = this.#add(infra, 'log-anomalies', { every: 30 * MINUTE, words: 'Every 30 minutes', history: 'sssskssssskssss', schedule: { kind: 'cron', cron: '*/30 * * * *', timezone: 'UTC' }, model: 'ollama/qwen3-coder' });
    if (!calm) {
      this.#open(queued, 'queued', 20_000);
      this.#open(audit, 'blocked', 14 * MINUTE, [{ id: 'per_1', kind: 'permission', text: 'bash: npm audit fix --package-lock-only', askedAt: now - 12 * MINUTE }]);
      this.#open(translate, 'blocked', 48 * MINUTE, [{ id: 'que_1', kind: 'question', text: 'Which spelling do the German pages use: “Zeitplan” or “Ablaufplan”?', options: ['Zeitplan', 'Ablaufplan'], askedAt: now - 40 * MINUTE }]);
      prices.summary.condition = 'auto_paused';
      delete prices.summary.nextRunAt;
      deps.summary.condition = 'needs_approval';
      deps.summary.approvalHash = 'a41f';
      deps.task.execution.permissionAutoAccept = true;
      links.summary.fileErrors = [{ severity: 'error', code: 'schedule_unquoted', line: 3, column: 11, endLine: 3, endColumn: 20, message: 'The schedule begins with * and is not quoted, so YAML reads it as an alias.', help: 'Quote it.' }];
      this.approvals.push({ projectId: deps.summary.projectId, taskId: deps.summary.id, name: deps.summary.name, ...(deps.summary.loopFile ? { path: deps.summary.loopFile } : {}), hash: 'a41f', why: 'It runs a command agent (claude) on this machine, and its content changed since you approved it.',
        text: this.files.get(deps.summary.loopFile ?? '') ?? '', approvedText: (this.files.get(deps.summary.loopFile ?? '') ?? '').replace('Group by area, name the risky changes first, and keep it under 200 words.', 'Keep it short.') });
    }
    if (this.#options.long) {
      const project = this.#project('path_long', 'a-monorepo-with-a-name-that-nobody-wants-to-type-twice');
      this.#add(project, 'summarize-every-open-pull-request-of-the-week-for-the-people-who-were-away-then', { clock: ['06:00', '09:00', '12:00', '15:00', '18:00', '21:00'], words: 'Every day at 06:00, 09:00, 12:00, 15:00, 18:00 and 21:00', timezone: 'America/Argentina/Buenos_Aires', foreignZone: true });
      const asks = this.#add(project, 'asks-for-something-with-a-command-that-does-not-fit-into-one-line-of-any-window', { clock: ['06:00'], words: 'Every day at 06:00' });
      this.#open(asks, 'blocked', 9 * MINUTE, [{ id: 'per_9', kind: 'permission', text: `bash: ${'find . -name "*.orig" -not -path "./node_modules/*" -print0 | xargs -0 rm -f && '.repeat(3)}git status`, askedAt: now - 9 * MINUTE }]);
    }
    const dice = random(99);
    for (let n = 0; n < (this.#options.many ?? 0); n += 1) {
      const project = this.projects[n % this.projects.length];
      if (!project) break;
      const hour = Math.floor(dice() * 24);
      const minute = Math.floor(dice() * 60);
      const clock = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
      this.#add(project, `loop-${String(n + 1).padStart(4, '0')}`, { clock: [clock], words: `Every day at ${clock}`, enabled: dice() > 0.15, history: n < 40 ? 'sssss' : '' });
    }
  }

  // ---- answers ----------------------------------------------------------------------------

  row(project: string, id: string): Row | undefined {
    return this.rows.find((row) => row.summary.projectId === project && row.summary.id === id);
  }
  needs(): Need[] {
    const needs: Need[] = [];
    const of = (row: Row): Pick<Need, 'projectId' | 'taskId' | 'taskName'> => ({ projectId: row.summary.projectId, taskId: row.summary.id, taskName: row.summary.name });
    for (const row of this.rows) {
      const { summary } = row;
      const open = summary.openRun;
      if (open && summary.condition === 'blocked') needs.push({ id: `blocked-${open.id}`, kind: 'blocked', at: summary.asks?.[0]?.askedAt ?? open.startedAt ?? 0, text: summary.asks?.[0]?.kind === 'question' ? 'It asks a question.' : 'It asks for a permission.', help: 'It waits up to 12 h; its time limit stands still meanwhile.', ...of(row), runId: open.id, asks: summary.asks ?? [] });
      if (summary.condition === 'needs_approval') needs.push({ id: `approval-${summary.id}`, kind: 'approval', at: this.#start - 5 * HOUR, text: 'Its content has to be approved before it runs again.', help: 'Read what changed, then approve it.', ...of(row), ...(summary.loopFile ? { path: summary.loopFile } : {}), ...(summary.approvalHash ? { hash: summary.approvalHash } : {}) });
      if (summary.condition === 'auto_paused') needs.push({ id: `paused-${summary.id}`, kind: 'auto_paused', at: this.#start - 7 * HOUR, text: 'Five runs in a row failed: the model answered 429.', help: 'Resume it once the limit is gone, or run it by hand.', ...of(row), ...(summary.lastRun ? { runId: summary.lastRun.id } : {}) });
      else if (summary.lastRun?.status === 'failed' && summary.enabled) needs.push({ id: `failed-${summary.lastRun.id}`, kind: 'failed', at: summary.lastRun.finishedAt ?? 0, text: `${summary.lastRun.error ?? 'It failed.'}`, help: 'Run it again, or change its model.', ...of(row), runId: summary.lastRun.id });
      const missed = this.runs.filter((run) => run.taskId === summary.id && run.status === 'missed').at(-1);
      if (missed && (missed.scheduledFor ?? 0) > this.#start - 3 * DAY) needs.push({ id: `missed-${missed.id}`, kind: 'missed', at: missed.scheduledFor ?? 0, text: `Missed ${missed.count ?? 1} slots while the computer was asleep.`, help: 'Run it now if it still matters; set `catch_up: latest` to catch up by itself.', ...of(row), runId: missed.id });
      const unwritten = this.runs.filter((run) => run.taskId === summary.id && run.persistError).at(-1);
      if (unwritten) needs.push({ id: `persist-${unwritten.id}`, kind: 'persist_error', at: unwritten.finishedAt ?? 0, text: unwritten.persistError ?? '', help: 'Free some space; the result is kept in the history.', ...of(row), runId: unwritten.id });
      if (summary.fileErrors?.length) needs.push({ id: `file-${summary.id}`, kind: 'file_error', at: this.#start - 26 * MINUTE, text: summary.fileErrors[0]?.message ?? '', help: 'The last good definition stays armed until the file is fixed.', ...of(row), ...(summary.loopFile ? { path: summary.loopFile } : {}) });
    }
    const order = ['blocked', 'approval', 'persist_error', 'auto_paused', 'failed', 'missed', 'file_error'];
    return needs.filter((need) => !this.dismissed.has(need.id)).sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  }
  overview(): Overview {
    const armed = this.rows.filter((row) => row.summary.condition === 'armed' || row.summary.condition === 'running');
    const next = [...this.rows].filter((row) => row.summary.enabled && row.summary.nextRunAt !== undefined).sort((a, b) => (a.summary.nextRunAt ?? 0) - (b.summary.nextRunAt ?? 0))[0];
    return {
      now: this.now(), armed: armed.length, tasks: this.rows.length, projects: this.projects.length, running: this.runs.filter((run) => run.status === 'running'), needsYou: this.needs(), stalled: false, warnings: [],
      ...(next?.summary.nextRunAt === undefined ? {} : { next: { projectId: next.summary.projectId, taskId: next.summary.id, name: next.summary.name, at: next.summary.nextRunAt } }), ...(this.paused ? { paused: this.paused } : {}),
    };
  }
  detail(row: Row): TaskDetail {
    const mine = this.runs.filter((run) => run.taskId === row.summary.id && run.finishedAt !== undefined);
    const next = row.summary.enabled ? this.#next(row, this.now(), 5) : [];
    if (row.summary.name === 'standup-notes' && next[3]) next[3] = { at: next[3].at + HOUR, clockChange: { kind: 'moved', named: '08:45', runs: '09:45' } };
    return {
      summary: row.summary, task: row.task, policy: row.policy, next, notes: row.summary.name === 'triage-inbox' ? ['Classic cron runs this at minutes 0, 15, 30 and 45; so does Loopkeeper, also through a clock change.'] : [],
      effectivePolicy: { timeout: '30m', blocked_timeout: '12h', catch_up: 'skip', catch_up_window: '24h', overlap: 'skip', retries: 0, retry_backoff: '1m', notify: 'failure', ...row.policy },
      stats: { runs: mine.length, succeeded: mine.filter((run) => run.status === 'succeeded').length, cost: mine.reduce((sum, run) => sum + (run.cost ?? 0), 0), tokens: mine.reduce((sum, run) => sum + (run.tokens ? run.tokens.input + run.tokens.output : 0), 0) },
      ...(row.summary.condition === 'auto_paused' ? { autoPause: 'The model answered 429: rate limit reached for the organisation.' } : {}),
    };
  }
  runView(run: Run): RunView {
    const at = run.scheduledFor ?? run.startedAt ?? 0;
    const steps: Step[] = run.startedAt === undefined ? [] : [
      { at, kind: 'due' }, { at: at + 31, kind: 'claimed' }, { at: run.startedAt + 210, kind: 'session', ...(run.sessionId ? { detail: run.sessionId } : {}) }, { at: run.startedAt + 260, kind: 'accepted' },
      ...(this.asks.get(run.id) ?? []).flatMap((ask): Step[] => [{ at: ask.askedAt, kind: 'blocked', detail: ask.text }, ...(ask.answeredAt ? [{ at: ask.answeredAt, kind: 'answered' }] : [])]),
      ...(run.finishedAt === undefined ? [] : [{ at: run.finishedAt, kind: 'ended', detail: run.status.replace('_', ' ') }]),
    ];
    return { run, steps, asks: this.asks.get(run.id) ?? [], ...(run.sessionId ? { attach: `opencode attach http://127.0.0.1:4096 --session ${run.sessionId}` } : {}) };
  }
  check(text: string): CheckView {
    const diagnostics: Diagnostic[] = [];
    const lines = text.split('\n');
    const end = lines.indexOf('---', 1);
    const at = (severity: Diagnostic['severity'], code: string, line: number, column: number, endColumn: number, message: string, help?: string, fix?: Diagnostic['fix']): void => {
      diagnostics.push({ severity, code, line, column, endLine: line, endColumn, message, ...(help ? { help } : {}), ...(fix ? { fix } : {}) });
    };
    if (lines[0] !== '---' || end < 0) {
      at('error', 'no_frontmatter', 1, 1, 1, 'The file does not begin with a frontmatter between two lines of ---.', 'Write --- as the first line.');
      return { ok: false, definition: null, diagnostics };
    }
    const values = new Map<string, { value: string; line: number; column: number; raw: string }>();
    for (let n = 1; n < end; n += 1) {
      const match = /^([\w-]+):(\s*)(.*)$/.exec(lines[n] ?? '');
      if (!match) continue;
      values.set(match[1] ?? '', { value: (match[3] ?? '').replace(/^"(.*)"$/, '$1'), raw: match[3] ?? '', line: n + 1, column: (match[1]?.length ?? 0) + 2 + (match[2]?.length ?? 0) });
    }
    for (const key of ['name', 'schedule', 'model']) if (!values.get(key)?.value) at('error', `missing_${key}`, end + 1, 1, 4, `\`${key}\` is missing.`, `Add a line \`${key}: …\` above.`);
    const schedule = values.get('schedule');
    if (schedule && /^[*@]/.test(schedule.raw)) at('error', 'schedule_unquoted', schedule.line, schedule.column, schedule.column + schedule.raw.length, `\`${schedule.raw}\` is not quoted, and YAML reads a leading * as an alias.`, undefined, { title: 'Quote it', edits: [{ line: schedule.line, column: schedule.column, endLine: schedule.line, endColumn: schedule.column + schedule.raw.length, text: `"${schedule.raw}"` }] });
    const enabled = values.get('enabled');
    if (enabled && !['true', 'false'].includes(enabled.raw)) at('warning', 'enabled_not_boolean', enabled.line, enabled.column, enabled.column + enabled.raw.length, `\`${enabled.raw}\` does not enable the loop: only true does.`, undefined, { title: 'Write true', edits: [{ line: enabled.line, column: enabled.column, endLine: enabled.line, endColumn: enabled.column + enabled.raw.length, text: 'true' }] });
    const body = lines.slice(end + 1).join('\n').trim();
    if (body === '') at('error', 'no_prompt', end + 1, 1, 4, 'There is no prompt below the frontmatter.', 'Write what the agent is to do.');
    if (!values.has('timezone')) at('info', 'no_timezone', end + 1, 1, 4, 'The machine’s zone holds (UTC).', 'A line `timezone: Europe/Kyiv` changes it.');
    const ok = !diagnostics.some((each) => each.severity === 'error');
    const model = values.get('model')?.value ?? '';
    const zone = values.get('timezone')?.value;
    const cron = schedule?.value ?? '';
    return {
      ok, diagnostics,
      definition: ok ? { name: values.get('name')?.value ?? '', enabled: enabled?.raw === 'true', schedule: { kind: 'cron', cron, ...(zone ? { timezone: zone } : {}) }, execution: { prompt: body, providerID: model.split('/')[0] ?? '', modelID: model.split('/').slice(1).join('/'), ...(values.get('agent') ? { agent: values.get('agent')?.value ?? '' } : {}) } } : null,
      ...(ok ? { preview: this.preview({ kind: 'cron', cron, timezone: zone ?? 'UTC' }) } : {}),
    };
  }
  preview(schedule: Schedule, count = 5): Preview {
    const timezone = schedule.timezone ?? 'UTC';
    const row = { summary: {} as TaskSummary, task: {} as Task, policy: {} } as Row;
    const notes: string[] = [];
    let words = '';
    if (schedule.kind === 'cron') {
      const [minute = '', hour = '', , , weekday = ''] = schedule.cron.split(/\s+/);
      const step = /^\*\/(\d+)$/.exec(minute)?.[1];
      if (step) {
        row.every = Number(step) * MINUTE;
        words = `Every ${step} minutes`;
      } else if (hour === '*') {
        row.every = HOUR;
        words = `Every hour at minute ${minute}`;
      } else {
        row.clock = [`${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`];
        words = `${weekday === '1-5' ? 'Weekdays' : 'Every day'} at ${row.clock[0]}`;
        if (weekday === '1-5') row.days = [1, 2, 3, 4, 5];
      }
      if (schedule.cron.split(/\s+/).length === 6) notes.push('Six fields: the first is seconds. Classic cron has five.');
    } else if (schedule.kind === 'once') {
      const at = new Date(`${schedule.date}T${schedule.time}:00`).getTime();
      return { words: `Once, on ${schedule.date} at ${schedule.time}`, timezone, next: at > this.now() ? [{ at }] : [], notes };
    } else {
      row.clock = schedule.times;
      words = `${schedule.kind === 'weekly' ? schedule.weekdays.map((day) => ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][day]).join(', ') : 'Every day'} at ${schedule.times.join(', ')}`;
      if (schedule.kind === 'weekly') row.days = schedule.weekdays;
    }
    // The machine keeps UTC; another zone's wall times lie beside it.
    const shift = timezone === 'UTC' ? 0 : zoneShift(timezone, this.now());
    return { words, timezone, next: this.#next(row, this.now() + shift, count).map((slot) => ({ at: slot.at - shift })), notes };
  }
  timeline(from: number, to: number, project?: string): Timeline {
    const rows = this.rows.filter((row) => project === undefined || row.summary.projectId === project);
    const lanes = rows.map((row) => ({
      projectId: row.summary.projectId, taskId: row.summary.id, name: row.summary.name,
      runs: this.runs.filter((run) => run.taskId === row.summary.id && run.projectId === row.summary.projectId && (run.startedAt ?? run.scheduledFor ?? 0) < to && (run.finishedAt ?? run.scheduledFor ?? this.now()) > from),
      upcoming: row.summary.enabled && row.summary.condition !== 'auto_paused' ? this.#next(row, Math.max(from, this.now()), 200).filter((slot) => slot.at < to) : [], more: false,
    })).filter((lane) => lane.runs.length + lane.upcoming.length > 0);
    return { from, to, now: this.now(), lanes, pauses: this.#options.bare ? [] : [...(this.paused ? [this.paused] : []), { since: this.#start - 30 * HOUR, until: this.#start - 28 * HOUR }] };
  }
  file(path: string): LoopFileView | undefined {
    const text = this.files.get(path);
    if (text === undefined) return undefined;
    const rows = this.rows.filter((row) => row.summary.loopFile === path);
    return { path, scope: path.startsWith('/home/ada/.agents') ? 'user' : 'project', text, etag: etagOf(text), projects: rows.map((row) => row.summary.projectId), check: this.check(text) };
  }

  // ---- deeds ------------------------------------------------------------------------------

  emit(kind: EventKind, over: Partial<Event> = {}): void {
    const event: Event = { id: (this.#event += 1), at: this.now(), kind, ...over };
    for (const stream of this.#streams) stream.write(`id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  /** Cuts every event stream, as a restart would. */
  cut(): void {
    for (const stream of this.#streams) stream.destroy();
    this.#streams.clear();
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
    if (row) this.#derive(row);
    this.emit('run_finished', { projectId: run.projectId, taskId: run.taskId, runId: run.id });
    if (run.persistError) this.emit('persist_error', { projectId: run.projectId, taskId: run.taskId, runId: run.id });
  }
  startRun(row: Row): Run {
    const run = this.#push(row, { status: 'running', trigger: 'manual', startedAt: this.now(), sessionId: `ses_${this.#run}` });
    this.emit('run_changed', { projectId: run.projectId, taskId: run.taskId, runId: run.id });
    return run;
  }
  #setText(path: string, text: string): void {
    this.files.set(path, text);
    const check = this.check(text);
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
      this.#derive(row);
    }
    this.emit('tasks_changed');
  }

  #route(method: string, path: string, query: URLSearchParams, body: Record<string, unknown>, headers: IncomingMessage['headers']): { status: number; body?: unknown } {
    const ok = (value: unknown, status = 200): { status: number; body: unknown } => ({ status, body: value });
    const none = { status: 204 };
    const fail = (status: number, error: string, code: string, more: object = {}): { status: number; body: unknown } => ({ status, body: { error, code, ...more } });
    const parts = path.split('/').slice(2).map(decodeURIComponent);
    const key = `${method} ${parts[0] ?? ''}`;
    if (parts[0] === 'projects' && parts.length >= 4 && (parts[2] === 'tasks' || parts[2] === 'scheduled-tasks')) {
      const row = this.row(parts[1] ?? '', parts[3] ?? '');
      if (!row) return fail(404, `There is no task ${parts[3]} in this project.`, 'not_found');
      const { summary } = row;
      const deed = `${method} ${parts[4] ?? ''}`;
      if (deed === 'GET ') return ok(this.detail(row));
      if (deed === 'PATCH ') {
        const enabled = body['enabled'] === true;
        if (summary.loopFile) this.#setText(summary.loopFile, (this.files.get(summary.loopFile) ?? '').replace(/^enabled: .*$/m, `enabled: ${enabled}`));
        else {
          summary.enabled = row.task.enabled = enabled;
          if (enabled) summary.nextRunAt = this.#next(row, this.now(), 1)[0]?.at ?? 0;
          else delete summary.nextRunAt;
          if (summary.condition === 'armed' || summary.condition === 'off') summary.condition = enabled ? 'armed' : 'off';
          this.#derive(row);
          this.emit('tasks_changed');
        }
        return ok(row.task);
      }
      if (deed === 'POST run') {
        if (summary.openRun) return fail(409, `${summary.name} is still running.`, 'already_running');
        const run = this.startRun(row);
        return ok({ ok: true, task: row.task, runId: run.id, sessionId: run.sessionId });
      }
      if (deed === 'POST resume') {
        summary.condition = 'armed';
        this.#derive(row);
        this.emit('tasks_changed');
        return none;
      }
      if (deed === 'PUT policy') {
        row.policy = body as Policy;
        return none;
      }
      if (deed === 'DELETE loop-file' && summary.loopFile) {
        const id = randomBytes(4).toString('hex');
        this.trash.set(id, { path: summary.loopFile, text: this.files.get(summary.loopFile) ?? '', row, at: this.now() });
        this.files.delete(summary.loopFile);
        this.rows = this.rows.filter((each) => each !== row);
        this.emit('tasks_changed');
        return ok({ tasks: [], deleted: { trashId: id, path: summary.loopFile, deletedAt: this.now() } });
      }
      if (deed === 'DELETE ') {
        this.rows = this.rows.filter((each) => each !== row);
        this.emit('tasks_changed');
        return ok({ tasks: [] });
      }
      if (deed === 'POST loop') {
        const project = this.projects.find((each) => each.id === summary.projectId);
        summary.loopFile = `${project?.path}/.agents/loops/${summary.name}.md`;
        summary.scope = 'project';
        this.files.set(summary.loopFile, `---\nname: ${summary.name}\nschedule: "0 9 * * *"\nenabled: ${summary.enabled}\nmodel: ${summary.model}\n---\n${row.task.execution.prompt}\n`);
        this.emit('tasks_changed');
        return ok(this.file(summary.loopFile), 201);
      }
    }
    if (method === 'PUT' && parts[2] === 'scheduled-tasks') {
      const input = (body['task'] ?? {}) as Task;
      if (input.schedule?.kind === 'cron' && input.schedule.cron.split(/\s+/).length < 5) return fail(400, 'A cron expression has five fields: minute hour day month weekday.', 'invalid', { field: 'task.schedule.cron' });
      const project = this.projects.find((each) => each.id === parts[1]);
      if (!project) return fail(404, 'There is no such project.', 'not_found');
      const existing = input.id ? this.row(project.id, input.id) : undefined;
      const preview = this.preview(input.schedule);
      const row = existing ?? this.#add(project, input.name, { json: true, history: '' });
      row.task = { ...row.task, ...input, id: row.task.id };
      Object.assign(row.summary, { name: input.name, enabled: input.enabled, words: preview.words, model: `${input.execution.providerID}/${input.execution.modelID}` });
      this.emit('tasks_changed');
      return ok({ tasks: [], task: row.task, created: !existing });
    }
    switch (key) {
      case 'GET overview': return ok(this.overview());
      case 'GET tasks': return ok(this.rows.map((row) => row.summary).filter((each) => !query.get('project') || each.projectId === query.get('project')));
      case 'GET projects': return ok(this.projects.map((project) => ({ ...project, tasks: this.rows.filter((row) => row.summary.projectId === project.id).length, enabled: this.rows.filter((row) => row.summary.projectId === project.id && row.summary.enabled).length })));
      case 'POST projects': {
        if (parts[1] === 'sample') {
          this.#fill();
          this.emit('tasks_changed');
          return ok(this.projects[0], 201);
        }
        const place = String(body['path'] ?? '');
        if (!place.startsWith('/')) return fail(400, `\`${place}\` is not an absolute path.`, 'invalid', { field: 'path', hint: 'Write it from / on.' });
        const project = this.#project(`path_${place.slice(1)}`, place.slice(place.lastIndexOf('/') + 1));
        project.path = place;
        this.emit('tasks_changed');
        return ok(project, 201);
      }
      case 'DELETE projects':
        this.projects = this.projects.filter((project) => project.id !== parts[1]);
        this.rows = this.rows.filter((row) => row.summary.projectId !== parts[1]);
        this.emit('tasks_changed');
        return none;
      case 'GET runs': {
        if (parts[1]) {
          const run = this.runs.find((each) => each.id === Number(parts[1]));
          return run ? ok(this.runView(run)) : fail(404, `There is no run ${parts[1]}.`, 'not_found');
        }
        const status = (query.get('status') ?? '').split(',').filter(Boolean);
        const before = Number(query.get('before') ?? 0);
        const at = (run: Run): number => run.startedAt ?? run.scheduledFor ?? 0;
        const sorted = [...this.runs].sort((a, b) => at(b) - at(a));
        const start = before ? sorted.findIndex((run) => run.id === before) + 1 : 0;
        return ok(sorted.slice(start).filter((run) => (!query.get('project') || run.projectId === query.get('project')) && (!query.get('task') || run.taskId === query.get('task')) && (status.length === 0 || status.includes(run.status))).slice(0, Number(query.get('limit') ?? 50)));
      }
      case 'POST runs': {
        const run = this.runs.find((each) => each.id === Number(parts[1]));
        if (!run) return fail(404, `There is no run ${parts[1]}.`, 'not_found');
        if (parts[2] === 'cancel') this.finish(run, 'cancelled', { reason: 'by_user' });
        else {
          for (const ask of this.asks.get(run.id) ?? []) if (ask.id === body['ask']) ask.answeredAt = this.now();
          run.status = body['answer'] === 'reject' ? run.status : 'running';
          if (body['answer'] === 'reject') this.finish(run, 'failed', { error: 'The permission was denied.' });
          const row = this.row(run.projectId, run.taskId);
          if (row) this.#derive(row);
          this.emit('run_changed', { runId: run.id });
        }
        return ok(run);
      }
      case 'GET loop-file': {
        if (parts[1] === 'deleted') return ok([...this.trash].map(([trashId, kept]) => ({ trashId, path: kept.path, deletedAt: kept.at })).reverse());
        const file = this.file(query.get('path') ?? '');
        return file ? ok(file) : fail(404, `${query.get('path')} does not exist.`, 'not_found');
      }
      case 'PUT loop-file': {
        const place = query.get('path') ?? '';
        const text = this.files.get(place);
        const tag = String(headers['if-match'] ?? body['etag'] ?? '').replaceAll('"', '');
        if (text !== undefined && etagOf(text) !== tag) return fail(412, `${place} was changed meanwhile`, 'stale', { path: place, text, etag: etagOf(text) });
        this.#setText(place, String(body['text']));
        return ok(this.file(place));
      }
      case 'POST loop-file': {
        if (parts[1] === 'restore') {
          const kept = this.trash.get(String(body['trashId']));
          if (!kept) return fail(404, 'It is not in the trash any more.', 'not_found');
          this.trash.delete(String(body['trashId']));
          this.files.set(kept.path, kept.text);
          this.rows.push(kept.row);
          this.emit('tasks_changed');
          return ok(this.file(kept.path), 201);
        }
        const name = String(body['name']);
        const project = this.projects.find((each) => each.id === body['project']) ?? this.projects[0];
        if (!project) return fail(400, 'There is no project.', 'invalid');
        if (this.rows.some((row) => row.summary.name === name && row.summary.projectId === project.id)) return fail(400, `There is a loop named ${name} already.`, 'invalid', { field: 'name', hint: 'Choose another name.' });
        const row = this.#add(project, name, { enabled: false, history: '', user: body['project'] === undefined, prompt: 'Say hello, and what day it is.', model: 'demo/echo' });
        if (typeof body['text'] === 'string') this.files.set(row.summary.loopFile ?? '', body['text']);
        this.emit('tasks_changed');
        return ok(this.file(row.summary.loopFile ?? ''), 201);
      }
      case 'POST check': return ok(this.check(String(body['text'])));
      case 'POST preview': {
        const schedule = body['schedule'] as Schedule;
        if (schedule.kind === 'cron' && schedule.cron.trim().split(/\s+/).length < 5) return fail(400, 'A cron expression has five fields: minute hour day month weekday.', 'invalid', { field: 'schedule.cron' });
        return ok(this.preview(schedule, Number(body['count'] ?? 5)));
      }
      case 'GET timeline': return ok(this.timeline(Number(query.get('from')), Number(query.get('to')), query.get('project') ?? undefined));
      case 'POST pause':
        this.paused = { since: this.now(), ...(typeof body['until'] === 'number' ? { until: body['until'] } : {}) };
        this.emit('paused');
        return ok(this.paused);
      case 'DELETE pause':
        this.paused = undefined;
        this.emit('resumed');
        return none;
      case 'POST needs':
        this.dismissed.add(parts[1] ?? '');
        this.emit('tasks_changed');
        return none;
      case 'GET approvals': return ok(this.approvals);
      case 'POST approvals': {
        const row = this.row(String(body['projectId']), String(body['taskId']));
        if (row) {
          delete row.summary.approvalHash;
          row.summary.condition = 'armed';
          this.#derive(row);
        }
        this.approvals = this.approvals.filter((each) => each.taskId !== body['taskId']);
        this.emit('tasks_changed');
        return none;
      }
      case 'GET agents': return ok({ opencode: { url: 'http://127.0.0.1:4096', own: true, healthy: true, version: '1.18.33', tried: true, binary: '/home/ada/.opencode/bin/opencode', log: ['INFO service=server listening on http://127.0.0.1:4096'] }, commands: [{ name: 'claude', program: 'claude', stdin: true }], agents: [{ name: 'build' }, { name: 'plan' }, { name: 'review' }], slashCommands: [{ name: 'init', description: 'Create AGENTS.md' }, { name: 'review', description: 'Review changes' }] });
      case 'GET models': {
        const names = ['anthropic/claude-sonnet-4-5', 'anthropic/claude-opus-4-5', 'anthropic/claude-haiku-4-5', 'openai/gpt-5', 'openai/gpt-5-mini', 'google/gemini-3-pro', 'ollama/qwen3-coder', 'demo/echo', 'demo/slow', 'demo/fail', 'demo/ask'];
        const ids = [...new Set(names.map((name) => name.split('/')[0] ?? ''))];
        return ok({ providers: ids.map((id) => ({ id, name: id, models: names.filter((name) => name.startsWith(`${id}/`)).map((name) => ({ id: name.slice(id.length + 1), name, variants: id === 'anthropic' ? ['low', 'high'] : [] })) })) });
      }
      case 'GET settings': return ok({ path: '/home/ada/.config/loopkeeper/settings.toml', settings: this.settings });
      case 'PATCH settings':
        for (const [section, values] of Object.entries(body)) this.settings[section] = Object.fromEntries(Object.entries({ ...this.settings[section], ...(values as object) }).filter(([, value]) => value !== null));
        return ok({ path: '/home/ada/.config/loopkeeper/settings.toml', settings: this.settings });
      case 'GET doctor': return ok([
        { area: 'data folder', severity: 'ok', message: '/home/ada/.config/openchamber, on ext4' }, { area: 'ledger', severity: 'ok', message: '1,204 runs, 3.1 MB, schema 4' },
        { area: 'opencode', severity: 'ok', message: '1.18.33 at http://127.0.0.1:4096, started by Loopkeeper' }, { area: 'watching', severity: 'warning', message: 'The system watches at most 8,192 folders; beta-site is looked at every 30 s.', help: 'Raise fs.inotify.max_user_watches.' },
      ]);
      case 'GET log': return ok({ path: '/home/ada/.config/openchamber/loopkeeper/log/loopkeeper.log', lines: ['08:57:00.012 INFO claim: triage-inbox 08:57 won, run 311', '08:57:00.231 INFO worker: session created', '09:00:00.004 INFO claim: daily-digest 09:00 lost to openchamber (pid 4211)', '09:00:02.911 WARN watch: beta-site is polled'] });
    }
    return fail(404, `there is no ${path}`, 'not_found');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (url.pathname === '/csp-report') {
      let text = '';
      for await (const part of request) text += String(part);
      this.violations.push(text);
      response.writeHead(204).end();
      return;
    }
    if (url.pathname === '/api/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.write(': ready\n\n');
      this.#streams.add(response);
      const beat = setInterval(() => response.write('event: ping\ndata: {}\n\n'), 15_000);
      response.on('close', () => {
        clearInterval(beat);
        this.#streams.delete(response);
      });
      return;
    }
    if (url.pathname.startsWith('/api/')) {
      let text = '';
      for await (const part of request) text += String(part);
      const body: unknown = text === '' ? {} : JSON.parse(text);
      this.calls.push({ method: request.method ?? 'GET', path: url.pathname, body });
      const answer = this.#route(request.method ?? 'GET', url.pathname, url.searchParams, body as Record<string, unknown>, request.headers);
      response.writeHead(answer.status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
      return;
    }
    if (!this.#options.dist) {
      response.writeHead(404).end();
      return;
    }
    const wanted = url.pathname === '/' ? '/index.html' : normalize(url.pathname);
    try {
      const types: Record<string, string> = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2' };
      let content: Buffer | string = await readFile(join(this.#options.dist, wanted));
      const headers: Record<string, string> = { 'content-type': types[extname(wanted)] ?? 'application/octet-stream' };
      if (wanted === '/index.html') {
        const nonce = randomBytes(16).toString('base64');
        content = content.toString().replaceAll('<style>', `<style nonce="${nonce}">`);
        headers['content-security-policy'] = `default-src 'self'; connect-src 'self'; img-src 'self' data:; style-src 'self' 'nonce-${nonce}'; script-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'; report-uri /csp-report`;
      }
      response.writeHead(200, headers).end(content);
    } catch {
      response.writeHead(404).end('not found');
    }
  }
  async listen(port = 0): Promise<string> {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.writeHead(500, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: String(error), code: 'internal' }));
      });
    });
    await new Promise<void>((resolve) => this.#server?.listen(port, '127.0.0.1', resolve));
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    return `http://127.0.0.1:${address.port}`;
  }
  async close(): Promise<void> {
    this.cut();
    const server = this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }
}
