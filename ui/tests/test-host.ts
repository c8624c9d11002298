import type { Event } from '../src/api/types';
import type { Call, EventListener, Host, Reply } from '../src/host/host';

type Answer = (call: Call) => unknown;
/** An answer with a status of its own. */
export class Status {
  constructor(readonly status: number, readonly body: unknown = null) {}
}

/** A host that answers from functions by `METHOD /path`, the query left out, and whose stream a test holds in its hand. */
export class TestHost implements Host {
  readonly kind = 'browser';
  readonly canPickFolder = false;
  readonly canOpenFiles = false;
  calls: Call[] = [];
  answers: Record<string, Answer>;
  /** Nothing answers at all. */
  dead = false;
  stream: EventListener | undefined;

  constructor(answers: Record<string, Answer> = {}) {
    this.answers = answers;
  }
  async call(call: Call): Promise<Reply> {
    this.calls.push(call);
    if (this.dead) throw new Error('nobody there');
    const answer = this.answers[`${call.method} ${call.path.split('?')[0] ?? ''}`];
    if (!answer) return { status: 404, body: { error: `no answer for ${call.path}`, code: 'not_found' } };
    const body = await answer(call);
    return body instanceof Status ? { status: body.status, body: body.body } : { status: 200, body };
  }
  listen(listener: EventListener): () => void {
    this.stream = listener;
    return () => (this.stream = undefined);
  }
  emit(kind: Event['kind'], over: Partial<Event> = {}): void {
    this.stream?.event({ id: 1, at: 0, kind, ...over });
  }
  asked(path: string): number {
    return this.calls.filter((call) => call.path.startsWith(path)).length;
  }
  pickFolder = async (): Promise<null> => null;
  reveal = async (): Promise<void> => {};
  openFile = async (): Promise<void> => {};
  startAtLogin = async (): Promise<null> => null;
  setStartAtLogin = async (): Promise<void> => {};
  version = async (): Promise<null> => null;
}
