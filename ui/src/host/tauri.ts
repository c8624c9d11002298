import { invoke } from '@tauri-apps/api/core';
import { listen as listenTo } from '@tauri-apps/api/event';
import type { Event } from '../api/types';
import type { Call, EventListener, Host, Reply } from './host';

/** One command carries every operation; the desktop answers from the same router in memory. */
async function call({ method, path, body, ifMatch }: Call): Promise<Reply> {
  return invoke<Reply>('api', { method, path, body: body ?? null, ifMatch: ifMatch ?? null });
}

function listen(listener: EventListener): () => void {
  let ended = false;
  let unlisten: (() => void) | null = null;
  listenTo<Event>('event', ({ payload }) => listener.event(payload)).then(
    (stop) => {
      if (ended) stop();
      else {
        unlisten = stop;
        listener.open(false);
      }
    },
    () => listener.lost(),
  );
  return () => {
    ended = true;
    unlisten?.();
  };
}

export const tauriHost: Host = {
  kind: 'desktop',
  call,
  listen,
  canPickFolder: true,
  pickFolder: () => invoke<string | null>('pick_folder'),
  canOpenFiles: true,
  reveal: (path) => invoke('reveal', { path }),
  openFile: (path) => invoke('open_file', { path }),
  startAtLogin: () => invoke<boolean | null>('start_at_login'),
  setStartAtLogin: (on) => invoke('set_start_at_login', { on }),
  version: () => invoke<string>('version'),
};
