import { exact } from '../text/time';

/** An instant is put into words when somebody asks for it: a list has one in each row. */
function textOf(target: Element): string | null {
  const zone = target.getAttribute('data-tip-zone');
  if (zone === null || !(target instanceof HTMLTimeElement)) return target.getAttribute('data-tip');
  const at = Date.parse(target.dateTime);
  return zone === '' ? exact(at) : `${exact(at)}\n${exact(at, zone)}`;
}

/** How long something is pointed at before its tip shows, in ms. */
const WAIT = 450;

/**
 * Shows the text of an element's `data-tip` beside it, or the whole instant of a `<time>` with `data-tip-zone`: after a
 * moment's hover, or at once when the keyboard comes to it. One set of listeners serves the whole page, since a list may
 * hold thousands of such elements. What has no words of its own needs an `aria-label` as well. Returns what ends it.
 */
export function startTips(): () => void {
  const bubble = document.createElement('div');
  bubble.className = 'tip';
  bubble.setAttribute('role', 'presentation');
  bubble.hidden = true;
  document.body.append(bubble);
  let owner: Element | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function hide(): void {
    clearTimeout(timer);
    owner = null;
    bubble.hidden = true;
  }
  function show(target: Element): void {
    const text = textOf(target);
    // It may have gone while it was waited for.
    if (!text || !target.isConnected) return;
    bubble.textContent = text;
    bubble.hidden = false;
    const box = target.getBoundingClientRect();
    const own = bubble.getBoundingClientRect();
    const left = Math.min(Math.max(6, box.left + box.width / 2 - own.width / 2), innerWidth - own.width - 6);
    const below = box.bottom + 6 + own.height < innerHeight;
    bubble.style.left = `${left}px`;
    bubble.style.top = `${below ? box.bottom + 6 : box.top - own.height - 6}px`;
  }
  const told = (event: globalThis.Event): Element | null => (event.target instanceof Element ? event.target.closest('[data-tip], [data-tip-zone]') : null);
  function over(event: globalThis.Event): void {
    const target = told(event);
    if (target === owner) return;
    hide();
    owner = target;
    if (target) timer = setTimeout(() => show(target), WAIT);
  }
  function focus(event: globalThis.Event): void {
    const target = told(event);
    if (!target || target !== event.target || !target.matches(':focus-visible')) return;
    hide();
    owner = target;
    show(target);
  }
  const on: [string, (event: globalThis.Event) => void][] = [['pointerover', over], ['focusin', focus], ['focusout', hide], ['scroll', hide], ['keydown', hide], ['pointerdown', hide]];
  for (const [name, act] of on) document.addEventListener(name, act, true);
  return () => {
    for (const [name, act] of on) document.removeEventListener(name, act, true);
    hide();
    bubble.remove();
  };
}
