/** Which settings the window shows, and how each is edited; what they mean is said in `text`. */
import type { CommandAgent, Settings } from '../../api/types';
import { t } from '../../text';

export type FieldKind = 'text' | 'duration' | 'number' | 'switch' | 'choice';
export interface Field { key: string; kind: FieldKind; default: string | number | boolean; choices?: string[] }
export type SectionName = Exclude<keyof Settings, 'command'>;
export interface Section {
  name: SectionName;
  fields: Field[];
  /** A change is taken up only when the program is started anew. */
  restart?: boolean;
}

export const sections: Section[] = [
  { name: 'opencode', fields: [{ key: 'url', kind: 'text', default: '' }, { key: 'binary', kind: 'text', default: '' }, { key: 'ready_timeout', kind: 'duration', default: '10s' }] },
  {
    name: 'runs',
    fields: [
      { key: 'global', kind: 'number', default: 4 }, { key: 'per_project', kind: 'number', default: 2 }, { key: 'timeout', kind: 'duration', default: '30m' },
      { key: 'blocked_timeout', kind: 'duration', default: '12h' }, { key: 'start_deadline', kind: 'duration', default: '5m' }, { key: 'overlap', kind: 'choice', default: 'skip', choices: ['skip', 'queue'] },
      { key: 'catch_up', kind: 'choice', default: 'skip', choices: ['skip', 'latest'] }, { key: 'catch_up_window', kind: 'duration', default: '1d' }, { key: 'retries', kind: 'number', default: 0 },
      { key: 'retry_backoff', kind: 'duration', default: '1m' }, { key: 'pause_after_failures', kind: 'number', default: 5 }, { key: 'history', kind: 'number', default: 1000 },
    ],
  },
  { name: 'notify', fields: [{ key: 'failure', kind: 'switch', default: true }] },
  { name: 'approval', fields: [{ key: 'mode', kind: 'choice', default: 'risky', choices: ['risky', 'all', 'none'] }] },
  { name: 'signal', fields: [{ key: 'url', kind: 'text', default: '' }] },
  { name: 'desktop', fields: [{ key: 'keep_awake', kind: 'switch', default: false }] },
  { name: 'server', fields: [{ key: 'host', kind: 'text', default: '127.0.0.1' }, { key: 'port', kind: 'number', default: 4117 }], restart: true },
  { name: 'lease', fields: [{ key: 'heartbeat', kind: 'duration', default: '2m' }, { key: 'duration', kind: 'duration', default: '10m' }] },
];

export const valueOf = (settings: Settings, section: SectionName, key: string): unknown => (settings[section] as Record<string, unknown>)[key];

/** The settings without what could hold a key: addresses, and the arguments of commands. */
export function shareable(settings: Settings): Record<string, unknown> {
  const said = (url: string | null): string => (url ? '(set)' : '');
  return {
    ...settings, opencode: { ...settings.opencode, url: said(settings.opencode.url) }, signal: { url: said(settings.signal.url) },
    command: Object.fromEntries(Object.entries(settings.command).map(([name, command]) => [name, { program: command.argv[0], stdin: command.stdin }])),
  };
}

/** What the engine says of a change, without the place in the file: it stands at the field. */
export const problemOf = (message: string): string => message.replace(/^\S.*?\.toml(:\d+)*: /, '');

/** `30s 5m 2h 1d`, also `1h 30m`. */
export const isDuration = (text: string): boolean => /^(\d+\s*(ms|s|sec|m|min|h|hr|d|day|days|w)\s*)+$/.test(text.trim());

/** A command agent as its form holds it: one argument a line, since a shell's quotes mean nothing here. */
export interface CommandDraft { name: string; args: string; stdin: boolean }
export const commandDraft = (name: string, command: CommandAgent): CommandDraft => ({ name, args: command.argv.join('\n'), stdin: command.stdin });
export const commandOf = (draft: CommandDraft): CommandAgent => ({ argv: draft.args.split('\n').map((line) => line.trim()).filter((line) => line !== ''), stdin: draft.stdin });
/** Programs that many people have, as they are called. */
export const knownCommands: { title: string; draft: CommandDraft }[] = [
  { title: 'Claude Code', draft: { name: 'claude', args: 'claude\n-p\n--output-format\nstream-json\n--verbose\n--model\n{model}', stdin: true } },
  { title: 'Codex', draft: { name: 'codex', args: 'codex\nexec\n--json\n--model\n{model}\n-', stdin: true } },
  { title: 'Gemini', draft: { name: 'gemini', args: 'gemini\n--output-format\njson\n--model\n{model}', stdin: true } },
];
/** What is wrong with a draft, at its field; the engine has the last word. */
export function commandErrors(draft: CommandDraft, taken: readonly string[]): { name?: string; args?: string } {
  const errors: { name?: string; args?: string } = {};
  const name = draft.name.trim();
  const { argv } = commandOf(draft);
  if (name === '' || /[\s/]/.test(name)) errors.name = t.settings.command.badName;
  else if (name === 'demo' || name === 'opencode') errors.name = t.settings.command.builtIn(name);
  else if (taken.includes(name)) errors.name = t.settings.command.taken(name);
  if (argv.length === 0) errors.args = t.settings.command.needProgram;
  else if (!draft.stdin && !argv.some((part) => part.includes('{prompt}'))) errors.args = t.settings.command.needPrompt;
  return errors;
}
/** The change of the settings that puts a command in, in place of the one that was edited. */
export function commandChange(draft: CommandDraft, before: string | undefined): { command: Record<string, CommandAgent | null> } {
  const name = draft.name.trim();
  return { command: { ...(before !== undefined && before !== name ? { [before]: null } : {}), [name]: commandOf(draft) } };
}
