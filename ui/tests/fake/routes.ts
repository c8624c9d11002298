import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Policy, Run, Schedule, Task } from '../../src/api/types';
import { checkOf } from './loop-file';
import { etagOf } from './model';
import { fill } from './sample';
import { previewOf, slotsAfter } from './slots';
import { detailOf, fileOf, overviewOf, runViewOf, timelineOf } from './views';
import type { World } from './world';

export interface Question { method: string; path: string; query: URLSearchParams; body: Record<string, unknown>; headers: IncomingHttpHeaders }
export interface Answer { status: number; body?: unknown }

/** Answers one call below `/api`, and does what it asks. */
export function answer(world: World, { method, path, query, body, headers }: Question): Answer {
  const ok = (value: unknown, status = 200): Answer => ({ status, body: value });
  const none = { status: 204 };
  const fail = (status: number, error: string, code: string, more: object = {}): Answer => ({ status, body: { error, code, ...more } });
  const parts = path.split('/').slice(2).map(decodeURIComponent);
  const key = `${method} ${parts[0] ?? ''}`;
  if (parts[0] === 'projects' && parts.length >= 4 && (parts[2] === 'tasks' || parts[2] === 'scheduled-tasks')) {
    const row = world.row(parts[1] ?? '', parts[3] ?? '');
    if (!row) return fail(404, `There is no task ${parts[3]} in this project.`, 'not_found');
    const { summary } = row;
    const deed = `${method} ${parts[4] ?? ''}`;
    if (deed === 'GET ') return ok(detailOf(world, row));
    if (deed === 'PATCH ') {
      const enabled = body['enabled'] === true;
      if (summary.loopFile) world.setText(summary.loopFile, (world.files.get(summary.loopFile) ?? '').replace(/^enabled: .*$/m, `enabled: ${enabled}`));
      else {
        summary.enabled = row.task.enabled = enabled;
        if (enabled) summary.nextRunAt = slotsAfter(row, world.now(), 1)[0]?.at ?? 0;
        else delete summary.nextRunAt;
        if (summary.condition === 'armed' || summary.condition === 'off') summary.condition = enabled ? 'armed' : 'off';
        world.derive(row);
        world.emit('tasks_changed');
      }
      return ok(row.task);
    }
    if (deed === 'POST run') {
      if (summary.openRun) return fail(409, `${summary.name} is still running.`, 'already_running');
      const run = world.startRun(row);
      return ok({ ok: true, task: row.task, runId: run.id, sessionId: run.sessionId });
    }
    if (deed === 'POST resume') {
      summary.condition = 'armed';
      world.derive(row);
      world.emit('tasks_changed');
      return none;
    }
    if (deed === 'PUT policy') {
      row.policy = body as Policy;
      return none;
    }
    if (deed === 'DELETE loop-file' && summary.loopFile) {
      const id = randomBytes(4).toString('hex');
      world.trash.set(id, { path: summary.loopFile, text: world.files.get(summary.loopFile) ?? '', row, at: world.now() });
      world.files.delete(summary.loopFile);
      world.rows = world.rows.filter((each) => each !== row);
      world.emit('tasks_changed');
      return ok({ tasks: [], deleted: { trashId: id, path: summary.loopFile, deletedAt: world.now() } });
    }
    if (deed === 'DELETE ') {
      world.rows = world.rows.filter((each) => each !== row);
      world.emit('tasks_changed');
      return ok({ tasks: [] });
    }
    if (deed === 'POST loop') {
      const project = world.projects.find((each) => each.id === summary.projectId);
      summary.loopFile = `${project?.path}/.agents/loops/${summary.name}.md`;
      summary.scope = 'project';
      world.files.set(summary.loopFile, `---\nname: ${summary.name}\nschedule: "0 9 * * *"\nenabled: ${summary.enabled}\nmodel: ${summary.model}\n---\n${row.task.execution.prompt}\n`);
      world.emit('tasks_changed');
      return ok(fileOf(world, summary.loopFile), 201);
    }
  }
  if (method === 'PUT' && parts[2] === 'scheduled-tasks') {
    const input = (body['task'] ?? {}) as Task;
    if (input.schedule?.kind === 'cron' && input.schedule.cron.split(/\s+/).length < 5) return fail(400, 'A cron expression has five fields: minute hour day month weekday.', 'invalid', { field: 'task.schedule.cron' });
    const project = world.projects.find((each) => each.id === parts[1]);
    if (!project) return fail(404, 'There is no such project.', 'not_found');
    const existing = input.id ? world.row(project.id, input.id) : undefined;
    const preview = previewOf(input.schedule, world.now());
    const row = existing ?? world.add(project, input.name, { json: true, history: '' });
    row.task = { ...row.task, ...input, id: row.task.id };
    Object.assign(row.summary, { name: input.name, enabled: input.enabled, words: preview.words, model: `${input.execution.providerID}/${input.execution.modelID}` });
    world.emit('tasks_changed');
    return ok({ tasks: [], task: row.task, created: !existing });
  }
  switch (key) {
    case 'GET overview': return ok(overviewOf(world));
    case 'GET tasks': return ok(world.rows.map((row) => row.summary).filter((each) => !query.get('project') || each.projectId === query.get('project')));
    case 'GET projects': return ok(world.projects.map((project) => ({ ...project, tasks: world.rows.filter((row) => row.summary.projectId === project.id).length, enabled: world.rows.filter((row) => row.summary.projectId === project.id && row.summary.enabled).length })));
    case 'POST projects': {
      if (parts[1] === 'sample') {
        fill(world);
        world.emit('tasks_changed');
        return ok(world.projects[0], 201);
      }
      const place = String(body['path'] ?? '');
      if (!place.startsWith('/')) return fail(400, `\`${place}\` is not an absolute path.`, 'invalid', { field: 'path', hint: 'Write it from / on.' });
      const project = world.project(`path_${place.slice(1)}`, place.slice(place.lastIndexOf('/') + 1));
      project.path = place;
      world.emit('tasks_changed');
      return ok(project, 201);
    }
    case 'DELETE projects':
      world.projects = world.projects.filter((project) => project.id !== parts[1]);
      world.rows = world.rows.filter((row) => row.summary.projectId !== parts[1]);
      world.emit('tasks_changed');
      return none;
    case 'GET runs': {
      if (parts[1]) {
        const run = world.runs.find((each) => each.id === Number(parts[1]));
        return run ? ok(runViewOf(world, run)) : fail(404, `There is no run ${parts[1]}.`, 'not_found');
      }
      const status = (query.get('status') ?? '').split(',').filter(Boolean);
      const before = Number(query.get('before') ?? 0);
      const at = (run: Run): number => run.startedAt ?? run.scheduledFor ?? 0;
      const sorted = [...world.runs].sort((a, b) => at(b) - at(a));
      const start = before ? sorted.findIndex((run) => run.id === before) + 1 : 0;
      return ok(sorted.slice(start).filter((run) => (!query.get('project') || run.projectId === query.get('project')) && (!query.get('task') || run.taskId === query.get('task')) && (status.length === 0 || status.includes(run.status))).slice(0, Number(query.get('limit') ?? 50)));
    }
    case 'POST runs': {
      const run = world.runs.find((each) => each.id === Number(parts[1]));
      if (!run) return fail(404, `There is no run ${parts[1]}.`, 'not_found');
      if (parts[2] === 'cancel') world.finish(run, 'cancelled', { reason: 'by_user' });
      else {
        for (const ask of world.asks.get(run.id) ?? []) if (ask.id === body['ask']) ask.answeredAt = world.now();
        run.status = body['answer'] === 'reject' ? run.status : 'running';
        if (body['answer'] === 'reject') world.finish(run, 'failed', { error: 'The permission was denied.' });
        const row = world.row(run.projectId, run.taskId);
        if (row) world.derive(row);
        world.emit('run_changed', { runId: run.id });
      }
      return ok(run);
    }
    case 'GET loop-file': {
      if (parts[1] === 'deleted') return ok([...world.trash].map(([trashId, kept]) => ({ trashId, path: kept.path, deletedAt: kept.at })).reverse());
      const file = fileOf(world, query.get('path') ?? '');
      return file ? ok(file) : fail(404, `${query.get('path')} does not exist.`, 'not_found');
    }
    case 'PUT loop-file': {
      const place = query.get('path') ?? '';
      const text = world.files.get(place);
      const tag = String(headers['if-match'] ?? body['etag'] ?? '').replaceAll('"', '');
      if (text !== undefined && etagOf(text) !== tag) return fail(412, `${place} was changed meanwhile`, 'stale', { path: place, text, etag: etagOf(text) });
      world.setText(place, String(body['text']));
      return ok(fileOf(world, place));
    }
    case 'POST loop-file': {
      if (parts[1] === 'restore') {
        const kept = world.trash.get(String(body['trashId']));
        if (!kept) return fail(404, 'It is not in the trash any more.', 'not_found');
        world.trash.delete(String(body['trashId']));
        world.files.set(kept.path, kept.text);
        world.rows.push(kept.row);
        world.emit('tasks_changed');
        return ok(fileOf(world, kept.path), 201);
      }
      const name = String(body['name']);
      const project = world.projects.find((each) => each.id === body['project']) ?? world.projects[0];
      if (!project) return fail(400, 'There is no project.', 'invalid');
      if (world.rows.some((row) => row.summary.name === name && row.summary.projectId === project.id)) return fail(400, `There is a loop named ${name} already.`, 'invalid', { field: 'name', hint: 'Choose another name.' });
      const row = world.add(project, name, { enabled: false, history: '', user: body['project'] === undefined, prompt: 'Say hello, and what day it is.', model: 'demo/echo' });
      if (typeof body['text'] === 'string') world.files.set(row.summary.loopFile ?? '', body['text']);
      world.emit('tasks_changed');
      return ok(fileOf(world, row.summary.loopFile ?? ''), 201);
    }
    case 'POST check': return ok(checkOf(String(body['text']), world.now()));
    case 'POST preview': {
      const schedule = body['schedule'] as Schedule;
      if (schedule.kind === 'cron' && schedule.cron.trim().split(/\s+/).length < 5) return fail(400, 'A cron expression has five fields: minute hour day month weekday.', 'invalid', { field: 'schedule.cron' });
      return ok(previewOf(schedule, world.now(), Number(body['count'] ?? 5)));
    }
    case 'GET timeline': return ok(timelineOf(world, Number(query.get('from')), Number(query.get('to')), query.get('project') ?? undefined));
    case 'POST pause':
      world.paused = { since: world.now(), ...(typeof body['until'] === 'number' ? { until: body['until'] } : {}) };
      world.emit('paused');
      return ok(world.paused);
    case 'DELETE pause':
      world.paused = undefined;
      world.emit('resumed');
      return none;
    case 'POST needs':
      world.dismissed.add(parts[1] ?? '');
      world.emit('tasks_changed');
      return none;
    case 'GET approvals': return ok(world.approvals);
    case 'POST approvals': {
      const row = world.row(String(body['projectId']), String(body['taskId']));
      if (row) {
        delete row.summary.approvalHash;
        row.summary.condition = 'armed';
        world.derive(row);
      }
      world.approvals = world.approvals.filter((each) => each.taskId !== body['taskId']);
      world.emit('tasks_changed');
      return none;
    }
    case 'GET agents': return ok({ opencode: { url: 'http://127.0.0.1:4096', own: true, healthy: true, version: '1.18.33', tried: true, binary: '/home/ada/.opencode/bin/opencode', log: ['INFO service=server listening on http://127.0.0.1:4096'] }, commands: [{ name: 'claude', program: 'claude', stdin: true }], agents: [{ name: 'build' }, { name: 'plan' }, { name: 'review' }], slashCommands: [{ name: 'init', description: 'Create AGENTS.md' }, { name: 'review', description: 'Review changes' }] });
    case 'GET models': {
      const names = ['anthropic/claude-sonnet-4-5', 'anthropic/claude-opus-4-5', 'anthropic/claude-haiku-4-5', 'openai/gpt-5', 'openai/gpt-5-mini', 'google/gemini-3-pro', 'ollama/qwen3-coder', 'demo/echo', 'demo/slow', 'demo/fail', 'demo/ask'];
      const ids = [...new Set(names.map((name) => name.split('/')[0] ?? ''))];
      return ok({ providers: ids.map((id) => ({ id, name: id, models: names.filter((name) => name.startsWith(`${id}/`)).map((name) => ({ id: name.slice(id.length + 1), name, variants: id === 'anthropic' ? ['low', 'high'] : [] })) })) });
    }
    case 'GET settings': return ok({ path: '/home/ada/.config/loopkeeper/settings.toml', settings: world.settings });
    case 'PATCH settings':
      for (const [section, values] of Object.entries(body)) world.settings[section] = Object.fromEntries(Object.entries({ ...world.settings[section], ...(values as object) }).filter(([, value]) => value !== null));
      return ok({ path: '/home/ada/.config/loopkeeper/settings.toml', settings: world.settings });
    case 'GET doctor': return ok([
      { area: 'data folder', severity: 'ok', message: '/home/ada/.config/openchamber, on ext4' }, { area: 'ledger', severity: 'ok', message: '1,204 runs, 3.1 MB, schema 4' },
      { area: 'opencode', severity: 'ok', message: '1.18.33 at http://127.0.0.1:4096, started by Loopkeeper' }, { area: 'watching', severity: 'warning', message: 'The system watches at most 8,192 folders; beta-site is looked at every 30 s.', help: 'Raise fs.inotify.max_user_watches.' },
    ]);
    case 'GET log': return ok({ path: '/home/ada/.config/openchamber/loopkeeper/log/loopkeeper.log', lines: ['08:57:00.012 INFO claim: triage-inbox 08:57 won, run 311', '08:57:00.231 INFO worker: session created', '09:00:00.004 INFO claim: daily-digest 09:00 lost to openchamber (pid 4211)', '09:00:02.911 WARN watch: beta-site is polled'] });
  }
  return fail(404, `there is no ${path}`, 'not_found');
}
