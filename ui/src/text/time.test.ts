import { describe, expect, it } from 'vitest';
import * as time from './time';
import { clock, cost, day, dayKey, duration, HOUR, DAY, MINUTE, percent, plural, relative, span, startOfDay, startOfWeek, tokens, zoneName, zones } from './time';

const noon = Date.UTC(2026, 11, 1, 12);

describe('spans and relative times', () => {
  it('names the largest sensible unit', () => {
    expect([span(45_000), span(42 * MINUTE), span(3 * HOUR + 59 * MINUTE), span(5 * DAY)]).toEqual(['45 s', '42 min', '3 h', '5 d']);
    expect(span(46 * HOUR), 'nearly two days are two days, as the row below says it').toBe('2 d');
  });
  it('tells past from coming, and a moment is now', () => {
    expect(relative(noon + 42 * MINUTE, noon)).toBe('in 42 min');
    expect(relative(noon - 2 * HOUR, noon)).toBe('2 h ago');
    expect(relative(noon + 3_000, noon)).toBe('now');
  });
  it('writes durations as people read them', () => {
    expect([duration(400), duration(12_000), duration(72_000), duration(2 * HOUR + 5 * MINUTE), duration(50 * HOUR)]).toEqual(['0.4 s', '12 s', '1m 12s', '2h 05m', '2d 2h']);
  });
});

describe('clock and calendar', () => {
  it('shows 24 hours in the zone that is asked for', () => {
    expect(clock(noon, 'Europe/Kyiv')).toBe('14:00');
    expect(clock(Date.UTC(2026, 11, 1, 0, 5), 'UTC'), 'midnight is 00, never 24').toBe('00:05');
  });
  it('names days relative to the same zone', () => {
    const lateEvening = Date.UTC(2026, 11, 1, 23);
    expect(day(lateEvening, noon, 'UTC')).toBe('Today');
    expect(day(lateEvening, noon, 'Europe/Kyiv'), 'in Kyiv it is past midnight already').toBe('Tomorrow');
    expect(day(Date.UTC(2027, 0, 4), noon, 'UTC'), 'another year is written').toBe('Mon 4 Jan 2027');
    expect(dayKey(noon, 'UTC')).toBe('2026-12-01');
  });
  it('fits into a sentence', () => {
    const { inSentence } = time;
    expect([inSentence(noon + HOUR, noon, 'UTC'), inSentence(noon + DAY, noon, 'UTC'), inSentence(noon + 4 * DAY, noon, 'UTC')]).toEqual(['13:00', 'tomorrow 12:00', 'Sat 5 Dec 12:00']);
  });
  it('survives a zone that nobody knows', () => {
    expect(() => clock(noon, 'Mars/Olympus')).not.toThrow();
  });
  it("offers zones by today's names, and UTC", () => {
    expect(zones(), 'browsers list Europe/Kiev, which the engine writes otherwise').toContain('Europe/Kyiv');
    expect(zones()).not.toContain('Europe/Kiev');
    expect(zones()).toContain('UTC');
  });
  it('begins weeks on Monday', () => {
    expect(new Date(startOfWeek(noon)).getDay()).toBe(1);
    expect(startOfWeek(startOfWeek(noon))).toBe(startOfWeek(noon));
    expect(startOfDay(noon, 1)).toBeGreaterThan(startOfDay(noon));
  });
});

describe('numbers', () => {
  it('counts', () => {
    expect([plural(1, 'task', 'tasks'), plural(1000, 'task', 'tasks')]).toEqual(['1 task', '1,000 tasks']);
    expect([tokens(999), tokens(1_500), tokens(42_000), tokens(3_200_000)]).toEqual(['999', '1.5k', '42k', '3.2M']);
    expect([cost(0), cost(0.0042), cost(1.5)]).toEqual(['$0.00', '$0.0042', '$1.50']);
    expect([percent(2, 3), percent(0, 0)]).toEqual(['67%', '–']);
    expect(zoneName('America/Argentina/Buenos_Aires')).toBe('Buenos Aires');
  });
});
