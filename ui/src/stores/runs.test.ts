import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestHost } from '../../tests/test-host';
import { runs } from './runs.svelte';
import { session } from './session.svelte';

const run = (id: number) => ({ id, projectId: 'p', taskId: 't', taskName: 'n', trigger: 'scheduled', attempt: 1, status: 'succeeded' });
describe('the history', () => {
  let host: TestHost;
  let close: () => void;
  /** Two hundred and fifty runs, newest first, in pages. */
  beforeEach(async () => {
    host = new TestHost({
      'GET /api/runs': (call) => {
        const query = new URLSearchParams(call.path.split('?')[1]);
        const top = query.get('before') === null ? 250 : Number(query.get('before')) - 1;
        return Array.from({ length: Math.min(Number(query.get('limit')), top) }, (_, index) => run(top - index));
      },
    });
    close = session.open(host);
    runs.choose('all');
    await runs.resource.load();
  });
  afterEach(() => close());

  it('adds older pages to the end, each run once, and stops asking at the end', async () => {
    expect(runs.list.length).toBe(100);
    await runs.more();
    await runs.more();
    expect(runs.list.map((each) => each.id)).toEqual(Array.from({ length: 250 }, (_, index) => 250 - index));
    const asked = host.calls.length;
    await runs.more();
    expect(host.calls.length, 'the last page was short').toBe(asked);
  });
  it('does not ask twice for the same page', async () => {
    const asked = host.calls.length;
    await Promise.all([runs.more(), runs.more()]);
    expect(host.calls.length).toBe(asked + 1);
  });
  it('begins anew with another filter, and asks for its states', async () => {
    await runs.more();
    runs.choose('failed');
    await runs.resource.load();
    expect(runs.list.length).toBe(100);
    expect(host.calls.at(-1)?.path).toContain(`status=${encodeURIComponent('failed,timed_out,lost,cancelled')}`);
  });
  it('keeps what is shown when an older page cannot be read, and tries again', async () => {
    host.dead = true;
    await runs.more();
    expect(runs.list.length).toBe(100);
    host.dead = false;
    await runs.more();
    expect(runs.list.length).toBe(200);
  });
});
