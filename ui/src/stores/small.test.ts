import { afterEach, describe, expect, it, vi } from 'vitest';
import { clock } from './clock.svelte';
import { confirm } from './confirm.svelte';
import { prefs } from './prefs.svelte';
import { route } from './route.svelte';

describe('a question', () => {
  it('is answered once, and a second one answers the first with no', async () => {
    const first = confirm.ask({ title: 'one', yes: 'Yes' });
    const second = confirm.ask({ title: 'two', yes: 'Yes' });
    expect(await first).toBe('no');
    confirm.reply('yes');
    confirm.reply('no');
    expect(await second).toBe('yes');
    expect(confirm.question).toBeNull();
  });
});
describe('the clock', () => {
  afterEach(() => {
    clock.stop();
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  it('ticks each second while the page is seen, the slow one each fifteen', () => {
    vi.useFakeTimers({ now: 1_000_000 });
    clock.set(1_000_000);
    clock.slow = 1_000_000;
    clock.start();
    vi.advanceTimersByTime(14_000);
    expect([clock.now, clock.slow]).toEqual([1_014_000, 1_000_000]);
    vi.advanceTimersByTime(1_000);
    expect(clock.slow).toBe(1_015_000);
    vi.spyOn(document, 'hidden', 'get').mockReturnValue(true);
    vi.advanceTimersByTime(60_000);
    expect(clock.now, 'nobody looks: nothing is drawn').toBe(1_015_000);
    vi.spyOn(document, 'hidden', 'get').mockReturnValue(false);
    document.dispatchEvent(new globalThis.Event('visibilitychange'));
    expect([clock.now, clock.slow], 'looked at again, it is right at once').toEqual([1_075_000, 1_075_000]);
  });
});
describe('what a window remembers', () => {
  it('lasts as long as the page where nothing can be kept', () => {
    vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => { throw new Error('full'); });
    prefs.project = 'p';
    expect(prefs.project).toBe('p');
    prefs.project = undefined;
    expect(prefs.project).toBeUndefined();
    vi.restoreAllMocks();
  });
});
describe('leaving a place', () => {
  const moved = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
  it('asks the guard, and stays or goes as it says', async () => {
    location.hash = '#/tasks';
    const end = route.start();
    await moved();
    let answer = false;
    const asked = vi.fn(async () => answer);
    const free = route.guard(asked);
    route.go('runs');
    await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(1));
    await vi.waitFor(() => expect(location.hash).toBe('#/tasks'));
    expect(route.place.view, 'told to stay').toBe('tasks');
    answer = true;
    route.go('runs');
    await vi.waitFor(() => expect(route.place.view).toBe('runs'));
    await vi.waitFor(() => expect(location.hash).toBe('#/runs'));
    route.go('needs');
    await vi.waitFor(() => expect(route.place.view, 'the guard went with its place').toBe('needs'));
    expect(asked).toHaveBeenCalledTimes(2);
    free();
    end();
  });
});
