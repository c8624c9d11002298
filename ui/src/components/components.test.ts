import { cleanup, render, screen } from '@testing-library/svelte';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Condition, RunStatus } from '../api/types';
import { t } from '../text';
import Diff from './Diff.svelte';
import RunBars from './RunBars.svelte';
import StateDot from './StateDot.svelte';
import Switch from './Switch.svelte';
import Ticked from './Ticked.svelte';
import { barHeight, isOpen, neverRan, tone } from './tone';

afterEach(cleanup);

describe('names for what is drawn', () => {
  it('each state dot says its state', () => {
    for (const condition of Object.keys(t.condition) as Condition[]) {
      render(StateDot, { condition });
      expect(screen.getByRole('img', { name: t.condition[condition] })).toBeTruthy();
      cleanup();
    }
  });
  it('bars say how many succeeded, skipped slots left out', () => {
    render(RunBars, { bars: [{ id: 1, status: 'succeeded', at: 1, durationMs: 5 }, { id: 2, status: 'failed', at: 2 }, { id: 3, status: 'missed', at: 3 }] });
    expect(screen.getByRole('img', { name: '1 of the last 2 runs succeeded' })).toBeTruthy();
  });
  it('a switch tells its state and asks for the other', () => {
    const onchange = vi.fn();
    render(Switch, { checked: false, label: 'Enable x', onchange });
    const button = screen.getByRole('switch', { name: 'Enable x' });
    expect(button.getAttribute('aria-checked')).toBe('false');
    button.click();
    expect(onchange).toHaveBeenCalledWith(true);
  });
  it('a difference is told, not only coloured', () => {
    const { container } = render(Diff, { before: 'a', after: 'b' });
    expect(container.textContent).toContain('added');
    expect(container.textContent).toContain('removed');
  });
});
describe('texts with code in them', () => {
  it('shows what stands between backticks as code, and leaves odd ones alone', () => {
    const { container } = render(Ticked, { text: 'write `true` here' });
    expect(container.querySelector('code')?.textContent).toBe('true');
    cleanup();
    expect(render(Ticked, { text: "it's `odd" }).container.textContent).toBe("it's `odd");
  });
});
describe('statuses', () => {
  it('each has a tone, and open ones are never ended ones', () => {
    for (const status of Object.keys(t.status) as RunStatus[]) {
      expect(tone(status)).toBeTruthy();
      expect(isOpen(status) && neverRan(status)).toBe(false);
    }
  });
  it('a longer run has a higher bar', () => {
    expect(barHeight(1_000)).toBeLessThan(barHeight(60_000));
    expect(barHeight(9e9)).toBe(1);
  });
});
