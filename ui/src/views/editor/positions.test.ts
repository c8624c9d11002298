import { describe, expect, it } from 'vitest';
import { applyEdits, lineSeparator, offsetOf } from './positions';

describe('positions of diagnostics', () => {
  it('are 1-based and in UTF-16 units', () => {
    expect(offsetOf('a\nbc', 2, 2)).toBe(3);
    expect(offsetOf('😀x', 1, 3), 'an emoji is two units').toBe(2);
  });
  it('never leave the line or the text', () => {
    expect(offsetOf('ab\ncd', 1, 99)).toBe(2);
    expect(offsetOf('ab\r\ncd', 1, 99), 'the \\r belongs to no column').toBe(2);
    expect(offsetOf('ab', 9, 1)).toBe(2);
    expect(offsetOf('', 1, 1)).toBe(0);
  });
});
describe('fixes', () => {
  const edit = (line: number, column: number, endLine: number, endColumn: number, text: string) => ({ line, column, endLine, endColumn, text });
  it('are applied together, whatever their order', () => {
    expect(applyEdits('schedule: */5\nenabled: yes\n', [edit(2, 10, 2, 13, 'true'), edit(1, 11, 1, 14, '"*/5"')])).toBe('schedule: "*/5"\nenabled: true\n');
  });
  it('insert where start and end are one', () => {
    expect(applyEdits('---\n', [edit(2, 1, 2, 1, 'name: x\n')])).toBe('---\nname: x\n');
  });
  it('keep line ends of the rest', () => {
    expect(applyEdits('a: 1\r\nb: 2\r\n', [edit(1, 4, 1, 5, '9')])).toBe('a: 9\r\nb: 2\r\n');
  });
});
describe('line ends', () => {
  it('are kept as they are: only a text of nothing but CRLF is split by it', () => {
    expect(lineSeparator('a\r\nb\r\n')).toBe('\r\n');
    expect(lineSeparator('a\nb\r\n')).toBe('\n');
    expect(lineSeparator('a')).toBe('\n');
  });
});
