/** Which settings the window shows, and how each is edited; what they mean is said in `text`. */
export type FieldKind = 'text' | 'duration' | 'number' | 'switch' | 'choice';
export interface Field { key: string; kind: FieldKind; default: string | number | boolean; choices?: string[] }
export interface Section { name: 'opencode' | 'runs' | 'lease' | 'server' | 'notify' | 'approval' | 'desktop' | 'signal'; fields: Field[] }

export const sections: Section[] = [
  { name: 'opencode', fields: [{ key: 'url', kind: 'text', default: '' }, { key: 'binary', kind: 'text', default: '' }, { key: 'ready_timeout', kind: 'duration', default: '10s' }] },
  {
    name: 'runs',
    fields: [
      { key: 'global', kind: 'number', default: 4 }, { key: 'per_project', kind: 'number', default: 2 }, { key: 'timeout', kind: 'duration', default: '30m' },
      { key: 'blocked_timeout', kind: 'duration', default: '12h' }, { key: 'start_deadline', kind: 'duration', default: '5m' }, { key: 'overlap', kind: 'choice', default: 'skip', choices: ['skip', 'queue'] },
      { key: 'catch_up', kind: 'choice', default: 'skip', choices: ['skip', 'latest'] }, { key: 'catch_up_window', kind: 'duration', default: '24h' }, { key: 'retries', kind: 'number', default: 0 },
      { key: 'retry_backoff', kind: 'duration', default: '1m' }, { key: 'pause_after_failures', kind: 'number', default: 5 }, { key: 'history', kind: 'number', default: 1000 },
    ],
  },
  { name: 'notify', fields: [{ key: 'failure', kind: 'switch', default: true }] },
  { name: 'approval', fields: [{ key: 'mode', kind: 'choice', default: 'risky', choices: ['risky', 'all', 'none'] }] },
  { name: 'signal', fields: [{ key: 'url', kind: 'text', default: '' }] },
  { name: 'desktop', fields: [{ key: 'keep_awake', kind: 'switch', default: false }] },
  { name: 'server', fields: [{ key: 'host', kind: 'text', default: '127.0.0.1' }, { key: 'port', kind: 'number', default: 4117 }] },
  { name: 'lease', fields: [{ key: 'heartbeat', kind: 'duration', default: '2m' }, { key: 'duration', kind: 'duration', default: '10m' }] },
];

/** `30s 5m 2h 1d`, also `1h 30m`. */
export const isDuration = (text: string): boolean => /^(\d+\s*(ms|s|sec|m|min|h|hr|d|day|days|w)\s*)+$/.test(text.trim());
