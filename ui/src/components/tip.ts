import type { Attachment } from 'svelte/attachments';

let bubble: HTMLElement | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let owner: Element | null = null;

function hide(): void {
  clearTimeout(timer);
  owner = null;
  if (bubble) bubble.hidden = true;
}
function show(target: Element, text: string): void {
  if (!bubble) {
    bubble = document.createElement('div');
    bubble.className = 'tip';
    bubble.setAttribute('role', 'presentation');
    document.body.append(bubble);
    document.addEventListener('scroll', hide, true);
    document.addEventListener('keydown', hide, true);
    document.addEventListener('pointerdown', hide, true);
  }
  owner = target;
  bubble.textContent = text;
  bubble.hidden = false;
  const box = target.getBoundingClientRect();
  const own = bubble.getBoundingClientRect();
  const left = Math.min(Math.max(6, box.left + box.width / 2 - own.width / 2), innerWidth - own.width - 6);
  const below = box.bottom + 6 + own.height < innerHeight;
  bubble.style.left = `${left}px`;
  bubble.style.top = `${below ? box.bottom + 6 : box.top - own.height - 6}px`;
}

/** Shows a text beside an element after a moment's hover. What has no words of its own needs an `aria-label` as well. */
export function tip(text: string | undefined): Attachment<Element> {
  return (element) => {
    if (!text) return;
    const enter = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => show(element, text), 450);
    };
    const leave = (): void => hide();
    element.addEventListener('pointerenter', enter);
    element.addEventListener('pointerleave', leave);
    return () => {
      element.removeEventListener('pointerenter', enter);
      element.removeEventListener('pointerleave', leave);
      if (owner === element) hide();
    };
  };
}
