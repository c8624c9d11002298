import type { ProjectView } from '../api/types';
import { Resource } from './resource.svelte';
import { session } from './session.svelte';

class ProjectsStore {
  readonly resource = new Resource<ProjectView[]>(() => session.api.projects());
  list = $derived(this.resource.value ?? []);
  byId = $derived(new Map(this.list.map((project) => [project.id, project])));
  label(id: string): string {
    return this.byId.get(id)?.label ?? id;
  }
  start(): () => void {
    return session.follow(this.resource, (event) => event.kind === 'tasks_changed' || event.kind === 'file_error');
  }
}
export const projects = new ProjectsStore();
