import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestHost } from '../../tests/test-host';
import { catalog } from './catalog.svelte';
import { session } from './session.svelte';

const settled = (): Promise<unknown> => Promise.all([catalog.models.load(), catalog.agents.load()]);
describe('what can run a prompt', () => {
  let host: TestHost;
  let close: () => void;
  beforeEach(async () => {
    host = new TestHost({
      'GET /api/models': () => ({ providers: [{ id: 'anthropic', name: 'Anthropic', models: [{ id: 'sonnet', name: 'Sonnet', variants: ['high'] }] }] }),
      'GET /api/agents': () => ({ opencode: {}, agents: [{ name: 'build', description: '', mode: 'all' }], slashCommands: [], commands: [{ name: 'claude', stdin: true }] }),
    });
    close = session.open(host);
    catalog.need('/a');
    await settled();
  });
  afterEach(() => close());

  it('knows which models and agents exist, a command’s whatever they are called', () => {
    expect(catalog.hasModel('anthropic/sonnet')).toBe(true);
    expect(catalog.hasModel('anthropic/opus')).toBe(false);
    expect(catalog.hasModel('claude/anything')).toBe(true);
    expect(catalog.variants('anthropic/sonnet')).toEqual(['high']);
    expect([catalog.hasAgent('build'), catalog.hasAgent('plan')]).toEqual([true, false]);
  });
  it('says that it cannot tell while OpenCode does not answer', async () => {
    host.answers['GET /api/models'] = () => ({ providers: [{ id: 'demo', name: 'Demo', models: [{ id: 'echo', name: 'Echo', variants: [] }] }], problem: 'OpenCode cannot be reached' });
    host.answers['GET /api/agents'] = () => ({ opencode: {}, agents: [], slashCommands: [], commands: [], problem: 'OpenCode cannot be reached' });
    await settled();
    expect([catalog.hasModel('anthropic/sonnet'), catalog.hasAgent('build')]).toEqual([undefined, undefined]);
    expect([catalog.hasModel('demo/echo'), catalog.hasModel('demo/nonsense')], 'the demo needs no OpenCode').toEqual([true, false]);
  });
  it('asks anew in another folder, and shows nothing of the one before meanwhile', async () => {
    catalog.need('/b');
    expect(catalog.modelNames).toEqual([]);
    await settled();
    expect(host.calls.at(-1)?.path).toContain('directory=%2Fb');
    expect(catalog.modelNames).toEqual(['anthropic/sonnet']);
  });
});
