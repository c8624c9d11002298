import { describe, expect, it } from 'vitest';
import { diffLines } from './diff';

describe('diffLines', () => {
  const both = (lines: ReturnType<typeof diffLines>) => ({
    before: lines.filter((line) => line.kind !== 'added').map((line) => line.text).join('\n'),
    after: lines.filter((line) => line.kind !== 'removed').map((line) => line.text).join('\n'),
  });
  it('holds both texts whole, whatever changed', () => {
    for (const [before, after] of [['a\nb\nc', 'a\nx\nc'], ['', 'a\nb'], ['a\nb', ''], ['a\nb\nc\nd', 'b\na\nd\nc'], ['same', 'same']] as const) expect(both(diffLines(before, after))).toEqual({ before, after });
  });
  it('marks no more than what changed', () => {
    expect(diffLines('a\nb\nc', 'a\nx\nc').map((line) => line.kind)).toEqual(['same', 'removed', 'added', 'same']);
  });
});
