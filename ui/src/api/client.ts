import type { Call, Host, Reply } from '../host';
import { t } from '../text';
import type {
  Agents, Answer, ApprovalView, CheckView, Deleted, Finding, LoopFileView, Models, Overview, PauseView, Policy, Preview, ProjectView,
  Run, RunAnswer, RunStatus, RunView, Schedule, SettingsChanges, SettingsView, Task, TaskDetail, TaskSummary, Timeline, Upserted,
} from './types';

/** An operation that was refused or failed, as the routes tell it: `{error, code, hint?}`. */
export class ApiError extends Error {
  constructor(
    message: string,
    /** The HTTP status; 0 when nothing answered. */
    readonly status: number,
    readonly code: string,
    readonly hint: string | undefined,
    /** The whole answer, for what an error carries beside its text. */
    readonly body: unknown,
    readonly call: string,
  ) {
    super(message);
    this.name = 'ApiError';
  }
  /** The input that is to blame, such as `task.name`. */
  get field(): string | undefined {
    const field = (this.body as { field?: unknown } | null)?.field;
    return typeof field === 'string' ? field : undefined;
  }
  /** What somebody needs who is to help. */
  get details(): string {
    return `${this.call}\nstatus ${this.status} (${this.code})\n${this.message}${this.hint ? `\n${this.hint}` : ''}`;
  }
}

/** The text that is on disk now, when a save met a file that had changed; null text: it is gone. */
export interface Conflict { text: string | null; etag: string | null }
export function conflictOf(error: unknown): Conflict | null {
  if (!(error instanceof ApiError) || error.status !== 412) return null;
  const body = (error.body ?? {}) as { text?: unknown; etag?: unknown; current?: { text?: unknown; etag?: unknown } };
  const source = body.current ?? body;
  return {
    text: typeof source.text === 'string' ? source.text : null,
    etag: typeof source.etag === 'string' ? source.etag : null,
  };
}

function errorFrom(reply: Reply, what: string): ApiError {
  const body = reply.body as { error?: unknown; code?: unknown; hint?: unknown } | null;
  const message = typeof body?.error === 'string' ? body.error : t.error.status(reply.status);
  const code = typeof body?.code === 'string' ? body.code : 'unexpected';
  return new ApiError(message, reply.status, code, typeof body?.hint === 'string' ? body.hint : undefined, reply.body, what);
}

const enc = encodeURIComponent;
function query(values: Record<string, string | number | undefined>): string {
  const parts = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return parts.length === 0 ? '' : `?${parts.map(([key, value]) => `${key}=${enc(String(value))}`).join('&')}`;
}

export interface RunQuery { project?: string | undefined; task?: string | undefined; status?: RunStatus[]; before?: number | undefined; limit?: number }

/** One method per operation; the only place that knows the routes. */
export function createApi(host: Host, answered: (status: number) => void = () => {}) {
  async function send<T>(method: Call['method'], path: string, body?: unknown, ifMatch?: string): Promise<T> {
    const call: Call = { method, path };
    if (body !== undefined) call.body = body;
    if (ifMatch !== undefined) call.ifMatch = ifMatch;
    let reply: Reply;
    try {
      reply = await host.call(call);
    } catch (cause) {
      answered(0);
      throw new ApiError(t.error.unreachable, 0, 'unreachable', t.error.unreachableHint, null, `${method} ${path} (${String(cause)})`);
    }
    answered(reply.status);
    if (reply.status >= 400) throw errorFrom(reply, `${method} ${path}`);
    return reply.body as T;
  }
  const task = (project: string, id: string): string => `/api/projects/${enc(project)}/tasks/${enc(id)}`;
  const seed = (project: string, id = ''): string => `/api/projects/${enc(project)}/scheduled-tasks${id ? `/${enc(id)}` : ''}`;

  return {
    overview: () => send<Overview>('GET', '/api/overview'),
    projects: () => send<ProjectView[]>('GET', '/api/projects'),
    addProject: (path: string) => send<ProjectView>('POST', '/api/projects', { path }),
    removeProject: (id: string) => send<void>('DELETE', `/api/projects/${enc(id)}`),

    tasks: (project?: string) => send<TaskSummary[]>('GET', `/api/tasks${query({ project })}`),
    task: (project: string, id: string) => send<TaskDetail>('GET', task(project, id)),
    saveTask: (project: string, input: unknown) => send<Upserted>('PUT', seed(project), { task: input }),
    deleteTask: (project: string, id: string) => send<{ tasks: Task[] }>('DELETE', seed(project, id)),
    setEnabled: (project: string, id: string, enabled: boolean) => send<Task>('PATCH', task(project, id), { enabled }),
    setPolicy: (project: string, id: string, policy: Policy) => send<void>('PUT', `${task(project, id)}/policy`, policy),
    resumeTask: (project: string, id: string) => send<void>('POST', `${task(project, id)}/resume`),
    toLoop: (project: string, id: string) => send<LoopFileView>('POST', `${task(project, id)}/loop`),
    deleteLoop: (project: string, id: string) => send<{ tasks: Task[]; deleted: Deleted }>('DELETE', `${seed(project, id)}/loop-file`),
    restoreLoop: (trashId: string) => send<LoopFileView>('POST', '/api/loop-file/restore', { trashId }),
    deletedLoops: () => send<Deleted[]>('GET', '/api/loop-file/deleted'),
    runTask: (project: string, id: string) => send<RunAnswer>('POST', `${task(project, id)}/run`),

    runs: (filter: RunQuery) => send<Run[]>('GET', `/api/runs${query({
      project: filter.project, task: filter.task, status: filter.status?.join(','), before: filter.before, limit: filter.limit,
    })}`),
    run: (id: number) => send<RunView>('GET', `/api/runs/${id}`),
    cancel: (id: number) => send<Run>('POST', `/api/runs/${id}/cancel`),
    answer: (id: number, ask: string, answer: Answer) => send<Run>('POST', `/api/runs/${id}/answer`, { ask, answer }),

    loopFile: (path: string) => send<LoopFileView>('GET', `/api/loop-file${query({ path })}`),
    saveLoopFile: (path: string, text: string, etag: string) => send<LoopFileView>('PUT', `/api/loop-file${query({ path })}`, { text, etag }, etag),
    createLoopFile: (project: string | undefined, name: string, text?: string) => send<LoopFileView>('POST', '/api/loop-file', { project, name, text }),
    check: (text: string) => send<CheckView>('POST', '/api/check', { text }),
    preview: (schedule: Schedule, count = 5) => send<Preview>('POST', '/api/preview', { schedule, count }),
    timeline: (from: number, to: number, project?: string) => send<Timeline>('GET', `/api/timeline${query({ from, to, project })}`),

    pause: (until?: number) => send<PauseView>('POST', '/api/pause', until === undefined ? {} : { until }),
    resume: () => send<void>('DELETE', '/api/pause'),
    dismiss: (need: string) => send<void>('POST', `/api/needs/${enc(need)}/dismiss`),
    approvals: () => send<ApprovalView[]>('GET', '/api/approvals'),
    approve: (projectId: string, taskId: string, hash: string) => send<void>('POST', '/api/approvals', { projectId, taskId, hash }),

    agents: (directory?: string) => send<Agents>('GET', `/api/agents${query({ directory })}`),
    models: (directory?: string) => send<Models>('GET', `/api/models${query({ directory })}`),
    settings: () => send<SettingsView>('GET', '/api/settings'),
    saveSettings: (changes: SettingsChanges) => send<SettingsView>('PATCH', '/api/settings', changes),
    doctor: () => send<Finding[]>('GET', '/api/doctor'),
    log: (lines = 400) => send<{ path?: string; lines: string[] }>('GET', `/api/log${query({ lines })}`),
    openSample: () => send<ProjectView>('POST', '/api/projects/sample'),
  };
}
export type Api = ReturnType<typeof createApi>;
