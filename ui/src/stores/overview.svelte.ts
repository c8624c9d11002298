import type { Need, Overview } from '../api/types';
import { Resource } from './resource.svelte';
import { session } from './session.svelte';

class OverviewStore {
  readonly resource = new Resource<Overview>(() => session.api.overview());
  get value(): Overview | undefined { return this.resource.value; }
  get needs(): Need[] { return this.resource.value?.needsYou ?? []; }
  start(): () => void {
    // Everything that happens can change what the head of the window says.
    return session.follow(this.resource, () => true);
  }
}
export const overview = new OverviewStore();
