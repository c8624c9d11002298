import type { Condition, TaskSummary } from '../api/types';
import { prefs } from './prefs.svelte';
import { Resource } from './resource.svelte';
import { keepSame } from './same';
import { session } from './session.svelte';

export type Filter = 'all' | 'enabled' | 'failing' | 'blocked' | 'review';

/** Needs you, running, enabled by next run, off. */
const rank: Record<Condition, number> = { blocked: 0, needs_approval: 1, auto_paused: 2, running: 3, waiting: 4, armed: 5, idle: 6, off: 7 };

/** One for all: making it anew for each comparison would cost more than the sorting. */
const names = new Intl.Collator('en', { sensitivity: 'base', numeric: true });

export function compareTasks(a: TaskSummary, b: TaskSummary): number {
  return (
    rank[a.condition] - rank[b.condition] ||
    (a.nextRunAt ?? Number.POSITIVE_INFINITY) - (b.nextRunAt ?? Number.POSITIVE_INFINITY) ||
    names.compare(a.name, b.name) ||
    (a.projectId < b.projectId ? -1 : a.projectId > b.projectId ? 1 : 0) ||
    (a.id < b.id ? -1 : 1)
  );
}
export function isFailing(task: TaskSummary): boolean {
  const status = task.lastRun?.status;
  return task.condition === 'auto_paused' || status === 'failed' || status === 'timed_out' || status === 'lost';
}
export function matchesFilter(task: TaskSummary, filter: Filter): boolean {
  switch (filter) {
    case 'all': return true;
    case 'enabled': return task.enabled;
    case 'failing': return isFailing(task);
    case 'blocked': return task.condition === 'blocked';
    case 'review': return task.condition === 'needs_approval' || (task.fileErrors?.length ?? 0) > 0;
  }
}
/** Every word has to be in the name, the project, the model, the words of the schedule or the path. */
export function matchesSearch(task: TaskSummary, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== '');
  if (words.length === 0) return true;
  const text = `${task.name} ${task.projectLabel} ${task.model} ${task.words} ${task.loopFile ?? ''}`.toLowerCase();
  return words.every((word) => text.includes(word));
}
export const keyOf = (task: { projectId: string; id: string }): string => `${task.projectId}\n${task.id}`;

class TasksStore {
  readonly resource = new Resource<TaskSummary[]>(() => session.api.tasks(), (before, after) => keepSame(before, after, keyOf));
  filter = $state<Filter>('all');
  search = $state('');
  /** What was clicked but not yet answered: the switch moves at once. */
  #wished = $state.raw<ReadonlyMap<string, boolean>>(new Map());

  sorted = $derived([...(this.resource.value ?? [])].sort(compareTasks));
  inProject = $derived(prefs.project === undefined ? this.sorted : this.sorted.filter((task) => task.projectId === prefs.project));
  counts = $derived.by(() => {
    const counts: Record<Filter, number> = { all: 0, enabled: 0, failing: 0, blocked: 0, review: 0 };
    const filters = Object.keys(counts) as Filter[];
    for (const task of this.inProject) for (const filter of filters) if (matchesFilter(task, filter)) counts[filter] += 1;
    return counts;
  });
  shown = $derived(this.inProject.filter((task) => matchesFilter(task, this.filter) && matchesSearch(task, this.search)));
  byKey = $derived(new Map(this.sorted.map((task) => [keyOf(task), task])));

  get(projectId: string, id: string): TaskSummary | undefined {
    return this.byKey.get(keyOf({ projectId, id }));
  }
  enabled(task: TaskSummary): boolean {
    return this.#wished.get(keyOf(task)) ?? task.enabled;
  }
  async setEnabled(task: TaskSummary, enabled: boolean): Promise<void> {
    const key = keyOf(task);
    this.#wished = new Map(this.#wished).set(key, enabled);
    try {
      await session.api.setEnabled(task.projectId, task.id, enabled);
      await this.resource.load();
    } finally {
      const rest = new Map(this.#wished);
      rest.delete(key);
      this.#wished = rest;
    }
  }
  start(): () => void {
    return session.follow(this.resource, () => true);
  }
}
export const tasks = new TasksStore();
