import { describe, expect, it } from 'vitest';
import type { Run } from '../../api/types';
import { markOf, pauseBox, spanOf, ticks, x } from './layout';

const run = (over: Partial<Run>): Run => ({ id: 1, projectId: 'p', taskId: 't', taskName: 't', trigger: 'scheduled', attempt: 1, status: 'succeeded', createdAt: 0, ...over });
const span = { from: 1000, to: 2000 };

describe('the timeline', () => {
  it('draws a run by its length, cut at the edges', () => {
    expect(markOf(run({ startedAt: 900, finishedAt: 1500 }), span, 3000)).toMatchObject({ x: 0, width: 50 });
    expect(markOf(run({ startedAt: 100, finishedAt: 200 }), span, 3000)).toBeUndefined();
  });
  it('lets an open run grow to now', () => {
    expect(markOf(run({ status: 'running', startedAt: 1200 }), span, 1700)).toMatchObject({ x: 20, width: 50 });
  });
  it('shows what never ran as a point', () => {
    expect(markOf(run({ status: 'missed', scheduledFor: 1500 }), span, 3000)).toMatchObject({ x: 50, width: 0, point: true });
  });
  it('shades a pause without an end to the edge', () => {
    expect(pauseBox({ since: 1500 }, span)).toEqual({ x: 50, width: 50 });
    expect(pauseBox({ since: 100, until: 900 }, span)).toBeUndefined();
  });
  it('covers whole days, and a week has seven', () => {
    const week = spanOf('week', Date.now());
    expect(ticks('week', week)).toHaveLength(7);
    expect(x(week.to, week)).toBe(100);
  });
});
