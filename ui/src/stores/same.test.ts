import { describe, expect, it } from 'vitest';
import { keepSame } from './same';

const key = (item: { id: number }): number => item.id;
describe('a list that is read again', () => {
  it('is the same list when nothing changed', () => {
    const before = [{ id: 1, name: 'a' }, { id: 2, name: 'b' }];
    expect(keepSame(before, structuredClone(before), key)).toBe(before);
  });
  it('keeps the items that did not change, and takes those that did', () => {
    const before = [{ id: 1, name: 'a' }, { id: 2, name: 'b' }];
    const after = keepSame(before, [{ id: 2, name: 'c' }, { id: 1, name: 'a' }, { id: 3, name: 'd' }], key);
    expect(after).toEqual([{ id: 2, name: 'c' }, { id: 1, name: 'a' }, { id: 3, name: 'd' }]);
    expect(after[1]).toBe(before[0]);
  });
  it('is another list when only the order changed, or something went', () => {
    const before = [{ id: 1 }, { id: 2 }];
    expect(keepSame(before, [{ id: 2 }, { id: 1 }], key).map(key)).toEqual([2, 1]);
    expect(keepSame(before, [{ id: 1 }], key).map(key)).toEqual([1]);
    expect(keepSame<{ id: number }>(undefined, [{ id: 1 }], key)).toEqual([{ id: 1 }]);
  });
});
