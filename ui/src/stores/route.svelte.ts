/** Where the window is: the part of the address behind `#`, so that both hosts can open any place. */
export type View = 'tasks' | 'needs' | 'timeline' | 'runs' | 'settings' | 'editor' | 'task-form' | 'new-loop';
export interface Place {
  view: View;
  /** What follows the view in the path, decoded. */
  parts: string[];
  query: Record<string, string>;
}
const views: readonly string[] = ['tasks', 'needs', 'timeline', 'runs', 'settings', 'editor', 'task-form', 'new-loop'];

export function parsePlace(hash: string): Place {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [first = '', ...rest] = path.split('/');
  const decode = (text: string): string => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  return {
    view: (views.includes(first) ? first : 'tasks') as View,
    parts: rest.filter((part) => part !== '').map(decode),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}
export function placeHash(view: View, parts: readonly (string | number)[] = [], query: Record<string, string | undefined> = {}): string {
  const path = [view, ...parts.map((part) => encodeURIComponent(String(part)))].join('/');
  const pairs = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '');
  const search = new URLSearchParams(pairs).toString();
  return `#/${path}${search ? `?${search}` : ''}`;
}

/** Asks before a place with unsaved text is left; returns whether to go. */
export type Guard = (to: Place) => Promise<boolean>;

class Route {
  place = $state.raw<Place>(parsePlace(typeof location === 'undefined' ? '' : location.hash));
  #guard: Guard | null = null;
  #hash = typeof location === 'undefined' ? '' : location.hash;
  #ignore = false;

  start(): () => void {
    const changed = (): void => void this.#changed();
    window.addEventListener('hashchange', changed);
    return () => window.removeEventListener('hashchange', changed);
  }
  /** While a guard is set, leaving asks it. Returns what takes it away. */
  guard(guard: Guard): () => void {
    this.#guard = guard;
    return () => {
      if (this.#guard === guard) this.#guard = null;
    };
  }
  go(view: View, parts: readonly (string | number)[] = [], query: Record<string, string | undefined> = {}): void {
    location.hash = placeHash(view, parts, query);
  }
  /** Changes the address without a new step in the history. */
  replace(view: View, parts: readonly (string | number)[] = [], query: Record<string, string | undefined> = {}): void {
    const hash = placeHash(view, parts, query);
    history.replaceState(null, '', hash);
    this.#hash = hash;
    this.place = parsePlace(hash);
  }
  async #changed(): Promise<void> {
    if (this.#ignore) {
      this.#ignore = false;
      return;
    }
    const hash = location.hash;
    if (hash === this.#hash) return;
    const place = parsePlace(hash);
    const guard = this.#guard;
    if (guard) {
      // Back to where we are until the question is answered.
      this.#ignore = true;
      location.hash = this.#hash;
      if (!(await guard(place))) return;
      this.#guard = null;
      this.#hash = hash;
      this.place = place;
      this.#ignore = true;
      location.hash = hash;
      return;
    }
    this.#hash = hash;
    this.place = place;
  }
}
export const route = new Route();
