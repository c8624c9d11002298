import type { Run, RunStatus } from '../api/types';
import { Resource } from './resource.svelte';
import { keepSame } from './same';
import { session } from './session.svelte';

export type RunsFilter = 'all' | 'ok' | 'failed' | 'open' | 'not_run';
export const filters: readonly RunsFilter[] = ['all', 'ok', 'failed', 'open', 'not_run'];
const statuses: Record<RunsFilter, RunStatus[]> = {
  all: [],
  ok: ['succeeded'],
  failed: ['failed', 'timed_out', 'lost', 'cancelled'],
  open: ['claimed', 'queued', 'retrying', 'running', 'blocked'],
  not_run: ['skipped', 'missed', 'deduped', 'superseded'],
};
const PAGE = 100;

/** The history, newest first: the newest page follows the events, older pages are added as the list is scrolled. */
class RunsStore {
  filter = $state<RunsFilter>('all');
  #project = $state<string | undefined>();
  #older = $state.raw<Run[]>([]);
  #ended = false;
  #loading = false;
  readonly resource = new Resource<Run[]>(() => session.api.runs({ project: this.#project, status: statuses[this.filter], limit: PAGE }), (before, after) => keepSame(before, after, (run) => run.id));
  list = $derived.by(() => {
    const newest = this.resource.value ?? [];
    const seen = new Set(newest.map((run) => run.id));
    return [...newest, ...this.#older.filter((run) => !seen.has(run.id))];
  });

  start(): () => void {
    return session.follow(this.resource, () => true);
  }
  choose(filter: RunsFilter): void {
    this.filter = filter;
    this.#anew();
  }
  narrow(project: string | undefined): void {
    if (project === this.#project) return;
    this.#project = project;
    this.#anew();
  }
  async more(): Promise<void> {
    const last = this.list.at(-1);
    if (this.#loading || this.#ended || !last || (this.resource.value?.length ?? 0) < PAGE) return;
    this.#loading = true;
    try {
      const page = await session.api.runs({ project: this.#project, status: statuses[this.filter], before: last.id, limit: PAGE });
      this.#ended = page.length < PAGE;
      this.#older = [...this.#older, ...page];
    } catch {
      // The bar at the top tells of a lost connection; scrolling tries again.
    } finally {
      this.#loading = false;
    }
  }
  #anew(): void {
    this.#older = [];
    this.#ended = false;
    this.resource.reset();
    void this.resource.load();
  }
}
export const runs = new RunsStore();
