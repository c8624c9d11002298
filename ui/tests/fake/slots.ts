/** When a task is due, and the words for it: as much arithmetic as the sample's schedules need. */
import type { Preview, Schedule, Task, TaskSummary, Upcoming } from '../../src/api/types';
import { DAY, HOUR, MINUTE, type Row } from './model';

/** How far a zone's wall time is ahead of the machine's, in ms. */
function zoneShift(zone: string, at: number): number {
  const wall = (timeZone?: string): number => Date.parse(`${new Date(at).toLocaleString('en-US', timeZone ? { timeZone } : {})} UTC`);
  return wall(zone) - wall();
}
export function slotsAfter(row: Row, after: number, count: number): Upcoming[] {
  const out: Upcoming[] = [];
  if (row.once !== undefined) return row.once > after ? [{ at: row.once }] : [];
  if (row.every !== undefined) {
    let at = Math.floor(after / row.every) * row.every + row.every;
    while (out.length < count) {
      out.push({ at });
      at += row.every;
    }
    return out;
  }
  const clock = row.clock ?? ['09:00'];
  for (let day = 0; out.length < count && day < 60; day += 1) {
    const date = new Date(after + day * DAY);
    if (row.days && !row.days.includes(date.getDay())) continue;
    for (const time of clock) {
      const [hour = 0, minute = 0] = time.split(':').map(Number);
      const at = new Date(date.getFullYear(), date.getMonth(), date.getDate(), hour, minute).getTime();
      if (at > after && out.length < count) out.push({ at });
    }
  }
  return out;
}
/** The last `count` slots before an instant. */
export function slotsBefore(row: Row, until: number, count: number): number[] {
  const from = until - (row.every !== undefined ? row.every * (count + 1) : (row.days ? 2.4 : 1.1) * DAY * (count + 2));
  return slotsAfter(row, from, 400).map((slot) => slot.at).filter((at) => at < until).slice(-count);
}
export function previewOf(schedule: Schedule, now: number, count = 5): Preview {
  const timezone = schedule.timezone ?? 'UTC';
  const row = { summary: {} as TaskSummary, task: {} as Task, policy: {} } as Row;
  const notes: string[] = [];
  let words = '';
  if (schedule.kind === 'cron') {
    const [minute = '', hour = '', , , weekday = ''] = schedule.cron.split(/\s+/);
    const step = /^\*\/(\d+)$/.exec(minute)?.[1];
    if (step) {
      row.every = Number(step) * MINUTE;
      words = `Every ${step} minutes`;
    } else if (hour === '*') {
      row.every = HOUR;
      words = `Every hour at minute ${minute}`;
    } else {
      row.clock = [`${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`];
      words = `${weekday === '1-5' ? 'Weekdays' : 'Every day'} at ${row.clock[0]}`;
      if (weekday === '1-5') row.days = [1, 2, 3, 4, 5];
    }
    if (schedule.cron.split(/\s+/).length === 6) notes.push('Six fields: the first is seconds. Classic cron has five.');
  } else if (schedule.kind === 'once') {
    const at = new Date(`${schedule.date}T${schedule.time}:00`).getTime();
    return { words: `Once, on ${schedule.date} at ${schedule.time}`, timezone, next: at > now ? [{ at }] : [], notes };
  } else {
    row.clock = schedule.times;
    words = `${schedule.kind === 'weekly' ? schedule.weekdays.map((day) => ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][day]).join(', ') : 'Every day'} at ${schedule.times.join(', ')}`;
    if (schedule.kind === 'weekly') row.days = schedule.weekdays;
  }
  // The machine keeps UTC; another zone's wall times lie beside it.
  const shift = timezone === 'UTC' ? 0 : zoneShift(timezone, now);
  return { words, timezone, next: slotsAfter(row, now + shift, count).map((slot) => ({ at: slot.at - shift })), notes };
}
