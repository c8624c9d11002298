import { describe, expect, it } from 'vitest';
import { ApiError } from '../api/client';
import { Resource } from './resource.svelte';

function later<T>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (error: unknown) => void } {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

describe('Resource', () => {
  it('makes a burst of loads into two readings, so that the last answer is newer than the last wish', async () => {
    const answers = [later<number>(), later<number>()];
    let asked = 0;
    const resource = new Resource<number>(() => answers[asked++]!.promise);
    const done = Promise.all([resource.load(), resource.load(), resource.load()]);
    answers[0]!.resolve(1);
    answers[1]!.resolve(2);
    await done;
    expect(asked).toBe(2);
    expect(resource.value).toBe(2);
  });
  it('keeps what it had when reading fails, and says why', async () => {
    let fail = false;
    const resource = new Resource<string>(async () => {
      if (fail) throw new ApiError('gone', 503, 'unavailable', undefined, null, 'GET /x');
      return 'kept';
    });
    await resource.load();
    fail = true;
    await resource.load();
    expect(resource.value, 'a list must not go blank because one reading failed').toBe('kept');
    expect(resource.error?.status).toBe(503);
  });
  it('drops an answer to a question that is no longer asked', async () => {
    const first = later<string>();
    let asked = 0;
    const resource = new Resource<string>(() => (asked++ === 0 ? first.promise : Promise.resolve('new')));
    const done = resource.load();
    resource.reset();
    void resource.load();
    first.resolve('old');
    await done;
    expect(resource.value).toBe('new');
  });
});
