import { describe, expect, it } from 'vitest';
import type { TaskSummary } from '../api/types';
import { compareTasks, isFailing, matchesFilter, matchesSearch } from './tasks.svelte';

const task = (over: Partial<TaskSummary>): TaskSummary => ({
  projectId: 'p', projectLabel: 'alpha', id: 'id', name: 'daily-digest', enabled: true, condition: 'armed', words: 'Every day at 09:00', timezone: 'UTC', foreignZone: false,
  model: 'demo/echo', seenIn: 1, recent: [], ...over,
});

describe('the order of the list', () => {
  it('is: needs you, running, by next run, off', () => {
    const list = [
      task({ name: 'off', condition: 'off' }), task({ name: 'later', nextRunAt: 20 }), task({ name: 'running', condition: 'running' }), task({ name: 'sooner', nextRunAt: 10 }),
      task({ name: 'idle', condition: 'idle' }), task({ name: 'blocked', condition: 'blocked' }), task({ name: 'paused', condition: 'auto_paused' }), task({ name: 'approval', condition: 'needs_approval' }),
    ];
    expect(list.sort(compareTasks).map((each) => each.name)).toEqual(['blocked', 'approval', 'paused', 'running', 'sooner', 'later', 'idle', 'off']);
  });
  it('is total: the same name in two projects never changes places', () => {
    const a = task({ projectId: 'a' });
    const b = task({ projectId: 'b' });
    expect(Math.sign(compareTasks(a, b))).toBe(-Math.sign(compareTasks(b, a)));
    expect(compareTasks(a, b)).not.toBe(0);
  });
});

describe('filters', () => {
  const run = { id: 1, projectId: 'p', taskId: 'id', taskName: 'n', trigger: 'scheduled', attempt: 1, createdAt: 0 } as const;
  it('calls a task failing by its last run or its pause', () => {
    expect(isFailing(task({ lastRun: { ...run, status: 'timed_out' } }))).toBe(true);
    expect(isFailing(task({ lastRun: { ...run, status: 'cancelled' } })), 'somebody stopped it: no failure').toBe(false);
    expect(isFailing(task({ condition: 'auto_paused' }))).toBe(true);
  });
  it('reviews what waits for approval and what cannot be read', () => {
    expect(matchesFilter(task({ condition: 'needs_approval' }), 'review')).toBe(true);
    expect(matchesFilter(task({ fileErrors: [] }), 'review')).toBe(false);
  });
  it('wants every word, wherever it stands', () => {
    expect(matchesSearch(task({}), 'DIGEST alpha')).toBe(true);
    expect(matchesSearch(task({}), 'digest beta')).toBe(false);
    expect(matchesSearch(task({}), '  ')).toBe(true);
  });
});
