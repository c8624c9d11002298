/** Every word that the window says. A translation is another object of this shape. */
import type { ClockChange, Condition, NeedKind, Run, RunStatus, Severity, Trigger } from '../api/types';
import { clock, dayAndClock, dayMonth, duration, HOUR, number, plural, relative, tokens } from './time';

const condition: Record<Condition, string> = {
  blocked: 'Needs an answer', needs_approval: 'Needs approval', auto_paused: 'Paused after failures', running: 'Running',
  waiting: 'Waiting its turn', armed: 'Armed', idle: 'No further run', off: 'Off',
};
const status: Record<RunStatus, string> = {
  claimed: 'Starting', queued: 'Queued', retrying: 'Retrying', running: 'Running', blocked: 'Needs an answer', succeeded: 'Succeeded',
  failed: 'Failed', timed_out: 'Timed out', cancelled: 'Cancelled', lost: 'Lost', skipped: 'Skipped', missed: 'Missed',
  deduped: 'Ran elsewhere', superseded: 'Superseded',
};
const reason: Record<string, string> = {
  already_running: 'the task was still running', paused: 'everything was paused', auto_paused: 'it was paused after failures in a row',
  budget: "the day's budget was used up", not_approved: 'its content was not approved', wrong_host: 'another machine is to run it',
  wrong_project: 'another project is to run it', claim_failed: 'the slot could not be claimed', not_sent: 'the prompt was never sent',
  asleep: 'the computer was asleep', down: 'no scheduler was running', late: 'it was noticed too late', timeout: 'it ran into its time limit',
  blocked_timeout: 'nobody answered in time', by_user: 'somebody stopped it', shutdown: 'Loopkeeper was stopped', config_unreadable: 'the configuration could not be read',
  agent_gone: 'the agent went away', agent_error: 'the agent reported an error', no_answer: 'the agent said nothing', newer: 'a newer slot took its place',
  stale_result: 'its result came after it had been given up', definition_changed: 'its definition changed', elsewhere_claimed: 'another process ran it',
  bad_folder: 'the project folder is not there', unknown_model: 'the model does not exist', unknown_agent: 'the agent does not exist', unreachable: 'the agent could not be reached',
  not_started: 'the agent could not be started', model_error: 'the model answered with an error', truncated: 'the answer was cut off', rejected: 'a permission was denied',
  aborted: 'the session was aborted', restarted: 'the agent was restarted meanwhile', goal_blocked: 'the goal could not be reached', goal_budget: "the goal's budget was used up",
  exit_code: 'the command ended with an error', signal: 'the command was killed', orphaned: 'nobody followed it any more', worktree: 'no worktree could be made',
};
const trigger: Record<Trigger, string> = { scheduled: 'Scheduled', manual: 'By hand', catch_up: 'Caught up', retry: 'Retry' };
const step: Record<string, string> = {
  due: 'Due', started: 'Started', note: 'Note', waiting: 'Waiting', retrying: 'Retrying', turn: 'Turn ended', stale_result: 'A later result was put aside', claimed: 'Claimed', queued: 'Queued', session: 'Session created', accepted: 'Prompt accepted', blocked: 'Asked', answered: 'Answered',
  unblocked: 'Went on', child: 'Process started', ended: 'Ended', finished: 'Ended', taken_over: 'Taken over', progress: 'Progress', tool: 'Tool', retry: 'Attempt failed',
};
/** Of a diagnostic, and of a finding about the machine. */
const severity: Record<Severity | 'ok', string> = { error: 'Error', warning: 'Warning', info: 'Note', ok: 'Good' };
const need: Record<NeedKind, string> = {
  blocked: 'Waiting for you', approval: 'Approval', persist_error: 'Not written', auto_paused: 'Paused after failures', failed: 'Failed',
  missed: 'Missed', file_error: 'Unreadable',
};
/** What a clock change does to one slot: short for a label, whole for its tooltip. */
const clockChange = {
  short: (change: ClockChange): string => (change.kind === 'moved' ? `clock change: not ${change.named}` : `clock change: first ${change.named}`),
  whole: (change: ClockChange): string => (change.kind === 'moved' ? `${change.named} does not exist on that day: it runs at ${change.runs}` : `${change.named} comes twice on that day: it runs at the first`),
};
const titleCase = (key: string): string => (key.charAt(0).toUpperCase() + key.slice(1)).replaceAll('_', ' ');

export const t = {
  app: 'Loopkeeper',
  condition, status, trigger, need, clockChange, severity,
  reason: (key: string): string => reason[key] ?? key.replaceAll('_', ' '),
  step: (kind: string): string => step[kind] ?? titleCase(kind),
  nav: { label: 'Main', needs: 'Needs you', tasks: 'Tasks', timeline: 'Timeline', runs: 'Runs', settings: 'Settings', projects: 'Projects', all: 'All projects', allShort: 'All', add: 'Add project', narrow: (label: string | undefined): string => (label === undefined ? 'Project: all' : `Project: ${label}`) },
  state: {
    armed: (count: number): string => (count === 0 ? 'Nothing armed' : `${number(count)} armed`),
    paused: 'Paused', stalled: 'Scheduler stalled', offline: 'No connection',
    next: (name: string, at: number, now: number): string => `Next: ${name} ${clock(at)} (${relative(at, now)})`,
    running: (count: number): string => `${count} running`,
    pausedUntil: (when: string): string => `Everything is paused until ${when}.`,
    pausedOpen: 'Everything is paused until you resume.',
    stalledText: 'The scheduler has not looked at the clock for two minutes; nothing starts. Restart Loopkeeper.',
    lost: 'The connection to Loopkeeper is lost. What you see may be old.',
    lostHint: 'Trying again…', retryNow: 'Try now',
    restored: 'Connected again',
  },
  pause: { button: 'Pause everything', hour: 'For 1 hour', tomorrow: 'Until tomorrow morning', open: 'Until I resume', resume: 'Resume', paused: 'Everything is paused' },
  common: {
    cancel: 'Cancel', close: 'Close', save: 'Save', delete: 'Delete', undo: 'Undo', edit: 'Edit', open: 'Open', copy: 'Copy', copied: 'Copied', copyDetails: 'Copy details',
    retry: 'Try again', more: 'More', search: 'Search', none: 'None', loading: 'Loading', back: 'Back', add: 'Add', remove: 'Remove', dismiss: 'Dismiss', yes: 'Yes', no: 'No', default: 'default',
    count: plural, clear: 'Clear', show: 'Show', project: 'Project', unsaved: 'Not saved yet', zone: 'Time zone',
  },
  error: { part: 'This part of the page could not be loaded', partHelp: 'Loopkeeper was renewed meanwhile, or it does not answer. Loading the page anew helps.', anew: 'Load the page anew', unreachable: 'Loopkeeper does not answer.', unreachableHint: 'It is tried again by itself.', status: (status: number): string => `The answer was status ${status}.`, title: 'That did not work', load: 'This could not be loaded', field: 'Check the marked fields.', view: 'This view met something unexpected', viewHelp: 'The rest goes on. Copy the details if you report it.' },
  tasks: {
    title: 'Tasks', search: 'Search tasks', create: 'New', newLoop: 'Loop file', newLoopHelp: 'A markdown file, shared with the project', newTask: 'Task', newTaskHelp: 'Daily, weekly, once or cron, kept in the settings',
    filter: 'Filter', filters: { all: 'All', enabled: 'Enabled', failing: 'Failing', blocked: 'Blocked', review: 'Review' },
    next: 'Next run', recent: 'Recent runs', last: 'Last run', off: 'off', noNext: 'no next run', due: 'due',
    running: 'running', waiting: 'waiting', blocked: 'blocked', approval: 'needs approval', paused: 'paused', autoPaused: 'auto-paused',
    wants: 'asks:', answerIt: (name: string): string => `Answer ${name}`, since: (clock: string): string => `since ${clock}`, never: 'never ran', jsonTask: 'in the settings', inProjects: (count: number): string => `in ${count} projects`,
    fileErrors: (count: number): string => `${plural(count, 'problem', 'problems')} in the file; the last good definition holds`,
    bars: (ok: number, all: number): string => (all === 0 ? 'No runs yet' : `${ok} of the last ${plural(all, 'run', 'runs')} succeeded`),
    enable: (name: string): string => `Enable ${name}`, disable: (name: string): string => `Disable ${name}`, run: 'Run now', runIt: (name: string): string => `Run ${name} now`, stop: 'Stop', stopIt: (name: string): string => `Stop ${name}`,
    menu: (name: string): string => `Actions for ${name}`, duplicate: 'Duplicate', toLoop: 'Turn into a loop file', copyPath: 'Copy path', reveal: 'Show in file manager', ownEditor: 'Open in your editor', resume: 'Resume after failures', approve: 'Review and approve',
    started: (name: string): string => `${name} started`, stopped: (name: string): string => `${name} is being stopped`, deleted: (name: string): string => `${name} was deleted`, deletedHelp: 'The file is kept for 30 days.', restored: (name: string): string => `${name} is back`,
    deleteTitle: (name: string): string => `Delete ${name}?`, deleteFile: (projects: number): string => `${projects > 1 ? `${projects} projects share this loop: it goes from each of them. ` : ''}This deletes the file from the disk; it is kept for 30 days:`, deleteJson: 'The task and its schedule are removed. Its past runs stay in the history.',
    toLoopDone: (path: string): string => `Now defined by ${path}`, none: 'No tasks yet', noneHelp: 'A loop is a markdown file that says when a prompt runs, and with which model.', noMatch: 'No task matches', noMatchHelp: 'Try another word, or clear the filter.',
    shown: (count: number, all: number): string => (count === all ? plural(all, 'task', 'tasks') : `${count} of ${plural(all, 'task', 'tasks')}`),
    persistError: (name: string): string => `${name} ran, but its end could not be written`, list: 'Task list',
  },
  detail: {
    overview: 'Overview', runs: 'Runs', edit: 'Edit', close: 'Close details', next: 'Next runs', noNext: 'No further run is planned.', schedule: 'Schedule', source: 'Defined in', prompt: 'Prompt', policy: 'Policy', policyDefault: 'as in the settings',
    model: 'Model', agent: 'Agent', variant: 'Variant', goal: 'Goal', goalOn: (budget: number | undefined): string => (budget === undefined ? 'driven on until reached' : `driven on until reached, ${tokens(budget)} tokens`), autoAccept: 'Permissions', autoAcceptOn: 'granted without asking',
    stats: 'Last 30 days', success: 'succeeded', runsCount: 'runs', cost: 'cost', tokens: 'tokens', expand: 'Show more', shrink: 'Show less',
    timeout: 'Time limit', blocked_timeout: 'Waits for an answer', catch_up: 'Missed slots', catch_up_window: 'Catch-up window', overlap: 'If still running', retries: 'Retries', retry_backoff: 'First wait', notify: 'Notify', run_on: 'Only on', only_in: 'Only in', budget: 'Runs a day', signal: 'Signal', variables: 'Variables', worktree: 'Own worktree',
    catchUp: { skip: 'are noted as missed', latest: 'the newest runs late' }, overlapWords: { skip: 'skip the slot', queue: 'queue it' }, notifyWords: { failure: 'on failure', always: 'always', never: 'never' },
    gone: 'This task is gone', goneHelp: 'It was deleted or moved. Its past runs stay in the history.', autoPaused: 'Paused after failures in a row', autoPausedHelp: 'It starts again when you resume it, after a good run by hand, or when its definition changes.',
  },
  runs: {
    title: 'Runs', search: 'Search runs', filter: 'Status', filters: { all: 'All', ok: 'Succeeded', failed: 'Failed', open: 'Open', not_run: 'Not run' }, list: 'Run list',
    none: 'No runs yet', noneHelp: 'What ran, was skipped or was missed appears here.', more: 'Load older runs', noMatch: 'No run matches',
    slot: 'Slot', trigger: 'Trigger', started: 'Started', took: 'Took', tokens: 'Tokens', cost: 'Cost', session: 'Session', steps: 'Steps', answer: 'What the agent said last', error: 'Error', persistError: 'Not written', reason: 'Because', because: (key: string): string => `because ${t.reason(key)}`,
    again: 'Run again', stop: 'Stop', attach: 'Copy attach command', attachCopied: 'The command that opens the session was copied', attempt: (n: number): string => `attempt ${n}`, slots: (count: number): string => plural(count, 'slot', 'slots'),
    tokensDetail: (input: string, output: string): string => `${input} in, ${output} out`, back: 'All runs', task: 'Task', noAnswer: 'The agent said nothing.', late: (span: string): string => `${span} late`,
  },
  needs: {
    title: 'Needs you', none: 'Nothing needs you', noneNever: 'Nothing is planned either.',
    once: 'Allow once', always: 'Always allow', deny: 'Deny', answer: 'Answer', answerPlaceholder: 'Your answer', answered: 'Answered', approve: 'Approve', approved: (name: string): string => `${name} is approved`, approveFirst: (name: string): string => `${name} runs once you have approved what it would do.`, stale: 'The file changed meanwhile: look at it again.',
    openRun: 'Open run', runAgain: 'Run again', openFile: 'Open file', resume: 'Resume', showDiff: 'Show what changed', hideDiff: 'Hide', firstTime: 'Never approved here: this is all of it.', alwaysHelp: 'Also for later runs of this session', waiting: (span: string): string => `waiting ${span}`, dismissIt: (text: string): string => `Dismiss: ${text}`, next: (name: string, at: number, when: string, now: number): string => `Next: ${name}, ${when} (${relative(at, now)}).`, added: 'added', removed: 'removed',
  },
  timeline: {
    title: 'Timeline', day: 'Day', week: 'Week', today: 'Today', previous: 'Earlier', next: 'Later', none: 'Nothing in this time', noneHelp: 'Neither a past run nor a coming one.', now: 'Now', paused: 'Paused', clock: 'Clock change', more: 'more to come', lane: (name: string): string => `Runs of ${name}`, comingMany: (count: number): string => plural(count, 'coming run', 'coming runs'), weekTitle: (from: number, to: number): string => `${dayMonth(from)} – ${dayMonth(to - HOUR)}`,
    slot: (at: number, now: number, change: ClockChange | undefined): string => `Coming ${dayAndClock(at, now)}${change ? `, ${clockChange.whole(change)}` : ''}`,
    run: (run: Run, at: number, now: number): string => {
      const parts = [(run.count ?? 1) > 1 ? `${status[run.status]} (${plural(run.count ?? 1, 'slot', 'slots')})` : status[run.status], dayAndClock(at, now)];
      if (run.durationMs !== undefined) parts.push(duration(run.durationMs));
      if (run.reason && !run.error) parts.push(t.reason(run.reason));
      return parts.join(', ') + (run.error ? `\n${run.error.slice(0, 160)}` : '');
    }, range: 'Range',
    legend: { ok: 'Succeeded', bad: 'Failed', open: 'Running', asks: 'Asking', skip: 'Skipped or missed', next: 'Coming' },
  },
  editor: {
    newTitle: 'New loop', title: 'Loop file', name: 'Name', nameHelp: 'Lower case and hyphens make a good file name.', scope: 'Where', scopeProject: 'In the project', scopeUser: 'For all projects', scopeProjectHelp: '.agents/loops in the project: goes along with the repository', scopeUserHelp: '~/.agents/loops: a task in every project', create: 'Create loop',
    save: 'Save', saved: 'Saved', savedArmed: (when: string): string => `Saved. Next run ${when}.`, savedOff: 'Saved. It is not enabled.', savedNever: 'Saved. The file is malformed: it is no task yet.', savedBad: 'Saved. The file is malformed: the last good definition stays armed.', unsaved: 'Unsaved', label: 'Loop file text', problems: 'Problems', noProblems: 'No problems', line: (line: number): string => `line ${line}`, fix: 'Fix',
    preview: 'Preview', noSchedule: 'No schedule can be read yet.', next: 'Next runs', classic: 'Worth knowing', model: 'Model', agent: 'Agent', exists: 'available', missing: 'not found', unknown: 'cannot be checked now', enabled: 'Enabled', notEnabled: 'Not enabled: it runs only by hand', zoneFromMachine: 'from the machine; a timezone line changes it',
    leaveTitle: 'Leave without saving?', leaveText: 'The changes to this file are lost.', leaveSave: 'Save and leave', leave: 'Leave', stay: 'Keep editing', conflictTitle: 'The file changed on disk', conflictText: 'Left: the file on disk. Right: your text. Nothing is lost until you choose.', conflictNarrow: 'Your text, and above each difference what the file on disk has there. Nothing is lost until you choose.', gone: 'The file was deleted or moved. Saving writes it again.', takeTheirs: 'Take the file on disk', keepMine: 'Save my text', theirs: 'On disk', notTheirs: 'Not on disk', takeChunk: 'Take over', mine: 'Yours', malformedNew: 'It can be saved; it is no task until it is fixed.', malformedHelp: 'It can be saved; the last good definition stays armed until it is fixed.', sharedBy: (count: number): string => `A task in ${plural(count, 'project', 'projects')}`, checking: 'Checking…', reload: 'Load it', run: 'Save and run', loading: 'Loading the editor', template: 'The file starts from a filled template.', changedUnder: 'The file changed on disk while you were editing. Saving shows both versions.',
  },
  form: {
    newTitle: 'New task', editTitle: (name: string): string => `Edit ${name}`, name: 'Name', kind: 'Runs', kinds: { daily: 'Daily', weekly: 'Weekly', once: 'Once', cron: 'Cron' }, times: 'At', addTime: 'Add time', removeTime: (time: string): string => `Remove ${time}`, weekdays: 'On', dayNames: ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'], dayShort: ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'], date: 'Date', time: 'Time', cron: 'Expression', cronHelp: 'minute hour day month weekday', zone: 'Time zone',
    model: 'Model', modelHelp: 'provider/model', agent: 'Agent', agentNone: 'The default agent', variant: 'Variant', variantNone: 'Default', prompt: 'Prompt', promptHelp: 'Begin with / for a slash command.', enabled: 'Enabled', goal: 'Drive on until the goal is reached', budget: 'Token budget', autoAccept: 'Grant permissions without asking', autoAcceptHelp: 'The agent can then run commands and change files unattended.', policy: 'Policy', policyHelp: 'Empty means as in the settings.', leaveText: 'The changes to this task are lost.',
    policyOpen: { runs_per_day: 'no limit', run_on: 'every machine', only_in: 'every project', variables: 'No', worktree: 'No' } as Partial<Record<string, string>>,
    policyHints: { signal: 'An address called at start, success and failure.', run_on: 'Host names, with commas between.', only_in: 'Projects by id, folder or its name.', variables: '{{project}}, {{last_result}}, {{last_success_at}} and {{scheduled_for}} in the prompt are filled in.', worktree: 'Each run gets a git worktree of its own.' } as Partial<Record<string, string>>,
    badUrl: 'An address that begins with http:// or https://.', advanced: 'More', create: 'Create task', save: 'Save task', created: (name: string): string => `${name} was created`, saved: (name: string): string => `${name} was saved`, next: 'Next runs', needName: 'Give it a name.', needTime: 'Add at least one time.', needDay: 'Choose at least one day.', needPrompt: 'Write what the agent is to do.', needModel: 'Choose a model, as provider/model.', badTime: 'A time such as 09:30.', badDuration: 'A duration such as 30s, 5m, 2h or 1d.', needDate: 'Choose a date.', needCron: 'Write a cron expression.', search: 'Type to search', noMatch: 'Nothing matches', useTyped: (text: string): string => `Use “${text}”`, project: 'Project', noBudget: 'no limit',
  },
  settings: {
    title: 'Settings', file: 'Kept in', saved: 'Saved', sections: { opencode: 'OpenCode', command: 'Agent commands', runs: 'Runs', lease: 'Sharing', server: 'Web page', notify: 'Notifications', approval: 'Approval', desktop: 'Desktop', signal: 'Signal', folders: 'Projects', doctor: 'Health', deleted: 'Deleted loops', log: 'OpenCode log', login: 'Start at login' },
    opencodeLog: 'What OpenCode wrote last', running: 'Running', whenNeeded: 'Started when a run needs it', unreachable: 'Not reachable', startedByUs: 'started by Loopkeeper', attached: 'attached', version: 'Version', address: 'Address', binary: 'Program', notFound: 'Not found', report: 'Copy report', reportCopied: 'The report was copied', refresh: 'Check again', deletedHelp: 'Their files are kept for 30 days.', bringBack: 'Bring back', restoreIt: (name: string): string => `Bring ${name} back`, allWell: 'All is well', noLog: 'The log is empty.', noCommands: 'None. Claude Code, Codex, Gemini or any other program can run prompts. A loop names it in its model line, and runs with your rights once you have approved it.', added: (label: string): string => `${label} was added`, removed: (label: string): string => `${label} was removed`, removeTitle: (label: string): string => `Remove ${label}?`, removeText: 'Loopkeeper stops running its tasks. No file in the folder is touched.', peer: 'added elsewhere', tasks: (count: number): string => plural(count, 'task', 'tasks'), on: 'On', off: 'Off', restart: 'A change holds from the next start of Loopkeeper on.', resetTo: (value: string): string => `Default: ${value}`, badNumber: 'A whole number, 0 or more.',
    keys: {
      'opencode.url': ['Address', 'Of a running OpenCode. Empty: one is started.'], 'opencode.binary': ['Program', 'Empty: found on the path.'], 'opencode.ready_timeout': ['Start limit', 'How long one start may take.'],
      'runs.global': ['At once', 'Runs at the same time, in all.'], 'runs.per_project': ['At once per project', ''], 'runs.timeout': ['Time limit', 'Of a run; it stands still while the run waits for you.'], 'runs.blocked_timeout': ['Waits for an answer', 'Then the run fails.'], 'runs.start_deadline': ['Latest start', 'A slot noticed later is missed.'], 'runs.retries': ['Retries', 'Further attempts after a failure.'], 'runs.retry_backoff': ['First wait', 'Before the first retry; it doubles.'], 'runs.catch_up': ['Missed slots', ''], 'runs.catch_up_window': ['Catch-up window', 'How old a slot may be.'], 'runs.overlap': ['If still running', ''], 'runs.pause_after_failures': ['Pause after failures', 'So many in a row pause a task; 0: never.'], 'runs.history': ['History', 'Runs kept of each task.'],
      'lease.heartbeat': ['Heartbeat', 'How often a run says that it lives.'], 'lease.duration': ['Lease', 'How long a silent run is left alone.'], 'server.host': ['Address', 'Of the web page.'], 'server.port': ['Port', ''], 'notify.failure': ['Notify', 'Failures, questions, missed slots and what could not be written.'], 'approval.mode': ['Ask for approval', ''], 'desktop.keep_awake': ['Keep awake', 'While a run goes on.'], 'signal.url': ['Address', "Called at a run's start, success and failure."],
    } as Record<string, [string, string]>,
    choices: { 'runs.catch_up': { skip: 'Note as missed', latest: 'Run the newest late' }, 'runs.overlap': { skip: 'Skip the slot', queue: 'Queue it' }, 'approval.mode': { risky: 'For risky loops', all: 'For every project loop', none: 'Never' } } as Record<string, Record<string, string>>,
    login: 'Start Loopkeeper when you log in',
    command: {
      add: 'Add command', edit: (name: string): string => `Edit ${name}`, remove: (name: string): string => `Remove ${name}`, known: 'Start from', name: 'Name', nameHelp: (name: string): string => `The first part of a loop’s model: ${name}/…`,
      args: 'Program and arguments, one a line', argsHelp: '{model} and {prompt} are filled in. No shell reads them: no quotes, no variables.', stdin: 'Prompt on standard input', stdinHelp: 'Otherwise {prompt} has to be one of the arguments.', byStdin: 'prompt on standard input', byArgument: 'prompt as an argument',
      badName: 'One word without a slash.', builtIn: (name: string): string => `${name} is built in: choose another name.`, taken: (name: string): string => `There is a command ${name} already.`, needProgram: 'Name the program in the first line.', needPrompt: 'Write {prompt} as one of the arguments, or give the prompt on standard input.',
      removeText: (name: string): string => `Loops with the model ${name}/… no longer find it, and fail until they name another.`,
    },
  },
  start: { title: 'Loops that run themselves', text: 'Loopkeeper runs AI agents on a schedule. Add a folder that holds .agents/loops, or any project that is to have one.', add: 'Add a project', path: 'Folder', pathPlaceholder: '/home/you/project', sample: 'Open the sample', sampleHelp: 'A folder with one loop of the built-in demo agent, which runs each minute: no network, no key.', choose: 'Choose folder…', addTitle: 'Add a project', addHelp: 'The absolute path of a folder on the machine that runs Loopkeeper.' },
  locked: { title: 'This page needs a link', text: 'Loopkeeper shows itself only to whoever started it. Run this where it runs, and the page opens:', command: 'loopkeeper open', retry: 'I have opened it' },
  keys: { title: 'Keyboard', down: 'Next row', up: 'Previous row', ends: 'First and last row', open: 'Open', toggle: 'Enable or disable', run: 'Run or stop', edit: 'Edit', new: 'New loop', search: 'Search', help: 'This help', close: 'Close', save: 'Save (editor)', messages: 'To the messages at the corner', go: 'Go to: tasks, needs you, timeline, runs, settings' },
};
