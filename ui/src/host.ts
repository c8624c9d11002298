import { invoke, isTauri } from '@tauri-apps/api/core';

/** What the page asks of the program that shows it. It is the desktop's web view or a browser. */
export interface Host {
  /** The version of the program, or null where the page cannot learn it. */
  version(): Promise<string | null>;
}

/** The desktop's web view: asks through Tauri's commands. */
export const desktopHost: Host = { version: () => invoke<string>('version') };

/** A browser: has no program beside it to ask. */
export const browserHost: Host = { version: async () => null };

/** Tells which of the two shows this page. */
export function detectHost(): Host {
  return isTauri() ? desktopHost : browserHost;
}
