import { ApiError } from '../api/client';

/**
 * One answer of the routes, kept until a newer one is there: what is shown never blinks while it is read again.
 * Readings asked for while one is under way come to one more, so that a burst of events costs two.
 */
export class Resource<T> {
  value = $state.raw<T | undefined>(undefined);
  error = $state.raw<ApiError | undefined>(undefined);
  /** True from the second reading that lasts over 200 ms on; no spinner for what is quicker. */
  slow = $state(false);
  #read: () => Promise<T>;
  #merge: (before: T | undefined, after: T) => T;
  #running: Promise<void> | null = null;
  #again = false;
  #turn = 0;

  /** `merge` puts an answer together with the one before, so that what stayed the same stays the same object. */
  constructor(read: () => Promise<T>, merge: (before: T | undefined, after: T) => T = (_before, after) => after) {
    this.#read = read;
    this.#merge = merge;
  }

  /** Reads again; resolves when an answer is there that was asked for after this call. */
  load(): Promise<void> {
    if (this.#running) {
      this.#again = true;
      return this.#running;
    }
    this.#running = this.#cycle().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Forgets the answer: what is asked for now is something else. */
  reset(): void {
    this.#turn += 1;
    this.value = undefined;
    this.error = undefined;
    if (this.#running) this.#again = true;
  }

  async #cycle(): Promise<void> {
    do {
      this.#again = false;
      const turn = this.#turn;
      const timer = setTimeout(() => (this.slow = true), 200);
      try {
        const value = await this.#read();
        if (turn === this.#turn) {
          this.value = this.#merge(this.value, value);
          this.error = undefined;
        }
      } catch (error) {
        if (turn === this.#turn) this.error = asApiError(error);
      } finally {
        clearTimeout(timer);
        this.slow = false;
      }
    } while (this.#again);
  }
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new ApiError(text, 0, 'unexpected', undefined, null, error instanceof Error ? (error.stack ?? text) : text);
}
