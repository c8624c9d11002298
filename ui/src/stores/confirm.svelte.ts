/** One question at a time, asked from anywhere, answered in a dialog. */
export interface Question {
  title: string;
  text?: string;
  /** Shown as it is, in a fixed-width face: a path. */
  detail?: string;
  yes: string;
  /** A second way on, between yes and no. */
  other?: string;
  no?: string;
  danger?: boolean;
}
export type Reply = 'yes' | 'other' | 'no';

class Confirm {
  question = $state.raw<Question | null>(null);
  #answer: ((reply: Reply) => void) | null = null;

  ask(question: Question): Promise<Reply> {
    this.#answer?.('no');
    this.question = question;
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }
  reply(reply: Reply): void {
    const answer = this.#answer;
    this.#answer = null;
    this.question = null;
    answer?.(reply);
  }
}
export const confirm = new Confirm();
