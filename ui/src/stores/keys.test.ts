import { afterEach, describe, expect, it, vi } from 'vitest';
import { keys } from './keys.svelte';
import { route } from './route.svelte';

const press = (key: string): void => keys.press(new KeyboardEvent('keydown', { key }));

describe('the window\'s keys', () => {
  afterEach(() => vi.restoreAllMocks());

  it('jump only after g, also in the first second of a page', () => {
    const go = vi.spyOn(route, 'go').mockImplementation(() => {});
    vi.spyOn(performance, 'now').mockReturnValue(400);
    const run = vi.fn();
    const remove = keys.add({ r: run });
    press('r');
    expect(run, 'r alone runs the task').toHaveBeenCalledOnce();
    expect(go).not.toHaveBeenCalled();
    press('g');
    press('r');
    expect(go, 'g r goes to the runs').toHaveBeenCalledWith('runs');
    remove();
  });
});
