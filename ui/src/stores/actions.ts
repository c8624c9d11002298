import type { Answer, Ask, Need, TaskSummary } from '../api/types';
import { t } from '../text';
import { overview } from './overview.svelte';
import { route } from './route.svelte';
import { session } from './session.svelte';
import { tasks } from './tasks.svelte';
import { toasts } from './toasts';

/** What a person does to tasks and runs, with the toast that tells how it went. One function per deed. */
async function attempt(deed: () => Promise<void>): Promise<boolean> {
  try {
    await deed();
    return true;
  } catch (error) {
    toasts.failed(error);
    return false;
  }
}
const refresh = (): void => {
  void tasks.resource.load();
  void overview.resource.load();
};

export function runTask(task: { projectId: string; id: string; name: string }): Promise<boolean> {
  // What was refused because nobody looked at it yet is shown to be looked at.
  if (tasks.get(task.projectId, task.id)?.approvalHash !== undefined) {
    toasts.note(t.needs.approveFirst(task.name));
    route.go('tasks', [task.projectId, task.id]);
    return Promise.resolve(false);
  }
  return attempt(async () => {
    const answer = await session.api.runTask(task.projectId, task.id);
    if (answer.persistError) toasts.persistError(task.name, answer.persistError, `persist-${answer.runId}`);
    else toasts.done(t.tasks.started(task.name), undefined, { label: t.needs.openRun, run: () => route.go('runs', [answer.runId]) });
    refresh();
  });
}
export function stopRun(run: { id: number; taskName: string }): Promise<boolean> {
  return attempt(async () => {
    await session.api.cancel(run.id);
    toasts.note(t.tasks.stopped(run.taskName));
    refresh();
  });
}
export function toggleTask(task: TaskSummary): Promise<boolean> {
  return attempt(() => tasks.setEnabled(task, !tasks.enabled(task)));
}
export function answerAsk(runId: number, ask: Ask, answer: Answer): Promise<boolean> {
  return attempt(async () => {
    await session.api.answer(runId, ask.id, answer);
    refresh();
  });
}
export function deleteTask(task: TaskSummary): Promise<boolean> {
  return attempt(async () => {
    if (task.loopFile) {
      const { deleted } = await session.api.deleteLoop(task.projectId, task.id);
      toasts.done(t.tasks.deleted(task.name), t.tasks.deletedHelp, {
        label: t.common.undo,
        run: () => void restoreLoop(deleted.trashId, task.name),
      }, true);
    } else {
      const { task: kept, policy } = await session.api.task(task.projectId, task.id);
      await session.api.deleteTask(task.projectId, task.id);
      toasts.done(t.tasks.deleted(task.name), undefined, {
        label: t.common.undo,
        run: () => void attempt(async () => {
          await session.api.saveTask(task.projectId, kept);
          await session.api.setPolicy(task.projectId, task.id, policy);
          toasts.done(t.tasks.restored(task.name));
          refresh();
        }),
      }, true);
    }
    refresh();
  });
}
export function restoreLoop(trashId: string, name: string): Promise<boolean> {
  return attempt(async () => {
    await session.api.restoreLoop(trashId);
    toasts.done(t.tasks.restored(name));
    refresh();
  });
}
export function duplicateTask(task: TaskSummary): Promise<boolean> {
  return attempt(async () => {
    if (task.loopFile) {
      const file = await session.api.loopFile(task.loopFile);
      const name = freeName(task.name, task.projectId);
      const text = file.text.replace(/^(name:[ \t]*).*$/m, (_all, key: string) => `${key}${name}`).replace(/^(enabled:[ \t]*)true\b/m, '$1false');
      const made = await session.api.createLoopFile(task.scope === 'user' ? undefined : task.projectId, name, text);
      route.go('editor', [], { path: made.path });
    } else {
      route.go('task-form', [task.projectId, task.id], { copy: '1' });
    }
    refresh();
  });
}
export function freeName(name: string, projectId: string): string {
  const taken = new Set(tasks.sorted.filter((task) => task.projectId === projectId).map((task) => task.name));
  const base = name.replace(/-\d+$/, '').slice(0, 74);
  for (let n = 2; ; n += 1) if (!taken.has(`${base}-${n}`)) return `${base}-${n}`;
}
export function turnIntoLoop(task: TaskSummary): Promise<boolean> {
  return attempt(async () => {
    const file = await session.api.toLoop(task.projectId, task.id);
    toasts.done(t.tasks.toLoopDone(file.path), undefined, { label: t.common.edit, run: () => route.go('editor', [], { path: file.path }) });
    refresh();
  });
}
export function resumeTask(task: { projectId: string; id: string }): Promise<boolean> {
  return attempt(async () => {
    await session.api.resumeTask(task.projectId, task.id);
    refresh();
  });
}
export function dismissNeed(need: Need): Promise<boolean> {
  return attempt(async () => {
    await session.api.dismiss(need.id);
    refresh();
  });
}
export function approve(projectId: string, taskId: string, name: string, hash: string): Promise<boolean> {
  return attempt(async () => {
    await session.api.approve(projectId, taskId, hash);
    toasts.done(t.needs.approved(name));
    refresh();
  });
}
export function pauseAll(until?: number): Promise<boolean> {
  return attempt(async () => {
    await session.api.pause(until);
    refresh();
  });
}
export function resumeAll(): Promise<boolean> {
  return attempt(async () => {
    await session.api.resume();
    refresh();
  });
}
export async function copyText(text: string, said: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toasts.done(said);
  } catch {
    // No clipboard without a secure page: show it, so that it can be copied by hand.
    toasts.note(said, text);
  }
}
export function editPlace(task: TaskSummary): void {
  if (task.loopFile) route.go('editor', [], { path: task.loopFile, project: task.projectId });
  else route.go('task-form', [task.projectId, task.id]);
}
