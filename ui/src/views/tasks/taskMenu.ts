import ClipboardCopy from '@lucide/svelte/icons/clipboard-copy';
import Copy from '@lucide/svelte/icons/copy';
import FileSymlink from '@lucide/svelte/icons/file-symlink';
import FolderOpen from '@lucide/svelte/icons/folder-open';
import Pencil from '@lucide/svelte/icons/pencil';
import Play from '@lucide/svelte/icons/play';
import RotateCcw from '@lucide/svelte/icons/rotate-ccw';
import ShieldCheck from '@lucide/svelte/icons/shield-check';
import SquareArrowOutUpRight from '@lucide/svelte/icons/square-arrow-out-up-right';
import Square from '@lucide/svelte/icons/square';
import Trash from '@lucide/svelte/icons/trash-2';
import type { TaskSummary } from '../../api/types';
import type { MenuItem } from '../../components/menu';
import { copyText, deleteTask, duplicateTask, editPlace, resumeTask, runTask, stopRun, turnIntoLoop } from '../../stores/actions';
import { confirm } from '../../stores/confirm.svelte';
import { route } from '../../stores/route.svelte';
import { session } from '../../stores/session.svelte';
import { toasts } from '../../stores/toasts';
import { t } from '../../text';

/** Asks, naming the file that goes, and deletes. */
export async function askAndDelete(task: TaskSummary): Promise<boolean> {
  const reply = await confirm.ask({
    title: t.tasks.deleteTitle(task.name),
    text: task.loopFile ? t.tasks.deleteFile(task.seenIn) : t.tasks.deleteJson,
    ...(task.loopFile ? { detail: task.loopFile } : {}),
    yes: t.common.delete,
    danger: true,
  });
  if (reply !== 'yes' || !(await deleteTask(task))) return false;
  // Where the task stood alone there is nothing left to see.
  const { view, parts, query } = route.place;
  if ((view === 'tasks' && parts[0] === task.projectId && parts[1] === task.id) || (view === 'editor' && query['path'] === task.loopFile)) route.go('tasks');
  return true;
}

/** Everything that can be done with a task, in the order of use. */
export function taskMenu(task: TaskSummary): MenuItem[] {
  const items: MenuItem[] = [];
  const host = session.host;
  const file = task.loopFile;
  const open = (path: string, how: 'reveal' | 'openFile') => (): void => void host[how](path).catch((error: unknown) => toasts.failed(error));
  const run = task.openRun;
  if (run) items.push({ label: t.tasks.stop, icon: Square, run: () => void stopRun(run) });
  else items.push({ label: t.tasks.run, icon: Play, run: () => void runTask(task) });
  items.push({ label: t.common.edit, icon: Pencil, run: () => editPlace(task) });
  if (task.condition === 'auto_paused') items.push({ label: t.tasks.resume, icon: RotateCcw, run: () => void resumeTask(task) });
  if (task.approvalHash) items.push({ label: t.tasks.approve, icon: ShieldCheck, run: () => route.go('tasks', [task.projectId, task.id]) });
  items.push('line', { label: t.tasks.duplicate, icon: Copy, run: () => void duplicateTask(task) });
  if (file) {
    items.push({ label: t.tasks.copyPath, icon: ClipboardCopy, run: () => void copyText(file, t.common.copied) });
    if (host.canOpenFiles) {
      items.push({ label: t.tasks.ownEditor, icon: SquareArrowOutUpRight, run: open(file, 'openFile') });
      items.push({ label: t.tasks.reveal, icon: FolderOpen, run: open(file, 'reveal') });
    }
  } else items.push({ label: t.tasks.toLoop, icon: FileSymlink, run: () => void turnIntoLoop(task) });
  items.push('line', { label: t.common.delete, icon: Trash, danger: true, run: () => void askAndDelete(task) });
  return items;
}
