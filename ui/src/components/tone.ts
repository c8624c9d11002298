import type { RunStatus } from '../api/types';

export type Tone = 'ok' | 'bad' | 'warn' | 'busy' | 'mute';
/** The colour of a status, the same wherever it is drawn. */
export function tone(status: RunStatus): Tone {
  switch (status) {
    case 'succeeded': return 'ok';
    case 'failed': case 'timed_out': case 'lost': return 'bad';
    case 'blocked': case 'missed': return 'warn';
    case 'claimed': case 'queued': case 'retrying': case 'running': return 'busy';
    case 'cancelled': case 'skipped': case 'deduped': case 'superseded': return 'mute';
  }
}
export const isOpen = (status: RunStatus): boolean => tone(status) === 'busy' || status === 'blocked';
export const neverRan = (status: RunStatus): boolean => status === 'skipped' || status === 'missed' || status === 'deduped' || status === 'superseded';

/** The height of a bar between 0.2 and 1: logarithmic, a second to an hour. */
export function barHeight(durationMs: number | undefined): number {
  if (durationMs === undefined) return 0.22;
  const scaled = Math.log10(Math.max(1, durationMs / 1000)) / Math.log10(3600);
  return 0.35 + 0.65 * Math.min(1, scaled) ** 2;
}
