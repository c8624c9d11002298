import type { PauseView, Run } from '../../api/types';
import { DAY, HOUR, startOfDay, startOfWeek } from '../../text/time';
import { isOpen, neverRan } from '../../components/tone';

export type Range = 'day' | 'week';
export interface Span { from: number; to: number }

/** The day or week that holds an instant, on the machine's calendar: a day of a clock change has 23 or 25 hours. */
export function spanOf(range: Range, at: number): Span {
  return range === 'day' ? { from: startOfDay(at), to: startOfDay(at, 1) } : { from: startOfWeek(at), to: startOfWeek(at, 1) };
}
export function shift(range: Range, at: number, by: number): number {
  // Noon, so that no clock change leads into another day.
  return (range === 'day' ? startOfDay(at, by) : startOfDay(at, 7 * by)) + 12 * HOUR;
}
/** Where an instant lies, in percent of the span. */
export const x = (at: number, span: Span): number => ((at - span.from) / (span.to - span.from)) * 100;

export interface Tick { at: number; x: number; major: boolean; label: 'hour' | 'day' | 'none' }
export function ticks(range: Range, span: Span): Tick[] {
  const out: Tick[] = [];
  if (range === 'day') {
    // Wall hours, so that a skipped or repeated hour shows.
    for (let at = span.from; at < span.to; at += HOUR) {
      const hour = new Date(at).getHours();
      out.push({ at, x: x(at, span), major: hour % 3 === 0, label: hour % 3 === 0 ? 'hour' : 'none' });
    }
  } else {
    for (let day = 0; day < 7; day += 1) {
      const at = startOfDay(span.from, day);
      out.push({ at, x: x(at, span), major: true, label: 'day' });
    }
  }
  return out;
}
/** The instant inside the span at which the machine's clock changes, if there is one. */
export function clockChangeIn(span: Span): number | undefined {
  const offset = (at: number): number => new Date(at).getTimezoneOffset();
  if (offset(span.from) === offset(span.to)) return undefined;
  let low = span.from;
  let high = span.to;
  while (high - low > 60_000) {
    const middle = (low + high) / 2;
    if (offset(middle) === offset(span.from)) low = middle;
    else high = middle;
  }
  return Math.round(high / 60_000) * 60_000;
}
export interface Mark { run: Run; x: number; width: number; point: boolean }
/** A run as a bar from start to end, a slot that never ran as a point; undefined when it lies outside. */
export function markOf(run: Run, span: Span, now: number): Mark | undefined {
  const from = run.startedAt ?? run.scheduledFor;
  if (from === undefined) return undefined;
  const point = neverRan(run.status);
  const to = point ? from : isOpen(run.status) ? Math.max(now, from) : (run.finishedAt ?? from + (run.durationMs ?? 0));
  if (to < span.from || from > span.to) return undefined;
  const left = Math.max(0, x(from, span));
  return { run, x: left, width: Math.max(0, Math.min(100, x(to, span)) - left), point };
}
export function pauseBox(pause: PauseView, span: Span): { x: number; width: number } | undefined {
  const to = pause.until ?? span.to;
  if (to <= span.from || pause.since >= span.to) return undefined;
  const left = Math.max(0, x(pause.since, span));
  return { x: left, width: Math.min(100, x(to, span)) - left };
}
export { DAY };
