import type { Call, EventListener, Host, Reply } from './host';

/** How long the first and the longest wait before the stream is tried again are, in ms. */
const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;
/** The server says something at least this often (ms); a silent stream is a dead one. */
const SILENCE = 60_000;

async function call({ method, path, body, ifMatch }: Call): Promise<Reply> {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (ifMatch !== undefined) headers['if-match'] = ifMatch;
  const init: RequestInit = { method, headers, credentials: 'same-origin', cache: 'no-store' };
  if (body !== undefined) init.body = JSON.stringify(body);
  const response = await fetch(path, init);
  const text = await response.text();
  if (text === '') return { status: response.status, body: null };
  try {
    return { status: response.status, body: JSON.parse(text) };
  } catch {
    return { status: response.status, body: text };
  }
}

/** Listens to the server-sent events, and after a break tells whether a gap may be in them. */
function listen(listener: EventListener): () => void {
  let source: EventSource | null = null;
  let lastId = '';
  let wait = FIRST_WAIT;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let watchdog: ReturnType<typeof setTimeout> | undefined;
  let wasOpen = false;
  let ended = false;

  function heard(): void {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => broken(), SILENCE);
  }
  function broken(): void {
    clearTimeout(watchdog);
    source?.close();
    source = null;
    if (ended) return;
    listener.lost();
    timer = setTimeout(connect, wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
  function connect(): void {
    clearTimeout(timer);
    source = new EventSource(lastId !== '' ? `/api/events?lastEventId=${encodeURIComponent(lastId)}` : '/api/events');
    source.onopen = () => {
      wait = FIRST_WAIT;
      heard();
      listener.open(wasOpen);
      wasOpen = true;
    };
    source.onerror = broken;
    const receive = (message: MessageEvent<string>): void => {
      heard();
      try {
        const event = JSON.parse(message.data);
        if (typeof event?.kind !== 'string') return;
        if (message.lastEventId !== '') lastId = message.lastEventId;
        listener.event(event);
      } catch {
        // A heartbeat, or a newer program's event: nothing to act on.
      }
    };
    source.onmessage = receive;
    source.addEventListener('ping', heard);
    source.addEventListener('reload', (message) => receive(message as MessageEvent<string>));
  }
  // A machine that wakes, or a network that returns, need not wait for the next try.
  const retry = (): void => {
    if (source === null && !ended) connect();
  };
  window.addEventListener('online', retry);
  document.addEventListener('visibilitychange', retry);
  connect();
  return () => {
    ended = true;
    clearTimeout(timer);
    clearTimeout(watchdog);
    window.removeEventListener('online', retry);
    document.removeEventListener('visibilitychange', retry);
    source?.close();
  };
}

export const browserHost: Host = {
  kind: 'browser',
  call,
  listen,
  canPickFolder: false,
  pickFolder: async () => null,
  canOpenFiles: false,
  reveal: async () => {},
  openFile: async () => {},
  startAtLogin: async () => null,
  setStartAtLogin: async () => {},
  version: async () => null,
};
