import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { createRawSnippet, tick } from 'svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TestHost } from '../../tests/test-host';
import type { Policy } from '../api/types';
import AskCard from '../components/AskCard.svelte';
import Menu from '../components/Menu.svelte';
import Segmented from '../components/Segmented.svelte';
import { startTips } from '../components/tip';
import { session } from '../stores/session.svelte';
import ProblemList from './editor/ProblemList.svelte';
import TimeChips from './form/TimeChips.svelte';
import Weekdays from './form/Weekdays.svelte';
import SettingField from './settings/SettingField.svelte';
import PolicyList from './tasks/PolicyList.svelte';

afterEach(cleanup);

describe('fields', () => {
  it('times are chips: read as they are typed, sorted, each once, taken away', async () => {
    render(TimeChips, { times: ['18:00'] });
    const box = screen.getByLabelText('Add time');
    for (const typed of ['9', '0900', 'never']) {
      await fireEvent.input(box, { target: { value: typed } });
      await fireEvent.keyDown(box, { key: 'Enter' });
    }
    const chips = (): string[] => screen.getAllByRole('button', { name: /^Remove/ }).map((button) => button.getAttribute('aria-label') ?? '');
    expect(chips()).toEqual(['Remove 09:00', 'Remove 18:00']);
    await fireEvent.click(screen.getByRole('button', { name: 'Remove 18:00' }));
    expect(chips()).toEqual(['Remove 09:00']);
  });
  it('weekdays are toggles, from Monday on', async () => {
    render(Weekdays, { days: [0] });
    const pressed = (): string[] => screen.getAllByRole('button').filter((button) => button.getAttribute('aria-pressed') === 'true').map((button) => button.textContent ?? '');
    expect(screen.getAllByRole('button')[0]?.textContent).toBe('Mon');
    expect(pressed()).toEqual(['Sun']);
    await fireEvent.click(screen.getByRole('button', { name: 'Fri' }));
    await fireEvent.click(screen.getByRole('button', { name: 'Sun' }));
    expect(pressed()).toEqual(['Fri']);
  });
  it('a setting is kept when it fits, and says at the field when it does not', async () => {
    const save = vi.fn(async () => {});
    render(SettingField, { section: 'runs', field: { key: 'timeout', kind: 'duration', default: '30m' }, value: '30m', save });
    const box = screen.getByLabelText('Time limit');
    await fireEvent.change(box, { target: { value: 'soon' } });
    expect(screen.getByRole('alert').textContent).toContain('duration');
    expect(box.getAttribute('aria-invalid')).toBe('true');
    await fireEvent.change(box, { target: { value: '20m' } });
    expect(save).toHaveBeenCalledWith('runs', 'timeout', '20m');
    expect(screen.queryByRole('alert')).toBeNull();
  });
  it('one of several is chosen by arrows, round and round', async () => {
    const onchange = vi.fn();
    render(Segmented, { value: 'a', options: [{ value: 'a', label: 'A' }, { value: 'b', label: 'B', count: 1014 }], label: 'Which', onchange });
    expect(screen.getByRole('radio', { name: /1,014/ }).getAttribute('aria-checked')).toBe('false');
    await fireEvent.keyDown(screen.getByRole('radiogroup'), { key: 'ArrowLeft' });
    expect(onchange).toHaveBeenCalledWith('b');
  });
});
describe('what is told', () => {
  it('a policy whole: what the task says stands out from what the settings say', () => {
    const own: Policy = { run_on: ['desk', 'attic'], only_in: ['alpha'], worktree: true, variables: true, signal: 'https://ping.example', budget: { runs_per_day: 3 }, retries: 2, retry_backoff: '5m', catch_up: 'latest', catch_up_window: '2d' };
    render(PolicyList, { own, effective: { timeout: '30m', blocked_timeout: '12h', overlap: 'skip', notify: 'failure', ...own } });
    const rows = Object.fromEntries([...document.querySelectorAll('dl > div')].map((row) => [row.querySelector('dt')?.textContent, row.querySelector('dd')]));
    expect(Object.keys(rows)).toEqual(['Time limit', 'Waits for an answer', 'If still running', 'Missed slots', 'Catch-up window', 'Retries', 'First wait', 'Runs a day', 'Notify', 'Only on', 'Only in', 'Variables', 'Own worktree', 'Signal']);
    expect(rows['Only on']?.textContent).toBe('desk, attic');
    expect(rows['Only on']?.classList.contains('own')).toBe(true);
    expect(rows['Time limit']?.textContent, 'a screen reader hears where it comes from').toContain('as in the settings');
  });
  it('problems with their line and their fix', async () => {
    const onfix = vi.fn();
    const ongo = vi.fn();
    const diagnostic = { severity: 'error', code: 'x', line: 3, column: 1, endLine: 3, endColumn: 2, message: '`*/5` is not quoted', fix: { title: 'Quote it', edits: [] } } as const;
    render(ProblemList, { diagnostics: [{ ...diagnostic, fix: { title: 'Quote it', edits: [] } }], ongo, onfix });
    expect(screen.getByRole('img', { name: 'Error' })).toBeTruthy();
    await fireEvent.click(screen.getByRole('button', { name: /line 3/ }));
    await fireEvent.click(screen.getByRole('button', { name: 'Quote it' }));
    expect([ongo.mock.calls.length, onfix.mock.calls.length]).toEqual([1, 1]);
  });
  it('a tip, to whoever points and to whoever comes by keyboard', async () => {
    vi.useFakeTimers();
    const end = startTips();
    document.body.insertAdjacentHTML('beforeend', '<p id="tipped"><b data-tip="whole text">x</b></p>');
    const target = document.querySelector('[data-tip]');
    const bubble = document.querySelector<HTMLElement>('.tip');
    if (!target || !bubble) throw new Error('both are in the document');
    target.dispatchEvent(new globalThis.Event('pointerover', { bubbles: true }));
    expect(bubble.hidden, 'not at once').toBe(true);
    vi.advanceTimersByTime(500);
    expect([bubble.hidden, bubble.textContent]).toEqual([false, 'whole text']);
    document.dispatchEvent(new KeyboardEvent('keydown', { key: 'a' }));
    expect(bubble.hidden).toBe(true);
    end();
    expect(document.querySelector('.tip')).toBeNull();
    document.querySelector('#tipped')?.remove();
    vi.useRealTimers();
  });
});
describe('a menu', () => {
  it('is a button and nothing else while nobody opened it', () => {
    const { container } = render(Menu, { items: [{ label: 'Do it', run: () => {} }], label: 'Deeds', trigger: createRawSnippet(() => ({ render: () => '<span>…</span>' })) });
    expect(screen.getByRole('button', { name: 'Deeds' }).getAttribute('aria-expanded')).toBe('false');
    expect(container.querySelectorAll('*').length, 'a list has a thousand of them').toBe(2);
  });
});
describe('what a run asks', () => {
  let host: TestHost;
  let close: () => void;
  beforeEach(() => {
    host = new TestHost({ 'POST /api/runs/7/answer': () => ({}), 'GET /api/tasks': () => [] });
    close = session.open(host);
  });
  afterEach(() => close());
  const sent = () => host.calls.filter((call) => call.method === 'POST').map((call) => call.body);

  it('is allowed once, always, or denied', async () => {
    render(AskCard, { ask: { id: 'a', kind: 'permission', text: 'bash: ls', askedAt: 0 }, runId: 7 });
    for (const name of ['Allow once', 'Always allow', 'Deny']) {
      await fireEvent.click(screen.getByRole('button', { name }));
      await tick();
      await vi.waitFor(() => expect((screen.getByRole('button', { name }) as HTMLButtonElement).disabled).toBe(false));
    }
    expect(sent()).toEqual([{ ask: 'a', answer: 'once' }, { ask: 'a', answer: 'always' }, { ask: 'a', answer: 'reject' }]);
  });
  it('is answered by a choice or in words', async () => {
    render(AskCard, { ask: { id: 'q', kind: 'question', text: 'Which?', options: ['One', 'Two'], askedAt: 0 }, runId: 7 });
    await fireEvent.click(screen.getByRole('button', { name: 'Two' }));
    await vi.waitFor(() => expect(sent().length).toBe(1));
    await fireEvent.input(screen.getByLabelText('Your answer'), { target: { value: '  neither ' } });
    await vi.waitFor(() => expect((screen.getByRole('button', { name: 'Answer' }) as HTMLButtonElement).disabled).toBe(false));
    await fireEvent.click(screen.getByRole('button', { name: 'Answer' }));
    await vi.waitFor(() => expect(sent()).toEqual([{ ask: 'q', answer: { text: 'Two' } }, { ask: 'q', answer: { text: 'neither' } }]));
  });
});
