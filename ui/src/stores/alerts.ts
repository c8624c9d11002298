import type { Event } from '../api/types';
import { t } from '../text';
import { overview } from './overview.svelte';
import { session } from './session.svelte';
import { toasts } from './toasts';

/** Turns the events that somebody has to know of at once into toasts; the rest stands in "needs you". */
export function needsAlerts(): () => void {
  const told = new Set<string>();
  return session.on((event: Event) => {
    if (event.kind !== 'persist_error') return;
    const id = `persist-${event.runId ?? `${event.projectId}-${event.taskId}`}`;
    if (told.has(id)) return;
    told.add(id);
    void overview.resource.load().then(() => {
      const need = overview.needs.find((each) => each.kind === 'persist_error' && (event.runId === undefined || each.runId === event.runId));
      toasts.persistError(need?.taskName ?? event.taskId ?? t.app, need ? `${need.text} ${need.help}` : '', id);
    });
  });
}
