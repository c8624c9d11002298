import { describe, expect, it } from 'vitest';
import type { Call, Host, Reply } from '../host';
import { ApiError, conflictOf, createApi } from './client';

function hostWith(answer: (call: Call) => Reply | Promise<Reply>): { host: Host; calls: Call[] } {
  const calls: Call[] = [];
  const host = { call: async (call: Call) => { calls.push(call); return answer(call); } } as unknown as Host;
  return { host, calls };
}

describe('the client', () => {
  it('encodes ids, and leaves out what was not asked', async () => {
    const { host, calls } = hostWith(() => ({ status: 200, body: [] }));
    const api = createApi(host);
    await api.task('p/1', 'loop:user:x y');
    await api.runs({ project: undefined, status: ['failed', 'lost'], limit: 5 });
    expect(calls.map((call) => call.path)).toEqual(['/api/projects/p%2F1/tasks/loop%3Auser%3Ax%20y', '/api/runs?status=failed%2Clost&limit=5']);
  });
  it('names the text that a save replaces, in the header and for hosts without headers', async () => {
    const { host, calls } = hostWith(() => ({ status: 200, body: {} }));
    await createApi(host).saveLoopFile('/a.md', 'x', 'tag');
    expect(calls[0]).toMatchObject({ method: 'PUT', ifMatch: 'tag', body: { text: 'x', etag: 'tag' } });
  });
  it('makes an error of the answer, with the field to blame', async () => {
    const { host } = hostWith(() => ({ status: 400, body: { error: 'no', code: 'invalid', hint: 'write yes', field: 'task.name' } }));
    const error = await createApi(host).overview().catch((cause: unknown) => cause as ApiError);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ message: 'no', status: 400, hint: 'write yes', field: 'task.name' });
  });
  it('tells a lost connection from a refusal', async () => {
    const seen: number[] = [];
    const { host } = hostWith(() => Promise.reject(new TypeError('failed to fetch')));
    await expect(createApi(host, (status) => seen.push(status)).overview()).rejects.toMatchObject({ status: 0 });
    expect(seen).toEqual([0]);
  });
  it('reads the text on disk out of a refused save', () => {
    const error = new ApiError('changed', 412, 'stale', undefined, { text: 'theirs', etag: 'e' }, 'PUT');
    expect(conflictOf(error)).toEqual({ text: 'theirs', etag: 'e' });
    expect(conflictOf(new ApiError('gone', 412, 'stale', undefined, { text: null, etag: null }, 'PUT')), 'a file that is gone has no text').toEqual({ text: null, etag: null });
    expect(conflictOf(new ApiError('no', 403, 'refused', undefined, null, 'PUT'))).toBeNull();
  });
});
