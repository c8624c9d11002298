import type { TextEdit } from '../../api/types';

/**
 * Positions of diagnostics are 1-based lines and columns in UTF-16 units; an editor counts offsets from 0.
 * A line ends at `\n`; a `\r` before it belongs to no column.
 */
export function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}
/** Positions beyond a line or the text come to its end: the text may be newer than the diagnostic. */
export function offsetOf(text: string, line: number, column: number, starts: number[] = lineStarts(text)): number {
  if (line < 1) return 0;
  const start = starts[line - 1];
  if (start === undefined) return text.length;
  let end = starts[line] === undefined ? text.length : (starts[line] ?? 0) - 1;
  if (text[end - 1] === '\r') end -= 1;
  return Math.min(Math.max(start, start + column - 1), Math.max(start, end));
}
export interface Change { from: number; to: number; insert: string }
/** The edits as changes of offsets, in order; edits of a text that is no longer there come to nothing worse than its end. */
export function changesOf(text: string, edits: readonly TextEdit[]): Change[] {
  const starts = lineStarts(text);
  return edits
    .map((edit) => {
      const from = offsetOf(text, edit.line, edit.column, starts);
      return { from, to: Math.max(from, offsetOf(text, edit.endLine, edit.endColumn, starts)), insert: edit.text };
    })
    .sort((a, b) => a.from - b.from || a.to - b.to);
}
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  let out = '';
  let at = 0;
  for (const change of changesOf(text, edits)) {
    if (change.from < at) continue;
    out += text.slice(at, change.from) + change.insert;
    at = change.to;
  }
  return out + text.slice(at);
}
/** How a text ends its lines, so that an editor gives every byte back that nobody touched. */
export function lineSeparator(text: string): '\n' | '\r\n' {
  return text.includes('\r\n') && !/(^|[^\r])\n/.test(text) ? '\r\n' : '\n';
}
