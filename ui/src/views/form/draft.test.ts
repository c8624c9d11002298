import { describe, expect, it } from 'vitest';
import type { Policy, Task } from '../../api/types';
import { draftOf, emptyDraft, errorsOf, fieldOf, inputOf, policyOf, readTime, scheduleOf } from './draft';

describe('a draft', () => {
  const task: Task = {
    id: 't', name: 'n', enabled: false, state: {}, schedule: { kind: 'weekly', times: ['18:00', '09:00'], weekdays: [5, 1], timezone: 'Europe/Kyiv' },
    execution: { prompt: '/review', providerID: 'openrouter', modelID: 'meta/llama', variant: 'high', goalEnabled: true, goalTokenBudget: 5000, permissionAutoAccept: true },
  };
  it('comes back as the task that it was made of', () => {
    const { state: _state, ...rest } = task;
    expect(inputOf(draftOf(task, {}))).toEqual({ ...rest, schedule: { ...task.schedule, times: ['09:00', '18:00'], weekdays: [1, 5] } });
  });
  it('keeps a model with slashes whole', () => {
    expect(draftOf(task, {}).model).toBe('openrouter/meta/llama');
  });
  it('keeps the other kinds while one is chosen', () => {
    const draft = { ...emptyDraft(), cron: '*/5 * * * *', kind: 'daily' as const };
    expect(scheduleOf(draft).kind).toBe('daily');
    expect(scheduleOf({ ...draft, kind: 'cron' })).toMatchObject({ cron: '*/5 * * * *' });
  });
  it('says what is missing, at the field', () => {
    const errors = errorsOf({ ...emptyDraft(), kind: 'weekly', times: [], weekdays: [], policy: { ...emptyDraft().policy, timeout: 'soon' } });
    expect(Object.keys(errors).sort()).toEqual(['model', 'name', 'policy.timeout', 'prompt', 'times', 'weekdays']);
  });
  it('carries a whole policy through the form and back', () => {
    const policy: Policy = {
      timeout: '5m', blocked_timeout: '1h', catch_up: 'latest', catch_up_window: '2d', overlap: 'queue', retries: 0, retry_backoff: '30s', notify: 'always',
      run_on: ['desk', 'attic'], only_in: ['/home/you/my project', 'other'], budget: { runs_per_day: 3 }, signal: 'https://ping.example/x', variables: true, worktree: true,
    };
    expect(policyOf(draftOf(task, policy))).toEqual(policy);
    expect(policyOf(draftOf(task, {})), 'what was not said stays open').toEqual({});
    expect(policyOf(draftOf(task, { variables: false })), 'a switch that is off says nothing').toEqual({});
  });
  it('takes what stands between commas, and leaves out what is blank', () => {
    const draft = emptyDraft();
    Object.assign(draft.policy, { run_on: ' desk ,, attic,', only_in: ' , ', signal: 'ftp://x' });
    expect(policyOf(draft)).toMatchObject({ run_on: ['desk', 'attic'] });
    expect(policyOf(draft).only_in).toBeUndefined();
    expect(errorsOf(draft)['policy.signal']).toContain('http');
  });
  it('finds its field for the engine’s', () => {
    expect([fieldOf('task.execution.providerID'), fieldOf('task.schedule.cron'), fieldOf('task.name')]).toEqual(['model', 'cron', 'name']);
  });
  it('reads times as people type them', () => {
    expect([readTime('9:30'), readTime('0930'), readTime('9'), readTime('24:00'), readTime('9:3')]).toEqual(['09:30', '09:30', '09:00', undefined, undefined]);
  });
});
