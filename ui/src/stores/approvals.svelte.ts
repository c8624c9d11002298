import type { ApprovalView } from '../api/types';
import { Resource } from './resource.svelte';
import { session } from './session.svelte';

/** What waits for somebody's look before it runs, with its text now and the text approved last; read where it is shown. */
class ApprovalsStore {
  readonly resource = new Resource<ApprovalView[]>(() => session.api.approvals());
  find(projectId: string | undefined, taskId: string | undefined): ApprovalView | undefined {
    return this.resource.value?.find((each) => each.projectId === projectId && each.taskId === taskId);
  }
  start(): () => void {
    return session.follow(this.resource, (event) => event.kind === 'approval_needed' || event.kind === 'tasks_changed');
  }
}
export const approvals = new ApprovalsStore();
