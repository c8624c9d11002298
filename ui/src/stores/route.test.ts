import { describe, expect, it } from 'vitest';
import { parsePlace, placeHash } from './route.svelte';

describe('places', () => {
  it('come back as they were written, whatever is in an id', () => {
    const parts = ['path_L2E', 'loop:project:a/b ü?#%'];
    const hash = placeHash('tasks', parts, { path: '/home/a b/c.md', none: undefined });
    expect(parsePlace(hash)).toEqual({ view: 'tasks', parts, query: { path: '/home/a b/c.md' } });
  });
  it('fall back to the tasks', () => {
    expect(parsePlace('').view).toBe('tasks');
    expect(parsePlace('#/nowhere').view).toBe('tasks');
    expect(() => parsePlace('#/tasks/%E0%A4%A'), 'a broken address is no crash').not.toThrow();
  });
});
