import type { Event } from '../api/types';

/** What the routes answered; `body` is parsed JSON, or text where it is none, or null where there is none. */
export interface Reply {
  status: number;
  body: unknown;
}

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Begins with `/api/`; the query is in it. */
  path: string;
  body?: unknown;
  /** The entity tag that a save names. */
  ifMatch?: string;
}

export interface EventListener {
  event(event: Event): void;
  /** The stream is up; `gap` says that events may have been missed since it was last up. */
  open(gap: boolean): void;
  /** The stream is down; the host tries again by itself. */
  lost(): void;
}

/**
 * The program that shows the page: the desktop, or a browser that talks to `loopkeeper serve`.
 * Deliberately absent: one method per operation, and anything that reads files.
 */
export interface Host {
  readonly kind: 'desktop' | 'browser';
  /** Throws only when nothing answered at all. */
  call(call: Call): Promise<Reply>;
  /** Returns what ends the listening. */
  listen(listener: EventListener): () => void;
  /** Asks for a folder with the system's own window; null when the person chose none or there is no such window. */
  pickFolder(): Promise<string | null>;
  readonly canPickFolder: boolean;
  /** Shows a file in the system's file manager, or opens it in the person's own editor. */
  reveal(path: string): Promise<void>;
  openFile(path: string): Promise<void>;
  readonly canOpenFiles: boolean;
  /** Starts at login; null where the host has no such thing. */
  startAtLogin(): Promise<boolean | null>;
  setStartAtLogin(on: boolean): Promise<void>;
  /** The version of the program; null where it cannot be learned. */
  version(): Promise<string | null>;
}
