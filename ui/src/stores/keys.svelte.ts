import { route } from './route.svelte';

/** The window's keys. A view registers what its keys do while it is shown; the newest registration comes first. */
export type Keymap = Record<string, (event: KeyboardEvent) => void>;

class Keys {
  help = $state(false);
  #maps: Keymap[] = [];
  /** When `g` was pressed; long ago until then, also for a page that has just begun to count its time. */
  #prefix = Number.NEGATIVE_INFINITY;

  add(map: Keymap): () => void {
    this.#maps.unshift(map);
    return () => {
      this.#maps = this.#maps.filter((each) => each !== map);
    };
  }
  start(): () => void {
    const press = (event: KeyboardEvent): void => this.press(event);
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }
  press(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.isComposing) return;
    const name = nameOf(event);
    const target = event.target instanceof Element ? event.target : null;
    const typing = target?.closest('input, textarea, select, [contenteditable="true"]') != null;
    // A menu or a dialog has its own keys.
    if (target?.closest('[role="menu"], [role="dialog"], [role="alertdialog"], [role="listbox"]')) return;
    if (typing && !name.startsWith('mod+') && name !== 'Escape') return;
    // What has the focus keeps the keys that press it.
    if (name === ' ' && target?.closest('button, summary')) return;
    if (name === 'Enter' && target?.closest('button, a, summary')) return;
    if (performance.now() - this.#prefix < 1000 && !typing) {
      const view = ({ t: 'tasks', u: 'needs', l: 'timeline', r: 'runs', s: 'settings' } as const)[name as 't'];
      this.#prefix = Number.NEGATIVE_INFINITY;
      if (view) {
        event.preventDefault();
        route.go(view);
        return;
      }
    }
    for (const map of this.#maps) {
      const act = map[name];
      if (act) {
        event.preventDefault();
        act(event);
        return;
      }
    }
    if (name === 'g') this.#prefix = performance.now();
    else if (name === '?') {
      event.preventDefault();
      this.help = true;
    } else if (name === 'n') {
      event.preventDefault();
      route.go('new-loop');
    }
  }
}
function nameOf(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.ctrlKey || event.metaKey) return `mod+${key}`;
  if (event.altKey) return `alt+${key}`;
  return key;
}
export const keys = new Keys();
