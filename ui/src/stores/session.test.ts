import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Status, TestHost } from '../../tests/test-host';
import { Resource } from './resource.svelte';
import { session } from './session.svelte';

describe('the connection', () => {
  let host: TestHost;
  let close: () => void;
  beforeEach(() => {
    vi.useFakeTimers();
    host = new TestHost({ 'GET /api/projects': () => [] });
    close = session.open(host);
    session.connected = true;
    session.locked = false;
  });
  afterEach(() => {
    close();
    vi.useRealTimers();
  });

  it('is lost with the first call that nobody answers, and back only with the stream', async () => {
    host.dead = true;
    await expect(session.api.projects()).rejects.toMatchObject({ code: 'unreachable', status: 0 });
    expect(session.connected).toBe(false);
    host.dead = false;
    await session.api.projects();
    expect(session.connected, 'a call that works may still have missed events').toBe(false);
    host.stream?.open(true);
    expect(session.connected).toBe(true);
  });
  it('reads everything again after a gap, not after the first opening', () => {
    const reload = vi.fn();
    const off = session.onReload(reload);
    host.stream?.open(false);
    expect(reload).not.toHaveBeenCalled();
    host.stream?.open(true);
    host.stream?.lost();
    host.stream?.open(false);
    host.emit('reload');
    expect(reload, 'a gap, a break, and when it is told to').toHaveBeenCalledTimes(3);
    off();
  });
  it('is locked while nobody knows who asks', async () => {
    host.answers['GET /api/overview'] = () => new Status(401, { error: 'who are you', code: 'unauthorized' });
    await expect(session.api.overview()).rejects.toMatchObject({ status: 401 });
    expect(session.locked).toBe(true);
    await session.api.projects();
    expect(session.locked).toBe(false);
  });
  it('follows: once now, once for a burst of events that concern it, never for others, never after its end', async () => {
    const read = vi.fn(async () => 1);
    const end = session.follow(new Resource(read), (event) => event.kind === 'run_changed');
    await vi.advanceTimersByTimeAsync(0);
    expect(read).toHaveBeenCalledTimes(1);
    for (let n = 0; n < 20; n += 1) host.emit('run_changed');
    host.emit('paused');
    await vi.advanceTimersByTimeAsync(200);
    expect(read).toHaveBeenCalledTimes(2);
    host.emit('paused');
    await vi.advanceTimersByTimeAsync(200);
    expect(read).toHaveBeenCalledTimes(2);
    host.emit('run_changed');
    end();
    await vi.advanceTimersByTimeAsync(500);
    expect(read).toHaveBeenCalledTimes(2);
  });
});
