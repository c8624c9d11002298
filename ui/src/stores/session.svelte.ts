import { createApi, type Api } from '../api/client';
import type { Event } from '../api/types';
import type { Host } from '../host';
import { Resource } from './resource.svelte';

/** The connection to Loopkeeper: host, routes and events. */
class Session {
  #host: Host | null = null;
  #api: Api | null = null;
  /** False from the first call or stream that found nobody, until one is answered again. */
  connected = $state(true);
  /** The server wants to know who asks: the page was opened without a link of its own, or the link has run out. */
  locked = $state(false);
  #listeners = new Set<(event: Event) => void>();
  #reloads = new Set<() => void>();

  get host(): Host {
    if (!this.#host) throw new Error('no host yet');
    return this.#host;
  }
  get api(): Api {
    if (!this.#api) throw new Error('no host yet');
    return this.#api;
  }

  open(host: Host): () => void {
    this.#host = host;
    this.#api = createApi(host, (status) => {
      // Only the stream says that all is well again: after a break everything has to be read anew.
      if (status === 0) this.connected = false;
      if (status === 401) this.locked = true;
      else if (status !== 0) this.locked = false;
    });
    return host.listen({
      event: (event) => {
        if (event.kind === 'reload') this.reload();
        else for (const listener of this.#listeners) listener(event);
      },
      open: (gap) => {
        const broken = !this.connected;
        this.connected = true;
        if (gap || broken) this.reload();
      },
      lost: () => {
        this.connected = false;
      },
    });
  }
  /** Reads everything again that is shown. */
  reload(): void {
    for (const reload of this.#reloads) reload();
  }
  on(listener: (event: Event) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  onReload(reload: () => void): () => void {
    this.#reloads.add(reload);
    return () => this.#reloads.delete(reload);
  }
  /** Reads now, after each event that concerns it (at most once in 150 ms), and after a gap. Returns what ends that. */
  follow<T>(resource: Resource<T>, concerns: (event: Event) => boolean): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    void resource.load();
    const offEvent = this.on((event) => {
      if (!concerns(event) || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        void resource.load();
      }, 150);
    });
    const offReload = this.onReload(() => void resource.load());
    return () => {
      clearTimeout(timer);
      offEvent();
      offReload();
    };
  }
}
export const session = new Session();
