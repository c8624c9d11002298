/** What this window remembers by itself: sizes and choices that are nobody else's business. */
const KEY = 'loopkeeper.window';
interface Saved { project?: string; timeline?: 'day' | 'week' }

class Prefs {
  #saved = $state<Saved>(read());
  /** The project that lists are narrowed to; undefined is all. */
  get project(): string | undefined { return this.#saved.project; }
  set project(id: string | undefined) { this.#set({ ...this.#saved, ...(id === undefined ? { project: '' } : { project: id }) }); }
  get timeline(): 'day' | 'week' { return this.#saved.timeline ?? 'day'; }
  set timeline(range: 'day' | 'week') { this.#set({ ...this.#saved, timeline: range }); }
  #set(saved: Saved): void {
    if (saved.project === '') delete saved.project;
    this.#saved = saved;
    try {
      localStorage.setItem(KEY, JSON.stringify(saved));
    } catch {
      // A browser that keeps nothing: the choice lasts as long as the page.
    }
  }
}
function read(): Saved {
  try {
    const saved: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof saved === 'object' && saved !== null ? (saved as Saved) : {};
  } catch {
    return {};
  }
}
export const prefs = new Prefs();
