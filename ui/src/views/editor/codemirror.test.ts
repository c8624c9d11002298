import { EditorState } from '@codemirror/state';
import { CompletionContext } from '@codemirror/autocomplete';
import { describe, expect, it, vi } from 'vitest';
import { complete, createEditor } from './codemirror';

const words = { models: () => ['demo/echo', 'demo/slow'], agents: () => ['plan'] };

describe('the editor', () => {
  it('gives every byte back: CRLF, mixed ends, byte order mark', () => {
    for (const text of ['a: 1\r\nb: 2\r\n', 'a\r\nb\nc\r', '\uFEFF---\nname: x\n---\n']) {
      const editor = createEditor(document.createElement('div'), text, words, { change: () => {}, save: () => {} });
      expect(editor.text(), JSON.stringify(text)).toBe(text);
      editor.destroy();
    }
  });
  it('applies a fix and tells of the change', () => {
    const change = vi.fn();
    const editor = createEditor(document.createElement('div'), '---\r\nschedule: */5\r\n', words, { change, save: () => {} });
    editor.apply({ severity: 'error', code: 'c', line: 2, column: 11, endLine: 2, endColumn: 14, message: 'm', fix: { title: 'Quote it', edits: [{ line: 2, column: 11, endLine: 2, endColumn: 14, text: '"*/5"' }] } });
    expect(change).toHaveBeenLastCalledWith('---\r\nschedule: "*/5"\r\n');
    editor.destroy();
  });
  it('sets a text from outside without telling of it as an edit', () => {
    const change = vi.fn();
    const editor = createEditor(document.createElement('div'), 'old', words, { change, save: () => {} });
    editor.setText('new\ntext');
    expect(editor.text()).toBe('new\ntext');
    expect(change).not.toHaveBeenCalled();
    editor.destroy();
  });
  it('shows diagnostics of a text that is older or shorter', () => {
    const editor = createEditor(document.createElement('div'), 'x', words, { change: () => {}, save: () => {} });
    expect(() => editor.show([{ severity: 'warning', code: 'c', line: 40, column: 3, endLine: 41, endColumn: 1, message: 'm' }])).not.toThrow();
    editor.destroy();
  });
});
describe('completion', () => {
  const at = (text: string) => {
    const pos = text.indexOf('|');
    const state = EditorState.create({ doc: text.replace('|', '') });
    return complete(words)(new CompletionContext(state, pos, true))?.options.map((option) => option.label);
  };
  it('offers keys at the start of a line of the frontmatter, and policy keys when indented', () => {
    expect(at('---\nsch|')).toContain('schedule');
    expect(at('---\npolicy:\n  ti|')).toContain('timeout');
  });
  it('offers models, agents and zones behind their keys', () => {
    expect(at('---\nmodel: de|')).toEqual(['demo/echo', 'demo/slow']);
    expect(at('---\nagent: |')).toEqual(['plan']);
    expect(at('---\ntimezone: Eur|')).toContain('Europe/Kyiv');
  });
  it('leaves the prompt alone', () => {
    expect(at('---\nname: x\n---\nmodel: |')).toBeUndefined();
  });
});
