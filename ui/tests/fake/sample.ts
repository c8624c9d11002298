import { DAY, HOUR, MINUTE, random } from './model';
import type { World } from './world';

/** A day full of everything that the window has to show. */
export function fill(world: World): void {
  const calm = world.options.calm === true;
  const now = world.now();
  const alpha = world.project('path_alpha', 'alpha');
  const beta = world.project('path_beta', 'beta-site', false);
  const infra = world.project('path_infra', 'infra');
  // Nine in Kyiv, in winter, where the machine keeps UTC.
  world.add(alpha, 'daily-digest', { clock: ['07:00'], words: 'Every day at 09:00', timezone: 'Europe/Kyiv', foreignZone: true, schedule: { kind: 'cron', cron: '0 9 * * *', timezone: 'Europe/Kyiv' } });
  const triage = world.add(alpha, 'triage-inbox', { every: 15 * MINUTE, words: 'Every 15 minutes', schedule: { kind: 'cron', cron: '*/15 * * * *', timezone: 'UTC' }, history: calm ? 'ssssssssssssss' : 'sssssssmssssss', policy: { timeout: '10m', overlap: 'queue' } });
  world.open(triage, 'running', 3 * MINUTE + 12_000);
  const audit = world.add(alpha, 'weekly-audit', { clock: ['07:30'], days: [1], words: 'Mondays at 07:30', history: 'ssssfs', model: 'anthropic/claude-opus-4-5' });
  const links = world.add(beta, 'check-links', { every: HOUR, words: 'Every hour', history: calm ? 'ssssssssssssss' : 'ssssssssssfsff', schedule: { kind: 'cron', cron: '0 * * * *', timezone: 'UTC' } });
  world.add(beta, 'changelog-draft', { clock: ['16:00'], days: [5], words: 'Fridays at 16:00', history: 'ssssss', json: true, schedule: { kind: 'weekly', times: ['16:00'], weekdays: [5], timezone: 'UTC' } });
  const prices = world.add(beta, 'competitor-prices', { clock: ['06:00', '18:00'], words: 'Every day at 06:00 and 18:00', history: calm ? 'ssssssssssssss' : 'sssssssssfffff', json: true, schedule: { kind: 'daily', times: ['06:00', '18:00'], timezone: 'UTC' }, model: 'openai/gpt-5-mini' });
  const translate = world.add(beta, 'translate-docs', { clock: ['22:15'], days: [1, 2, 3, 4, 5], words: 'Weekdays at 22:15', history: 'sssssss', model: 'google/gemini-3-pro' });
  const deps = world.add(infra, 'dependency-updates', { clock: ['05:00'], words: 'Every day at 05:00', history: 'sssssstsssssss', model: 'claude/sonnet', policy: { catch_up: 'latest', retries: 2, retry_backoff: '5m', timeout: '1h' } });
  world.add(infra, 'certificate-expiry', { clock: ['08:00'], words: 'Every day at 08:00', history: calm ? 'ssssssssssssss' : 'ssssssssssmmss' });
  world.add(infra, 'postmortem-reminder', { enabled: false, clock: ['10:00'], words: 'Wednesdays at 10:00', days: [3], history: 'sssf', user: true });
  world.add(infra, 'standup-notes', { clock: ['08:45'], days: [1, 2, 3, 4, 5], words: 'Weekdays at 08:45', history: 'ssssssssss', user: true });
  world.add(alpha, 'old-report', { enabled: false, words: 'Every day at 12:00', clock: ['12:00'], history: 'ssssssf' });
  const once = world.add(alpha, 'release-notes-2.0', { words: 'Once, on 3 December at 14:00', history: '', json: true, schedule: { kind: 'once', date: '2026-12-03', time: '14:00', timezone: 'UTC' }, clock: ['14:00'] });
  once.once = once.summary.nextRunAt = Math.floor(now / DAY) * DAY + 2 * DAY + 14 * HOUR;
  const queued = world.add(infra, 'log-anomalies', { every: 30 * MINUTE, words: 'Every 30 minutes', history: 'sssskssssskssss', schedule: { kind: 'cron', cron: '*/30 * * * *', timezone: 'UTC' }, model: 'ollama/qwen3-coder' });
  if (!calm) {
    world.open(queued, 'queued', 20_000);
    world.open(audit, 'blocked', 14 * MINUTE, [{ id: 'per_1', kind: 'permission', text: 'bash: npm audit fix --package-lock-only', askedAt: now - 12 * MINUTE }]);
    world.open(translate, 'blocked', 48 * MINUTE, [{ id: 'que_1', kind: 'question', text: 'Which spelling do the German pages use: “Zeitplan” or “Ablaufplan”?', options: ['Zeitplan', 'Ablaufplan'], askedAt: now - 40 * MINUTE }]);
    prices.summary.condition = 'auto_paused';
    delete prices.summary.nextRunAt;
    deps.summary.condition = 'needs_approval';
    deps.summary.approvalHash = 'a41f';
    deps.task.execution.permissionAutoAccept = true;
    links.summary.fileErrors = [{ severity: 'error', code: 'schedule_unquoted', line: 3, column: 11, endLine: 3, endColumn: 20, message: 'The schedule begins with * and is not quoted, so YAML reads it as an alias.', help: 'Quote it.' }];
    world.approvals.push({ projectId: deps.summary.projectId, taskId: deps.summary.id, name: deps.summary.name, ...(deps.summary.loopFile ? { path: deps.summary.loopFile } : {}), hash: 'a41f', why: 'It runs a command agent (claude) on this machine, and its content changed since you approved it.',
      text: world.files.get(deps.summary.loopFile ?? '') ?? '', approvedText: (world.files.get(deps.summary.loopFile ?? '') ?? '').replace('Group by area, name the risky changes first, and keep it under 200 words.', 'Keep it short.') });
  }
  if (world.options.long) {
    const project = world.project('path_long', 'a-monorepo-with-a-name-that-nobody-wants-to-type-twice');
    world.add(project, 'summarize-every-open-pull-request-of-the-week-for-the-people-who-were-away-then', { clock: ['06:00', '09:00', '12:00', '15:00', '18:00', '21:00'], words: 'Every day at 06:00, 09:00, 12:00, 15:00, 18:00 and 21:00', timezone: 'America/Argentina/Buenos_Aires', foreignZone: true });
    const asks = world.add(project, 'asks-for-something-with-a-command-that-does-not-fit-into-one-line-of-any-window', { clock: ['06:00'], words: 'Every day at 06:00' });
    world.open(asks, 'blocked', 9 * MINUTE, [{ id: 'per_9', kind: 'permission', text: `bash: ${'find . -name "*.orig" -not -path "./node_modules/*" -print0 | xargs -0 rm -f && '.repeat(3)}git status`, askedAt: now - 9 * MINUTE }]);
  }
  const dice = random(99);
  for (let n = 0; n < (world.options.many ?? 0); n += 1) {
    const project = world.projects[n % world.projects.length];
    if (!project) break;
    const hour = Math.floor(dice() * 24);
    const minute = Math.floor(dice() * 60);
    const clock = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
    world.add(project, `loop-${String(n + 1).padStart(4, '0')}`, { clock: [clock], words: `Every day at ${clock}`, enabled: dice() > 0.15, history: n < 40 ? 'sssss' : '' });
  }
}
