/** What the routes that only read answer. */
import type { LoopFileView, Need, Overview, Run, RunView, Step, TaskDetail, Timeline } from '../../src/api/types';
import { checkOf } from './loop-file';
import { DAY, etagOf, HOUR, MINUTE, type Row } from './model';
import { slotsAfter } from './slots';
import type { World } from './world';

export function needsOf(world: World): Need[] {
  const needs: Need[] = [];
  const of = (row: Row): Pick<Need, 'projectId' | 'taskId' | 'taskName'> => ({ projectId: row.summary.projectId, taskId: row.summary.id, taskName: row.summary.name });
  for (const row of world.rows) {
    const { summary } = row;
    const open = summary.openRun;
    if (open && summary.condition === 'blocked') needs.push({ id: `blocked-${open.id}`, kind: 'blocked', at: summary.asks?.[0]?.askedAt ?? open.startedAt ?? 0, text: summary.asks?.[0]?.kind === 'question' ? 'It asks a question.' : 'It asks for a permission.', help: 'It waits up to 12 h; its time limit stands still meanwhile.', ...of(row), runId: open.id, asks: summary.asks ?? [] });
    if (summary.condition === 'needs_approval') needs.push({ id: `approval-${summary.id}`, kind: 'approval', at: world.start - 5 * HOUR, text: 'Its content has to be approved before it runs again.', help: 'Read what changed, then approve it.', ...of(row), ...(summary.loopFile ? { path: summary.loopFile } : {}), ...(summary.approvalHash ? { hash: summary.approvalHash } : {}) });
    if (summary.condition === 'auto_paused') needs.push({ id: `paused-${summary.id}`, kind: 'auto_paused', at: world.start - 7 * HOUR, text: 'Five runs in a row failed: the model answered 429.', help: 'Resume it once the limit is gone, or run it by hand.', ...of(row), ...(summary.lastRun ? { runId: summary.lastRun.id } : {}) });
    else if (summary.lastRun?.status === 'failed' && summary.enabled) needs.push({ id: `failed-${summary.lastRun.id}`, kind: 'failed', at: summary.lastRun.finishedAt ?? 0, text: `${summary.lastRun.error ?? 'It failed.'}`, help: 'Run it again, or change its model.', ...of(row), runId: summary.lastRun.id });
    const missed = world.runs.filter((run) => run.taskId === summary.id && run.status === 'missed').at(-1);
    if (missed && (missed.scheduledFor ?? 0) > world.start - 3 * DAY) needs.push({ id: `missed-${missed.id}`, kind: 'missed', at: missed.scheduledFor ?? 0, text: `Missed ${missed.count ?? 1} slots while the computer was asleep.`, help: 'Run it now if it still matters; set `catch_up: latest` to catch up by itself.', ...of(row), runId: missed.id });
    const unwritten = world.runs.filter((run) => run.taskId === summary.id && run.persistError).at(-1);
    if (unwritten) needs.push({ id: `persist-${unwritten.id}`, kind: 'persist_error', at: unwritten.finishedAt ?? 0, text: unwritten.persistError ?? '', help: 'Free some space; the result is kept in the history.', ...of(row), runId: unwritten.id });
    if (summary.fileErrors?.length) needs.push({ id: `file-${summary.id}`, kind: 'file_error', at: world.start - 26 * MINUTE, text: summary.fileErrors[0]?.message ?? '', help: 'The last good definition stays armed until the file is fixed.', ...of(row), ...(summary.loopFile ? { path: summary.loopFile } : {}) });
  }
  const order = ['blocked', 'approval', 'persist_error', 'auto_paused', 'failed', 'missed', 'file_error'];
  return needs.filter((need) => !world.dismissed.has(need.id)).sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}
export function overviewOf(world: World): Overview {
  const armed = world.rows.filter((row) => row.summary.condition === 'armed' || row.summary.condition === 'running');
  const next = [...world.rows].filter((row) => row.summary.enabled && row.summary.nextRunAt !== undefined).sort((a, b) => (a.summary.nextRunAt ?? 0) - (b.summary.nextRunAt ?? 0))[0];
  return {
    now: world.now(), armed: armed.length, tasks: world.rows.length, projects: world.projects.length, running: world.runs.filter((run) => run.status === 'running'), needsYou: needsOf(world), stalled: false, warnings: [],
    ...(next?.summary.nextRunAt === undefined ? {} : { next: { projectId: next.summary.projectId, taskId: next.summary.id, name: next.summary.name, at: next.summary.nextRunAt } }), ...(world.paused ? { paused: world.paused } : {}),
  };
}
export function detailOf(world: World, row: Row): TaskDetail {
  const mine = world.runs.filter((run) => run.taskId === row.summary.id && run.finishedAt !== undefined);
  const next = row.summary.enabled ? slotsAfter(row, world.now(), 5) : [];
  if (row.summary.name === 'standup-notes' && next[3]) next[3] = { at: next[3].at + HOUR, clockChange: { kind: 'moved', named: '08:45', runs: '09:45' } };
  return {
    summary: row.summary, task: row.task, policy: row.policy, next, notes: row.summary.name === 'triage-inbox' ? ['Classic cron runs this at minutes 0, 15, 30 and 45; so does Loopkeeper, also through a clock change.'] : [],
    effectivePolicy: { timeout: '30m', blocked_timeout: '12h', catch_up: 'skip', catch_up_window: '24h', overlap: 'skip', retries: 0, retry_backoff: '1m', notify: 'failure', ...row.policy },
    stats: { runs: mine.length, succeeded: mine.filter((run) => run.status === 'succeeded').length, cost: mine.reduce((sum, run) => sum + (run.cost ?? 0), 0), tokens: mine.reduce((sum, run) => sum + (run.tokens ? run.tokens.input + run.tokens.output : 0), 0) },
    ...(row.summary.condition === 'auto_paused' ? { autoPause: 'The model answered 429: rate limit reached for the organisation.' } : {}),
  };
}
export function runViewOf(world: World, run: Run): RunView {
  const at = run.scheduledFor ?? run.startedAt ?? 0;
  const steps: Step[] = run.startedAt === undefined ? [] : [
    { at, kind: 'due' }, { at: at + 31, kind: 'claimed' }, { at: run.startedAt + 210, kind: 'session', ...(run.sessionId ? { detail: run.sessionId } : {}) }, { at: run.startedAt + 260, kind: 'accepted' },
    ...(world.asks.get(run.id) ?? []).flatMap((ask): Step[] => [{ at: ask.askedAt, kind: 'blocked', detail: ask.text }, ...(ask.answeredAt ? [{ at: ask.answeredAt, kind: 'answered' }] : [])]),
    ...(run.finishedAt === undefined ? [] : [{ at: run.finishedAt, kind: 'ended', detail: run.status.replace('_', ' ') }]),
  ];
  return { run, steps, asks: world.asks.get(run.id) ?? [], ...(run.sessionId ? { attach: `opencode attach http://127.0.0.1:4096 --session ${run.sessionId}` } : {}) };
}
export function timelineOf(world: World, from: number, to: number, project?: string): Timeline {
  const rows = world.rows.filter((row) => project === undefined || row.summary.projectId === project);
  const lanes = rows.map((row) => ({
    projectId: row.summary.projectId, taskId: row.summary.id, name: row.summary.name,
    runs: world.runs.filter((run) => run.taskId === row.summary.id && run.projectId === row.summary.projectId && (run.startedAt ?? run.scheduledFor ?? 0) < to && (run.finishedAt ?? run.scheduledFor ?? world.now()) > from),
    upcoming: row.summary.enabled && row.summary.condition !== 'auto_paused' ? slotsAfter(row, Math.max(from, world.now()), 200).filter((slot) => slot.at < to) : [], more: false,
  })).filter((lane) => lane.runs.length + lane.upcoming.length > 0);
  return { from, to, now: world.now(), lanes, pauses: world.options.bare ? [] : [...(world.paused ? [world.paused] : []), { since: world.start - 30 * HOUR, until: world.start - 28 * HOUR }] };
}
export function fileOf(world: World, path: string): LoopFileView | undefined {
  const text = world.files.get(path);
  if (text === undefined) return undefined;
  const rows = world.rows.filter((row) => row.summary.loopFile === path);
  return { path, scope: path.startsWith('/home/ada/.agents') ? 'user' : 'project', text, etag: etagOf(text), projects: rows.map((row) => row.summary.projectId), check: checkOf(text, world.now()) };
}
