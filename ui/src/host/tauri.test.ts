import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { emit } from '@tauri-apps/api/event';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { detectHost } from '.';
import { tauriHost } from './tauri';

afterEach(() => clearMocks());

describe('the desktop as host', () => {
  it('is known by what the web view brings', async () => {
    expect((await detectHost()).kind).toBe('browser');
    mockIPC(() => null);
    expect((await detectHost()).kind).toBe('desktop');
  });
  it('carries every operation through one command', async () => {
    const sent: unknown[] = [];
    mockIPC((command, args) => {
      sent.push([command, args]);
      return { status: 200, body: { ok: true } };
    });
    const reply = await tauriHost.call({ method: 'PUT', path: '/api/loop-file?path=%2Fa.md', body: { text: 'x' }, ifMatch: 'tag' });
    expect(reply).toEqual({ status: 200, body: { ok: true } });
    expect(sent).toEqual([['api', { method: 'PUT', path: '/api/loop-file?path=%2Fa.md', body: { text: 'x' }, ifMatch: 'tag' }]]);
  });
  it('hands events on, until nobody listens', async () => {
    mockIPC(() => null, { shouldMockEvents: true });
    const listener = { event: vi.fn(), open: vi.fn(), lost: vi.fn() };
    const stop = tauriHost.listen(listener);
    await vi.waitFor(() => expect(listener.open).toHaveBeenCalledWith(false));
    await emit('event', { id: 1, at: 2, kind: 'tasks_changed' });
    expect(listener.event).toHaveBeenCalledWith({ id: 1, at: 2, kind: 'tasks_changed' });
    stop();
  });
});
