/** The wall time that relative times are drawn from. It ticks once a second while the page is seen. */
class Clock {
  now = $state(Date.now());
  /** Changes every 15 s only: for texts in minutes, so that a list does little each second. */
  slow = $state(Date.now());
  #timer: ReturnType<typeof setInterval> | undefined;

  start(): void {
    this.stop();
    this.#timer = setInterval(() => {
      if (!document.hidden) this.set(Date.now());
    }, 1000);
    document.addEventListener('visibilitychange', this.#seen);
  }
  stop(): void {
    clearInterval(this.#timer);
    document.removeEventListener('visibilitychange', this.#seen);
  }
  set(now: number): void {
    this.now = now;
    if (Math.abs(now - this.slow) >= 15_000) this.slow = now;
  }
  #seen = (): void => {
    if (!document.hidden) {
      this.now = Date.now();
      this.slow = this.now;
    }
  };
}
export const clock = new Clock();
