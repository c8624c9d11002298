import { browserHost } from './browser';
import type { Host } from './host';

export type { Call, Host, Reply } from './host';

/** Finds out who shows the page; the desktop's half is loaded only there. */
export async function detectHost(): Promise<Host> {
  if ('__TAURI_INTERNALS__' in window) return (await import('./tauri')).tauriHost;
  return browserHost;
}
