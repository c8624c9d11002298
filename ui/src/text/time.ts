/**
 * Times, durations and plurals: the one place where they become words.
 * All instants are wall time in ms since 1970; `zone` is an IANA name, undefined is the machine's.
 */
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const locale = 'en-GB';
const cache = new Map<string, Intl.DateTimeFormat>();
function formatter(options: Intl.DateTimeFormatOptions, zone?: string): Intl.DateTimeFormat {
  const key = JSON.stringify(options) + (zone ?? '');
  let found = cache.get(key);
  if (!found) {
    const all = { ...options, hourCycle: 'h23' as const };
    try {
      found = new Intl.DateTimeFormat(locale, zone ? { ...all, timeZone: zone } : all);
    } catch {
      // A zone that this browser does not know: the machine's is better than no time at all.
      found = new Intl.DateTimeFormat(locale, all);
    }
    cache.set(key, found);
  }
  return found;
}

/** Browsers still give these zones their former names; the engine and the files use today's. */
const renamed: Record<string, string> = {
  'Europe/Kiev': 'Europe/Kyiv', 'Asia/Calcutta': 'Asia/Kolkata', 'Asia/Katmandu': 'Asia/Kathmandu', 'Asia/Rangoon': 'Asia/Yangon', 'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe', 'America/Godthab': 'America/Nuuk', 'America/Buenos_Aires': 'America/Argentina/Buenos_Aires', 'America/Cordoba': 'America/Argentina/Cordoba',
  'America/Catamarca': 'America/Argentina/Catamarca', 'America/Jujuy': 'America/Argentina/Jujuy', 'America/Mendoza': 'America/Argentina/Mendoza', 'America/Indianapolis': 'America/Indiana/Indianapolis',
  'America/Louisville': 'America/Kentucky/Louisville', 'America/Coral_Harbour': 'America/Atikokan', 'Africa/Asmera': 'Africa/Asmara', 'Pacific/Enderbury': 'Pacific/Kanton', 'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk', 'Etc/UTC': 'UTC', 'Etc/GMT': 'UTC',
};
const today = (zone: string): string => renamed[zone] ?? zone;
export const machineZone = (): string => today(Intl.DateTimeFormat().resolvedOptions().timeZone);
let allZones: string[] | undefined;
/** Every zone that can be chosen, by today's name. */
export function zones(): string[] {
  allZones ??= [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone').map(today)])].sort();
  return allZones;
}

export function clock(at: number, zone?: string): string {
  return formatter({ hour: '2-digit', minute: '2-digit' }, zone).format(at);
}
export function clockSeconds(at: number, zone?: string): string {
  return formatter({ hour: '2-digit', minute: '2-digit', second: '2-digit' }, zone).format(at);
}
/** The calendar day as `2026-12-01`, for comparing. */
export function dayKey(at: number, zone?: string): string {
  const parts = formatter({ year: 'numeric', month: '2-digit', day: '2-digit' }, zone).formatToParts(at);
  const part = (type: string): string => parts.find((p) => p.type === type)?.value ?? '';
  return `${part('year')}-${part('month')}-${part('day')}`;
}
export function weekday(at: number, zone?: string): string {
  return formatter({ weekday: 'short' }, zone).format(at);
}
export function dayMonth(at: number, zone?: string): string {
  return formatter({ day: 'numeric', month: 'short' }, zone).format(at);
}
/** `Today`, `Tomorrow`, `Yesterday`, else `Tue 8 Dec`, with the year when it is another one. */
export function day(at: number, now: number, zone?: string): string {
  const key = dayKey(at, zone);
  if (key === dayKey(now, zone)) return 'Today';
  if (key === dayKey(now + DAY, zone)) return 'Tomorrow';
  if (key === dayKey(now - DAY, zone)) return 'Yesterday';
  const sameYear = key.slice(0, 4) === dayKey(now, zone).slice(0, 4);
  return `${weekday(at, zone)} ${dayMonth(at, zone)}${sameYear ? '' : ` ${key.slice(0, 4)}`}`;
}
export function dayAndClock(at: number, now: number, zone?: string): string {
  return `${day(at, now, zone)} ${clock(at, zone)}`;
}
/** The same inside a sentence: `tomorrow 09:00`; of today the time alone. */
export function inSentence(at: number, now: number, zone?: string): string {
  const text = day(at, now, zone);
  if (text === 'Today') return clock(at, zone);
  return `${text === 'Tomorrow' || text === 'Yesterday' ? text.toLowerCase() : text} ${clock(at, zone)}`;
}
/** Everything, for a tooltip. */
export function exact(at: number, zone?: string): string {
  const text = formatter({ weekday: 'long', day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' }, zone);
  return text.format(at);
}

const numbers = new Intl.NumberFormat('en-US');
/** `1,014`. */
export const number = (value: number): string => numbers.format(value);
export function plural(count: number, one: string, many: string): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** A span in the largest sensible unit: `45 s`, `42 min`, `3 h`, `5 d`. */
export function span(ms: number): string {
  const abs = Math.abs(ms);
  if (abs < MINUTE) return `${Math.max(0, Math.floor(abs / 1000))} s`;
  if (abs < HOUR) return `${Math.floor(abs / MINUTE)} min`;
  if (abs < 36 * HOUR) return `${Math.floor(abs / HOUR)} h`;
  if (abs < 60 * DAY) return `${Math.round(abs / DAY)} d`;
  return `${Math.floor(abs / (30 * DAY))} mo`;
}
/** `in 42 min`, `2 h ago`, `now`. */
export function relative(at: number, now: number): string {
  const diff = at - now;
  if (Math.abs(diff) < 5_000) return 'now';
  return diff > 0 ? `in ${span(diff)}` : `${span(diff)} ago`;
}
/** How long something took: `0.4 s`, `12 s`, `1m 12s`, `2h 05m`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${String(seconds % 60).padStart(2, '0')}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h ${String(minutes % 60).padStart(2, '0')}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** `Europe/Kyiv` → `Kyiv`. */
export function zoneName(zone: string): string {
  return zone.slice(zone.lastIndexOf('/') + 1).replaceAll('_', ' ');
}
/** Midnight of the day that holds `at`, plus some days, on the machine's calendar. */
export function startOfDay(at: number, addDays = 0): number {
  const date = new Date(at);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + addDays).getTime();
}
/** Monday, midnight. */
export function startOfWeek(at: number, addWeeks = 0): number {
  const date = new Date(at);
  return startOfDay(at, -((date.getDay() + 6) % 7) + 7 * addWeeks);
}
/** Eight in the morning of the next day: what "until tomorrow" means. */
export function tomorrowMorning(now: number): number {
  const date = new Date(now);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + 1, 8).getTime();
}

export function tokens(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 1_000_000) return `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}
export function cost(value: number): string {
  return `$${value.toFixed(value !== 0 && value < 0.01 ? 4 : 2)}`;
}
export function percent(part: number, whole: number): string {
  return whole === 0 ? '–' : `${Math.round((part / whole) * 100)}%`;
}
