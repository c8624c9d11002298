import { createHash } from 'node:crypto';
import type { Policy, Task, TaskSummary } from '../../src/api/types';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export interface FakeOptions {
  /** The built page; without it only the routes answer. */
  dist?: string;
  /** How many further tasks there are beside the sample's. */
  many?: number;
  /** Nothing registered at all. */
  empty?: boolean;
  /** A project, and nothing in it. */
  bare?: boolean;
  /** Nothing that needs anybody. */
  calm?: boolean;
  /** Where its time begins; without one, on `TUESDAY`. */
  now?: number;
  /** A name as long as names may be, in a project with a long one. */
  long?: boolean;
}
/** A winter morning in the machine's zone, with enough behind and enough to come: what is shown is the same at every hour somebody runs the tests. */
export const TUESDAY = new Date(2026, 11, 1, 10, 18, 30).getTime();
/** A task, and when it is due: `every` in ms, or at `clock` in the machine's zone, on `days`; or at one instant, `once`. */
export interface Row { summary: TaskSummary; task: Task; policy: Policy; every?: number; clock?: string[]; days?: number[]; once?: number }

/** The same numbers for the same seed. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
export const etagOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);
