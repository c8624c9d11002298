import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { browserHost } from './browser';

class FakeSource {
  static all: FakeSource[] = [];
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  onmessage: ((message: { data: string; lastEventId: string }) => void) | null = null;
  closed = false;
  constructor(readonly url: string) {
    FakeSource.all.push(this);
  }
  addEventListener(): void {}
  close(): void {
    this.closed = true;
  }
}
const last = (): FakeSource => FakeSource.all.at(-1)!;

beforeEach(() => {
  vi.useFakeTimers();
  FakeSource.all = [];
  vi.stubGlobal('EventSource', FakeSource);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('the event stream of a browser', () => {
  it('comes back by itself, names the last event it saw, and says that there was a gap', () => {
    const listener = { event: vi.fn(), open: vi.fn(), lost: vi.fn() };
    const stop = browserHost.listen(listener);
    last().onopen?.();
    expect(listener.open).toHaveBeenLastCalledWith(false);
    last().onmessage?.({ data: '{"id":7,"at":1,"kind":"tasks_changed"}', lastEventId: 'ab12-7' });
    last().onmessage?.({ data: 'not json', lastEventId: '' });
    expect(listener.event).toHaveBeenCalledTimes(1);
    last().onerror?.();
    expect(listener.lost).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(500);
    expect(last().url, 'ids are of one process only, so they are sent back as they came').toBe('/api/events?lastEventId=ab12-7');
    last().onopen?.();
    expect(listener.open).toHaveBeenLastCalledWith(true);
    stop();
    expect(last().closed).toBe(true);
  });
  it('waits longer each time, but never more than ten seconds', () => {
    const stop = browserHost.listen({ event: () => {}, open: () => {}, lost: () => {} });
    for (let n = 0; n < 8; n += 1) {
      last().onerror?.();
      const before = FakeSource.all.length;
      vi.advanceTimersByTime(10_000);
      expect(FakeSource.all.length).toBe(before + 1);
    }
    stop();
  });
  it('takes silence for a dead line', () => {
    const lost = vi.fn();
    const stop = browserHost.listen({ event: () => {}, open: () => {}, lost });
    last().onopen?.();
    vi.advanceTimersByTime(59_000);
    expect(lost).not.toHaveBeenCalled();
    vi.advanceTimersByTime(2_000);
    expect(lost).toHaveBeenCalled();
    stop();
  });
});
