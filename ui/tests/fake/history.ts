import type { Run, RunStatus } from '../../src/api/types';
import { HOUR, MINUTE, random, type Row } from './model';
import { slotsBefore } from './slots';

export type PastRun = Partial<Run> & { status: RunStatus };

/** What became of a task's last slots: a letter each, the newest last. The same task has the same past every time. */
export function pastOf(row: Row, pattern: string, now: number): PastRun[] {
  const dice = random([...row.summary.name].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) >>> 0);
  if (pattern === '') return [];
  const slots = slotsBefore(row, now - MINUTE, pattern.length);
  const usual = 15_000 + dice() * 400_000;
  return slots.map((at, index) => {
    const letter = pattern[pattern.length - slots.length + index] ?? 's';
    const status = ({ s: 'succeeded', f: 'failed', t: 'timed_out', m: 'missed', k: 'skipped', d: 'deduped', c: 'cancelled', l: 'lost' } as Record<string, RunStatus>)[letter] ?? 'succeeded';
    const never = status === 'missed' || status === 'skipped' || status === 'deduped';
    const took = status === 'timed_out' ? 30 * MINUTE : Math.round(usual * (0.5 + dice()));
    return {
      status, scheduledFor: at,
      ...(never ? { reason: status === 'missed' ? 'asleep' : status === 'skipped' ? 'already_running' : 'claim_failed', ...(status === 'missed' ? { count: 3, firstFor: at - 2 * HOUR } : {}) } : {
        startedAt: at + Math.round(dice() * 900), finishedAt: at + took, durationMs: took, sessionId: `ses_${(at % 1e9).toString(36)}${index}`,
        tokens: { input: Math.round(3000 + dice() * 20000), output: Math.round(400 + dice() * 3000), reasoning: 0, cacheRead: Math.round(dice() * 40000), cacheWrite: 0 }, cost: Math.round(dice() * 2200) / 10000,
      }),
      ...(status === 'failed' ? { error: 'The model answered 429: rate limit reached for the organisation. Four attempts in 65 s.' } : {}),
      ...(status === 'timed_out' ? { error: 'The time limit of 30m was reached; the session was aborted.', reason: 'timeout' } : {}),
      ...(status === 'succeeded' ? { answer: 'Seven commits since yesterday, three of them in the scheduler.\n\n- claim: the marker is written before the session exists (risky, read twice)\n- timers: a wake-up after sleep no longer fires a slot twice\n- docs: the protocol names the lease\n\nNothing touches the database schema.' } : {}),
    };
  });
}
