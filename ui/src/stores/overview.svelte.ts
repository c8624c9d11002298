import type { Need, Overview } from '../api/types';
import { Resource } from './resource.svelte';
import { session } from './session.svelte';

class OverviewStore {
  readonly resource = new Resource<Overview>(() => session.api.overview());
  get value(): Overview | undefined { return this.resource.value; }
  get needs(): Need[] { return this.resource.value?.needsYou ?? []; }
  /** Until when nothing starts; without end where somebody has to resume. A number, so that a row is drawn again only when it changes. */
  pausedUntil = $derived(this.resource.value?.paused ? (this.resource.value.paused.until ?? Number.POSITIVE_INFINITY) : undefined);
  start(): () => void {
    // Everything that happens can change what the head of the window says.
    return session.follow(this.resource, () => true);
  }
}
export const overview = new OverviewStore();
