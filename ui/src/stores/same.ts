const texts = new WeakMap<object, string>();
function textOf(value: object): string {
  let text = texts.get(value);
  if (text === undefined) texts.set(value, (text = JSON.stringify(value)));
  return text;
}

/**
 * Returns the newer list with each item that says the same as before taken from the older one, and the older list itself
 * where nothing changed. What is drawn from an item is drawn again only when that item changed.
 */
export function keepSame<T extends object>(before: T[] | undefined, after: T[], key: (item: T) => string | number): T[] {
  if (before === undefined) return after;
  const known = new Map(before.map((item) => [key(item), item]));
  const merged = after.map((item) => {
    const old = known.get(key(item));
    return old !== undefined && textOf(old) === textOf(item) ? old : item;
  });
  return merged.length === before.length && merged.every((item, index) => item === before[index]) ? before : merged;
}
