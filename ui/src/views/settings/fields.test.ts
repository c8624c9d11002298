import { describe, expect, it } from 'vitest';
import type { Settings } from '../../api/types';
import { commandChange, commandDraft, commandErrors, commandOf, isDuration, knownCommands, problemOf, shareable } from './fields';

describe('a command agent', () => {
  it('is one argument a line, and comes back as it was', () => {
    const command = { argv: ['claude', '-p', 'with a blank', '{model}'], stdin: true };
    expect(commandOf(commandDraft('claude', command))).toEqual(command);
    expect(commandOf({ name: 'x', args: ' a \n\n b c ', stdin: false }).argv).toEqual(['a', 'b c']);
  });
  it('says at the field what is wrong', () => {
    expect(commandErrors({ name: 'my agent', args: '', stdin: true }, [])).toEqual({ name: expect.any(String), args: expect.any(String) });
    expect(commandErrors({ name: 'demo', args: 'x', stdin: true }, []).name).toContain('demo');
    expect(commandErrors({ name: 'claude', args: 'x', stdin: true }, ['claude']).name).toContain('claude');
    expect(commandErrors({ name: 'x', args: 'x\n-p', stdin: false }, []).args, 'the prompt has to reach it').toContain('{prompt}');
    expect(commandErrors({ name: 'x', args: 'x\n{prompt}', stdin: false }, [])).toEqual({});
  });
  it('takes the old name out when it is renamed', () => {
    const draft = { name: ' new ', args: 'x', stdin: true };
    expect(commandChange(draft, 'old')).toEqual({ command: { old: null, new: { argv: ['x'], stdin: true } } });
    expect(commandChange(draft, 'new')).toEqual({ command: { new: { argv: ['x'], stdin: true } } });
  });
  it('knows some that are right as they stand', () => {
    for (const { draft } of knownCommands) expect(commandErrors(draft, [])).toEqual({});
  });
});
it('shares settings without what could hold a key', () => {
  const settings = { opencode: { url: 'http://user:secret@host', binary: null, ready_timeout: '10s' }, signal: { url: 'https://ping/secret' }, command: { claude: { argv: ['claude', '--key', 'secret'], stdin: true } }, runs: { global: 4 } } as unknown as Settings;
  const text = JSON.stringify(shareable(settings));
  expect(text).not.toContain('secret');
  expect(text).toContain('"program":"claude"');
  expect(text).toContain('"global":4');
});
it('says what is wrong without the place in the file', () => {
  expect(problemOf('/home/you/my files/settings.toml:12: `runs.x` is not a setting; write y')).toBe('`runs.x` is not a setting; write y');
  expect(problemOf('Loopkeeper does not answer.')).toBe('Loopkeeper does not answer.');
});
it('reads durations as the settings write them', () => {
  expect(['30s', '5m', '2h', '1d', '1h 30m', '', 'soon', '5'].map(isDuration)).toEqual([true, true, true, true, true, false, false, false]);
});
