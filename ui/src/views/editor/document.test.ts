import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Status, TestHost } from '../../../tests/test-host';
import { session } from '../../stores/session.svelte';
import { LoopDocument } from './document.svelte';

const path = '/p/.agents/loops/x.md';
const check = (text: string) => ({ ok: text !== 'bad', diagnostics: [], definition: null });
describe('a loop file in the editor', () => {
  let host: TestHost;
  let disk: { text: string; etag: string };
  let ends: (() => void)[];
  let doc: LoopDocument;
  const view = () => ({ path, scope: 'project', ...disk, projects: [], check: check(disk.text) });

  beforeEach(async () => {
    vi.useFakeTimers();
    disk = { text: 'one', etag: '1' };
    host = new TestHost({
      'GET /api/loop-file': view,
      'POST /api/check': (call) => check((call.body as { text: string }).text),
      'PUT /api/loop-file': (call) => {
        if (call.ifMatch !== disk.etag) return new Status(412, { error: 'changed', code: 'stale', ...disk });
        disk = { text: (call.body as { text: string }).text, etag: String(Number(disk.etag) + 1) };
        return view();
      },
    });
    ends = [session.open(host)];
    doc = new LoopDocument(path);
    ends.unshift(doc.start());
    await vi.advanceTimersByTimeAsync(0);
  });
  afterEach(() => {
    for (const end of ends) end();
    vi.useRealTimers();
  });
  async function changeOnDisk(text: string): Promise<void> {
    disk = { text, etag: String(Number(disk.etag) + 10) };
    host.emit('tasks_changed');
    await vi.advanceTimersByTimeAsync(300);
  }

  it('is checked a moment after the last key, and dirty until it is saved', async () => {
    expect([doc.text, doc.dirty]).toEqual(['one', false]);
    doc.edit('on');
    doc.edit('bad');
    await vi.advanceTimersByTimeAsync(500);
    expect(host.asked('/api/check')).toBe(1);
    expect([doc.check?.ok, doc.dirty]).toEqual([false, true]);
    expect(await doc.save(), 'a malformed text can be saved').toBe(true);
    expect([disk.text, doc.dirty]).toEqual(['bad', false]);
  });
  it('takes a change on disk by itself while nothing was typed, and only tells of it when something was', async () => {
    await changeOnDisk('theirs');
    expect([doc.text, doc.changedOnDisk]).toEqual(['theirs', false]);
    doc.edit('mine');
    await changeOnDisk('theirs again');
    expect([doc.text, doc.changedOnDisk]).toEqual(['mine', true]);
  });
  it('shows both texts when a save meets another one, and writes neither away', async () => {
    doc.edit('mine');
    await changeOnDisk('theirs');
    expect(await doc.save()).toBe(false);
    expect(doc.conflict).toEqual({ text: 'theirs', etag: disk.etag });
    expect([disk.text, doc.text]).toEqual(['theirs', 'mine']);
    doc.edit('mine and theirs');
    expect(await doc.keep()).toBe(true);
    expect([disk.text, doc.text, doc.conflict, doc.dirty]).toEqual(['mine and theirs', 'mine and theirs', null, false]);
  });
  it('meets a third text while the two were looked at, and shows that one', async () => {
    doc.edit('mine');
    await changeOnDisk('theirs');
    await doc.save();
    disk = { text: 'a third', etag: '99' };
    expect(await doc.keep()).toBe(false);
    expect(doc.conflict?.text).toBe('a third');
    doc.takeTheirs();
    expect([doc.text, doc.dirty, doc.conflict]).toEqual(['a third', false, null]);
  });
  it('goes on with what was merged, keeps it while the file changes once more, and still tells of the other text', async () => {
    doc.edit('mine');
    await changeOnDisk('theirs');
    await doc.save();
    doc.edit('one');
    await changeOnDisk('a third');
    expect([doc.text, doc.conflict?.text], 'what is looked at stays, even where it is the first text again').toEqual(['one', 'theirs']);
    doc.edit('mine and theirs');
    doc.goOn();
    expect([doc.text, doc.conflict, doc.changedOnDisk]).toEqual(['mine and theirs', null, true]);
    expect(await doc.save()).toBe(false);
    expect(doc.conflict?.text).toBe('a third');
  });
  it('does not let a slow answer about an older text undo a newer one', async () => {
    const answers: ((value: unknown) => void)[] = [];
    host.answers['POST /api/check'] = () => new Promise((resolve) => answers.push(resolve));
    doc.edit('bad');
    await vi.advanceTimersByTimeAsync(300);
    doc.edit('good');
    await vi.advanceTimersByTimeAsync(300);
    answers[1]?.(check('good'));
    await vi.advanceTimersByTimeAsync(0);
    answers[0]?.(check('bad'));
    await vi.advanceTimersByTimeAsync(0);
    expect(doc.check?.ok).toBe(true);
  });
});
