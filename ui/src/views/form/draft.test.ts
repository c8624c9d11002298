import { describe, expect, it } from 'vitest';
import type { Task } from '../../api/types';
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
  it('empties what the form shows, and keeps what it does not', () => {
    expect(policyOf(emptyDraft(), { timeout: '5m', signal: 'http://x', run_on: ['a'] })).toEqual({ signal: 'http://x', run_on: ['a'] });
  });
  it('finds its field for the engine’s', () => {
    expect([fieldOf('task.execution.providerID'), fieldOf('task.schedule.cron'), fieldOf('task.name')]).toEqual(['model', 'cron', 'name']);
  });
  it('reads times as people type them', () => {
    expect([readTime('9:30'), readTime('0930'), readTime('9'), readTime('24:00'), readTime('9:3')]).toEqual(['09:30', '09:30', '09:00', undefined, undefined]);
  });
});
