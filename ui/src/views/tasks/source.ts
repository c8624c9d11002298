import type { TaskSummary } from '../../api/types';
import { t } from '../../text';

/** Where a task comes from, short: the path from the loop folder's project on, or that it has no file. */
export function sourceOf(task: Pick<TaskSummary, 'loopFile' | 'scope' | 'seenIn'>): string {
  if (!task.loopFile) return t.tasks.jsonTask;
  const at = task.loopFile.lastIndexOf('/.agents/loops/');
  const path = at < 0 ? task.loopFile : task.scope === 'user' ? `~${task.loopFile.slice(at)}` : task.loopFile.slice(at + 1);
  return task.seenIn > 1 ? `${path} · ${t.tasks.inProjects(task.seenIn)}` : path;
}
