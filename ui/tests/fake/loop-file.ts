import type { CheckView, Diagnostic } from '../../src/api/types';
import { previewOf } from './slots';

/** The diagnostics of a loop file that a test meets, with their fixes; a real one has more. */
export function checkOf(text: string, now: number): CheckView {
  const diagnostics: Diagnostic[] = [];
  const lines = text.split('\n');
  const end = lines.indexOf('---', 1);
  const at = (severity: Diagnostic['severity'], code: string, line: number, column: number, endColumn: number, message: string, help?: string, fix?: Diagnostic['fix']): void => {
    diagnostics.push({ severity, code, line, column, endLine: line, endColumn, message, ...(help ? { help } : {}), ...(fix ? { fix } : {}) });
  };
  if (lines[0] !== '---' || end < 0) {
    at('error', 'no_frontmatter', 1, 1, 1, 'The file does not begin with a frontmatter between two lines of ---.', 'Write --- as the first line.');
    return { ok: false, definition: null, diagnostics };
  }
  const values = new Map<string, { value: string; line: number; column: number; raw: string }>();
  for (let n = 1; n < end; n += 1) {
    const match = /^([\w-]+):(\s*)(.*)$/.exec(lines[n] ?? '');
    if (!match) continue;
    values.set(match[1] ?? '', { value: (match[3] ?? '').replace(/^"(.*)"$/, '$1'), raw: match[3] ?? '', line: n + 1, column: (match[1]?.length ?? 0) + 2 + (match[2]?.length ?? 0) });
  }
  for (const key of ['name', 'schedule', 'model']) if (!values.get(key)?.value) at('error', `missing_${key}`, end + 1, 1, 4, `\`${key}\` is missing.`, `Add a line \`${key}: …\` above.`);
  const schedule = values.get('schedule');
  if (schedule && /^[*@]/.test(schedule.raw)) at('error', 'schedule_unquoted', schedule.line, schedule.column, schedule.column + schedule.raw.length, `\`${schedule.raw}\` is not quoted, and YAML reads a leading * as an alias.`, undefined, { title: 'Quote it', edits: [{ line: schedule.line, column: schedule.column, endLine: schedule.line, endColumn: schedule.column + schedule.raw.length, text: `"${schedule.raw}"` }] });
  const enabled = values.get('enabled');
  if (enabled && !['true', 'false'].includes(enabled.raw)) at('warning', 'enabled_not_boolean', enabled.line, enabled.column, enabled.column + enabled.raw.length, `\`${enabled.raw}\` does not enable the loop: only true does.`, undefined, { title: 'Write true', edits: [{ line: enabled.line, column: enabled.column, endLine: enabled.line, endColumn: enabled.column + enabled.raw.length, text: 'true' }] });
  const body = lines.slice(end + 1).join('\n').trim();
  if (body === '') at('error', 'no_prompt', end + 1, 1, 4, 'There is no prompt below the frontmatter.', 'Write what the agent is to do.');
  if (!values.has('timezone')) at('info', 'no_timezone', end + 1, 1, 4, 'The machine’s zone holds (UTC).', 'A line `timezone: Europe/Kyiv` changes it.');
  const ok = !diagnostics.some((each) => each.severity === 'error');
  const model = values.get('model')?.value ?? '';
  const zone = values.get('timezone')?.value;
  const cron = schedule?.value ?? '';
  return {
    ok, diagnostics,
    definition: ok ? { name: values.get('name')?.value ?? '', enabled: enabled?.raw === 'true', schedule: { kind: 'cron', cron, ...(zone ? { timezone: zone } : {}) }, execution: { prompt: body, providerID: model.split('/')[0] ?? '', modelID: model.split('/').slice(1).join('/'), ...(values.get('agent') ? { agent: values.get('agent')?.value ?? '' } : {}) } } : null,
    ...(ok ? { preview: previewOf({ kind: 'cron', cron, timezone: zone ?? 'UTC' }, now) } : {}),
  };
}
