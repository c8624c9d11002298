import type { Policy, Schedule, Task } from '../../api/types';
import { t } from '../../text';
import { machineZone } from '../../text/time';
import { isDuration } from '../settings/fields';

export type Kind = Schedule['kind'];
/** What a policy can say, in the order of the form. All of it is text there; empty is what the settings say. */
export const policyKeys = ['timeout', 'blocked_timeout', 'overlap', 'catch_up', 'catch_up_window', 'retries', 'retry_backoff', 'runs_per_day', 'notify', 'signal', 'run_on', 'only_in', 'variables', 'worktree'] as const;
export type PolicyKey = (typeof policyKeys)[number];
/** A task as the form holds it: all four kinds side by side, so that changing the kind loses nothing. */
export interface Draft {
  id?: string;
  name: string;
  enabled: boolean;
  kind: Kind;
  times: string[];
  weekdays: number[];
  date: string;
  time: string;
  cron: string;
  timezone: string;
  model: string;
  agent: string;
  variant: string;
  prompt: string;
  goalEnabled: boolean;
  goalTokenBudget: string;
  permissionAutoAccept: boolean;
  policy: Record<PolicyKey, string>;
}

export function emptyDraft(now: number = Date.now()): Draft {
  const tomorrow = new Date(now + 86_400_000);
  const two = (value: number): string => String(value).padStart(2, '0');
  return {
    name: '', enabled: true, kind: 'daily', times: ['09:00'], weekdays: [1, 2, 3, 4, 5], date: `${tomorrow.getFullYear()}-${two(tomorrow.getMonth() + 1)}-${two(tomorrow.getDate())}`, time: '09:00', cron: '0 9 * * *',
    timezone: machineZone(), model: '', agent: '', variant: '', prompt: '', goalEnabled: false, goalTokenBudget: '', permissionAutoAccept: false,
    policy: Object.fromEntries(policyKeys.map((key) => [key, ''])) as Draft['policy'],
  };
}
export function draftOf(task: Task, policy: Policy): Draft {
  const draft = emptyDraft();
  const { schedule, execution } = task;
  draft.id = task.id;
  draft.name = task.name;
  draft.enabled = task.enabled;
  draft.kind = schedule.kind;
  if (schedule.timezone) draft.timezone = schedule.timezone;
  if (schedule.kind === 'daily' || schedule.kind === 'weekly') draft.times = [...schedule.times];
  if (schedule.kind === 'weekly') draft.weekdays = [...schedule.weekdays];
  if (schedule.kind === 'once') Object.assign(draft, { date: schedule.date, time: schedule.time });
  if (schedule.kind === 'cron') draft.cron = schedule.cron;
  draft.model = execution.providerID || execution.modelID ? `${execution.providerID}/${execution.modelID}` : '';
  draft.agent = execution.agent ?? '';
  draft.variant = execution.variant ?? '';
  draft.prompt = execution.prompt;
  draft.goalEnabled = execution.goalEnabled ?? false;
  draft.goalTokenBudget = execution.goalTokenBudget === undefined ? '' : String(execution.goalTokenBudget);
  draft.permissionAutoAccept = execution.permissionAutoAccept ?? false;
  for (const key of policyKeys) draft.policy[key] = written(key, policy);
  return draft;
}
/** Lists as they are written on one line; a switch that is off is as good as none. */
function written(key: PolicyKey, policy: Policy): string {
  const value = key === 'runs_per_day' ? policy.budget?.runs_per_day : policy[key];
  if (value === undefined || value === false) return '';
  return Array.isArray(value) ? value.join(', ') : String(value);
}
const names = (text: string): string[] => text.split(',').map((name) => name.trim()).filter((name) => name !== '');

export function scheduleOf(draft: Draft): Schedule {
  const timezone = draft.timezone;
  const times = [...draft.times].sort();
  switch (draft.kind) {
    case 'daily': return { kind: 'daily', times, timezone };
    case 'weekly': return { kind: 'weekly', times, weekdays: [...draft.weekdays].sort((a, b) => a - b), timezone };
    case 'once': return { kind: 'once', date: draft.date, time: draft.time, timezone };
    case 'cron': return { kind: 'cron', cron: draft.cron.trim(), timezone };
  }
}
/** What the routes take: `{id?, name, enabled, schedule, execution}`. */
export function inputOf(draft: Draft): Omit<Task, 'id' | 'state'> & { id?: string } {
  const slash = draft.model.indexOf('/');
  const budget = Number(draft.goalTokenBudget);
  return {
    ...(draft.id === undefined ? {} : { id: draft.id }),
    name: draft.name.trim(),
    enabled: draft.enabled,
    schedule: scheduleOf(draft),
    execution: {
      prompt: draft.prompt,
      providerID: draft.model.slice(0, slash),
      modelID: draft.model.slice(slash + 1),
      ...(draft.variant === '' ? {} : { variant: draft.variant }),
      ...(draft.agent === '' ? {} : { agent: draft.agent }),
      ...(draft.goalEnabled ? { goalEnabled: true } : {}),
      ...(draft.goalEnabled && Number.isFinite(budget) && budget > 0 ? { goalTokenBudget: budget } : {}),
      ...(draft.permissionAutoAccept ? { permissionAutoAccept: true } : {}),
    },
  };
}
export function policyOf(draft: Draft): Policy {
  const text = Object.fromEntries(policyKeys.map((key) => [key, draft.policy[key].trim()])) as Draft['policy'];
  const policy: Policy = {};
  for (const key of ['timeout', 'blocked_timeout', 'catch_up_window', 'retry_backoff', 'signal'] as const) if (text[key]) policy[key] = text[key];
  for (const key of ['run_on', 'only_in'] as const) if (names(text[key]).length > 0) policy[key] = names(text[key]);
  for (const key of ['variables', 'worktree'] as const) if (text[key] === 'true') policy[key] = true;
  if (text.catch_up) policy.catch_up = text.catch_up as NonNullable<Policy['catch_up']>;
  if (text.overlap) policy.overlap = text.overlap as NonNullable<Policy['overlap']>;
  if (text.notify) policy.notify = text.notify as NonNullable<Policy['notify']>;
  if (text.retries) policy.retries = Number(text.retries);
  if (text.runs_per_day) policy.budget = { runs_per_day: Number(text.runs_per_day) };
  return policy;
}
export type Errors = Partial<Record<string, string>>;
/** What the form can tell without asking; the engine has the last word. */
export function errorsOf(draft: Draft): Errors {
  const errors: Errors = {};
  if (draft.name.trim() === '') errors['name'] = t.form.needName;
  if ((draft.kind === 'daily' || draft.kind === 'weekly') && draft.times.length === 0) errors['times'] = t.form.needTime;
  if (draft.kind === 'weekly' && draft.weekdays.length === 0) errors['weekdays'] = t.form.needDay;
  if (draft.kind === 'once' && !/^\d{4}-\d\d-\d\d$/.test(draft.date)) errors['date'] = t.form.needDate;
  if (draft.kind === 'once' && !isTime(draft.time)) errors['time'] = t.form.badTime;
  if (draft.kind === 'cron' && draft.cron.trim() === '') errors['cron'] = t.form.needCron;
  if (!/^[^/\s]+\/\S+$/.test(draft.model)) errors['model'] = t.form.needModel;
  if (draft.prompt.trim() === '') errors['prompt'] = t.form.needPrompt;
  for (const key of ['timeout', 'blocked_timeout', 'catch_up_window', 'retry_backoff'] as const) if (draft.policy[key] !== '' && !isDuration(draft.policy[key])) errors[`policy.${key}`] = t.form.badDuration;
  if (draft.policy.signal !== '' && !/^https?:\/\/\S+$/.test(draft.policy.signal.trim())) errors['policy.signal'] = t.form.badUrl;
  for (const key of ['retries', 'runs_per_day'] as const) if (draft.policy[key] !== '' && !/^\d+$/.test(draft.policy[key])) errors[`policy.${key}`] = t.settings.badNumber;
  if (draft.goalEnabled && draft.goalTokenBudget !== '' && !/^\d+$/.test(draft.goalTokenBudget)) errors['goalTokenBudget'] = t.settings.badNumber;
  return errors;
}
export const isTime = (text: string): boolean => /^([01]\d|2[0-3]):[0-5]\d$/.test(text);
/** Reads `9:30`, `0930`, `9.30` and `9` as a time of 24 hours. */
export function readTime(text: string): string | undefined {
  const match = /^(\d{1,2})(?:[:.]?([0-5]\d))?$/.exec(text.trim());
  if (!match) return undefined;
  const time = `${(match[1] ?? '').padStart(2, '0')}:${match[2] ?? '00'}`;
  return isTime(time) ? time : undefined;
}
/** The form's field for the engine's, such as `task.schedule.cron`. */
export function fieldOf(engine: string): string {
  const last = engine.slice(engine.lastIndexOf('.') + 1);
  const names: Record<string, string> = { providerID: 'model', modelID: 'model', times: 'times', timezone: 'timezone', schedule: 'cron' };
  return names[last] ?? last;
}
