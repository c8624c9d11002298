export interface DiffLine { kind: 'same' | 'added' | 'removed'; text: string }

/** Compares two texts line by line (longest common subsequence); loop files are short enough for the plain table. */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = before === '' ? [] : before.split('\n');
  const b = after === '' ? [] : after.split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let endA = a.length;
  let endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA -= 1;
    endB -= 1;
  }
  const rows = endA - start;
  const columns = endB - start;
  const same = (lines: string[]): DiffLine[] => lines.map((text) => ({ kind: 'same', text }));
  const middle: DiffLine[] = [];
  if (rows * columns > 4_000_000) {
    // Too large to compare in a window: all of it went, all of it came.
    middle.push(...a.slice(start, endA).map((text): DiffLine => ({ kind: 'removed', text })), ...b.slice(start, endB).map((text): DiffLine => ({ kind: 'added', text })));
  } else {
    const width = columns + 1;
    const table = new Uint32Array((rows + 1) * width);
    for (let i = rows - 1; i >= 0; i -= 1) {
      for (let j = columns - 1; j >= 0; j -= 1) {
        table[i * width + j] = a[start + i] === b[start + j] ? table[(i + 1) * width + j + 1]! + 1 : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!);
      }
    }
    let i = 0;
    let j = 0;
    while (i < rows || j < columns) {
      if (i < rows && j < columns && a[start + i] === b[start + j]) {
        middle.push({ kind: 'same', text: a[start + i]! });
        i += 1;
        j += 1;
      } else if (i < rows && (j >= columns || table[(i + 1) * width + j]! >= table[i * width + j + 1]!)) {
        middle.push({ kind: 'removed', text: a[start + i]! });
        i += 1;
      } else {
        middle.push({ kind: 'added', text: b[start + j]! });
        j += 1;
      }
    }
  }
  return [...same(a.slice(0, start)), ...middle, ...same(a.slice(endA))];
}
