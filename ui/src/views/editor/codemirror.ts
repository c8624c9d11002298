import { autocompletion, completionKeymap, type Completion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyField, historyKeymap, indentWithTab } from '@codemirror/commands';
import { markdown } from '@codemirror/lang-markdown';
import { yamlFrontmatter } from '@codemirror/lang-yaml';
import { HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics, type Diagnostic as Lint } from '@codemirror/lint';
import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, type EditorSelection, type Extension, type Text } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Diagnostic } from '../../api/types';
import { t, time } from '../../text';
import { changesOf, lineSeparator, offsetOf } from './positions';

/** The page's policy lets in only styles with the nonce that whoever serves the page gave its style element. */
function nonce(): Extension {
  const value = document.querySelector<HTMLStyleElement>('style[nonce]')?.nonce;
  return value ? EditorView.cspNonce.of(value) : [];
}

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--bg)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.65', overscrollBehavior: 'contain' },
  '.cm-content': { padding: '12px 0 40vh', caretColor: 'var(--accent)' },
  '.cm-line': { padding: '0 20px 0 10px' },
  '.cm-gutters': { backgroundColor: 'var(--bg)', color: 'var(--ink-3)', border: 'none', paddingLeft: '6px' },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '30px', padding: '0 8px 0 4px' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--bg-active) 45%, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'transparent', color: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--accent)', borderLeftWidth: '2px' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { background: 'color-mix(in srgb, var(--accent) 26%, transparent) !important' },
  '.cm-selectionMatch': { backgroundColor: 'color-mix(in srgb, var(--accent) 16%, transparent)' },
  '.cm-tooltip': { border: 'none', borderRadius: '8px', backgroundColor: 'var(--bg-raised)', color: 'var(--ink)', boxShadow: 'var(--shadow-m), inset 0 0 0 1px var(--line)', overflow: 'hidden', maxWidth: '460px' },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', padding: '4px' },
  '.cm-tooltip-autocomplete > ul > li': { padding: '3px 8px !important', borderRadius: '5px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--bg-active) !important', color: 'var(--ink) !important' },
  '.cm-completionDetail': { color: 'var(--ink-3)', fontStyle: 'normal', marginLeft: '10px' },
  '.cm-diagnostic': { padding: '7px 12px', borderLeft: '3px solid var(--ink-3)', fontFamily: 'var(--font)', whiteSpace: 'pre-line' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad-bar)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn-bar)' },
  '.cm-diagnostic-info': { borderLeftColor: 'var(--busy-bar)' },
  '.cm-diagnosticAction': { backgroundColor: 'var(--accent)', color: 'var(--accent-ink)', borderRadius: '5px', padding: '2px 9px', marginLeft: '8px', fontFamily: 'var(--font)', fontSize: '12px', fontWeight: '500' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad-bar) 1.2px', textUnderlineOffset: '3px' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn-bar) 1.2px', textUnderlineOffset: '3px' },
  '.cm-lintRange-info': { backgroundImage: 'none', textDecoration: 'underline dotted var(--busy-bar) 1.5px', textUnderlineOffset: '3px' },
  '.cm-gutter-lint': { width: '14px' },
  '.cm-lint-marker': { width: '9px', height: '9px', content: 'none !important', borderRadius: '50%', marginTop: '6px' },
  '.cm-lint-marker-error': { backgroundColor: 'var(--bad-bar)' },
  '.cm-lint-marker-warning': { backgroundColor: 'var(--warn-bar)' },
  '.cm-lint-marker-info': { backgroundColor: 'var(--busy-bar)' },
  '.cm-panels': { backgroundColor: 'var(--bg-side)', color: 'var(--ink)', borderTop: '1px solid var(--line)' },
  '.cm-panel.cm-search': { padding: '8px 12px', fontFamily: 'var(--font)' },
  '.cm-textfield': { backgroundColor: 'var(--bg)', border: '1px solid var(--line-strong)', borderRadius: '5px', padding: '3px 7px' },
  '.cm-button': { backgroundImage: 'none', backgroundColor: 'var(--bg-raised)', border: '1px solid var(--line-strong)', borderRadius: '5px', padding: '3px 9px' },
  '.cm-changedLine': { backgroundColor: 'color-mix(in srgb, var(--warn-bar) 12%, transparent) !important' },
  '.cm-changedText': { background: 'color-mix(in srgb, var(--warn-bar) 30%, transparent) !important' },
  '.cm-changedLineGutter': { background: 'var(--warn-bar) !important' },
  '.cm-deletedLineGutter': { background: 'var(--busy-bar) !important' },
  // The file on disk, in both views of a conflict.
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'color-mix(in srgb, var(--busy-bar) 12%, transparent) !important' },
  '&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText': { background: 'color-mix(in srgb, var(--busy-bar) 30%, transparent) !important' },
  '&.cm-merge-a .cm-changedLineGutter': { background: 'var(--busy-bar) !important' },
  '.cm-deletedChunk': { padding: '0 10px 3px' },
  '.cm-deletedChunk .cm-chunkButtons': { position: 'static', display: 'flex', alignItems: 'center', justifyContent: 'space-between', padding: '4px 0', fontFamily: 'var(--font)', fontSize: '12px', fontWeight: '500', color: 'var(--busy)' },
  '.cm-deletedChunk .cm-chunkButtons button': { color: 'var(--ink)', margin: '0', cursor: 'default', borderRadius: '5px' },
  '.cm-chunkButtons:only-child .there, .cm-chunkButtons:not(:only-child) .nowhere': { display: 'none' },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.content], color: 'var(--ink)' },
  { tag: [tags.bool, tags.number, tags.null, tags.atom], color: 'var(--busy)' },
  { tag: tags.comment, color: 'var(--ink-3)', fontStyle: 'italic' },
  { tag: [tags.meta, tags.processingInstruction, tags.punctuation, tags.separator], color: 'var(--ink-3)' },
  { tag: tags.heading, color: 'var(--ink)', fontWeight: '600' },
  { tag: tags.strong, fontWeight: '600' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: [tags.link, tags.url], color: 'var(--busy)' },
  { tag: tags.monospace, color: 'var(--ok)' },
  { tag: tags.quote, color: 'var(--ink-2)' },
]);

const topKeys: Completion[] = [
  { label: 'name', detail: 'required' }, { label: 'schedule', detail: 'cron, quoted' }, { label: 'enabled', detail: 'true or false' }, { label: 'model', detail: 'provider/model' },
  { label: 'agent' }, { label: 'timezone', detail: 'IANA name' }, { label: 'policy' },
].map((key) => ({ ...key, type: 'property', apply: `${key.label}: ` }));
const policyKeys: Completion[] = ['timeout', 'blocked_timeout', 'catch_up', 'catch_up_window', 'overlap', 'retries', 'retry_backoff', 'notify', 'run_on', 'only_in', 'budget', 'signal', 'variables', 'worktree']
  .map((label) => ({ label, type: 'property', apply: `${label}: ` }));

export interface Words { models(): string[]; agents(): string[] }

/** Completes keys, models, agents and zones in the frontmatter; nothing in the prompt. */
export function complete(words: Words) {
  return (context: CompletionContext): CompletionResult | null => {
    const line = context.state.doc.lineAt(context.pos);
    if (line.number === 1) return null;
    for (let n = 2; n < line.number; n += 1) if (context.state.doc.line(n).text === '---') return null;
    const before = line.text.slice(0, context.pos - line.from);
    const key = /^(\s*)([\w-]*)$/.exec(before);
    if (key) {
      if (before === '' && !context.explicit) return null;
      return { from: context.pos - (key[2]?.length ?? 0), options: key[1] === '' ? topKeys : policyKeys };
    }
    const value = /^\s*(model|agent|timezone|enabled)\s*:\s*"?([^"\s]*)$/.exec(before);
    if (!value) return null;
    const lists: Record<string, () => string[]> = {
      model: words.models, agent: words.agents, enabled: () => ['true', 'false'],
      timezone: time.zones,
    };
    const options = (lists[value[1] ?? '']?.() ?? []).map((label) => ({ label, type: 'constant' }));
    return options.length === 0 ? null : { from: context.pos - (value[2]?.length ?? 0), options, validFor: /^[^\s"]*$/ };
  };
}

function base(separator: string): Extension[] {
  return [
    EditorState.lineSeparator.of(separator), nonce(), theme, syntaxHighlighting(colours), yamlFrontmatter({ content: markdown({ completeHTMLTags: false }) }),
    lineNumbers(), highlightSpecialChars(), drawSelection(), EditorView.lineWrapping, indentUnit.of('  '),
    EditorView.contentAttributes.of({ 'aria-label': t.editor.label, spellcheck: 'false', tabindex: '0' }),
  ];
}

/**
 * Chromium gives a letter typed over a selection the selection's looks as an inline style, which the page's policy forbids
 * and reports. So the letter is put in here before the browser does it.
 */
const typeOverSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== 'insertText' || event.data === null || event.isComposing || view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
    event.preventDefault();
    return true;
  },
});

export interface CodeEditor {
  text(): string;
  /** Replaces the whole text, keeping the cursor where it can stay. */
  setText(text: string): void;
  show(diagnostics: readonly Diagnostic[]): void;
  apply(diagnostic: Diagnostic): void;
  goTo(line: number, column: number): void;
  focus(): void;
  destroy(): void;
}

export function createEditor(parent: HTMLElement, text: string, words: Words, on: { change: (text: string) => void; save: () => void }): CodeEditor {
  const separator = lineSeparator(text);
  let quiet = false;
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        base(separator), history(), highlightActiveLine(), highlightSelectionMatches(), lintGutter(),
        autocompletion({ override: [complete(words)], icons: false }),
        keymap.of([{ key: 'Mod-s', run: () => { on.save(); return true; } }, ...completionKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
        typeOverSelection,
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !quiet) on.change(update.state.sliceDoc());
        }),
      ],
    }),
  });
  const plain = (): string => view.state.doc.sliceString(0, view.state.doc.length, '\n');
  const editor: CodeEditor = {
    text: () => view.state.sliceDoc(),
    setText(next) {
      const insert = next.split(separator).join('\n');
      quiet = true;
      const head = Math.min(view.state.selection.main.head, insert.length);
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: view.state.toText(next) } });
      view.dispatch({ selection: { anchor: Math.min(head, view.state.doc.length) } });
      quiet = false;
    },
    show(diagnostics) {
      const doc = plain();
      const lints = diagnostics.map((diagnostic): Lint => {
        let from = offsetOf(doc, diagnostic.line, diagnostic.column);
        let to = Math.max(from, offsetOf(doc, diagnostic.endLine, diagnostic.endColumn));
        if (to === from) {
          // Nothing to underline: take the character, or the one before the end of a line.
          if (to < doc.length && doc[to] !== '\n') to += 1;
          else if (from > 0 && doc[from - 1] !== '\n') from -= 1;
        }
        return {
          from, to, severity: diagnostic.severity, message: diagnostic.help ? `${diagnostic.message}\n${diagnostic.help}` : diagnostic.message,
          ...(diagnostic.fix ? { actions: [{ name: diagnostic.fix.title, apply: () => editor.apply(diagnostic) }] } : {}),
        };
      });
      view.dispatch(setDiagnostics(view.state, lints));
    },
    apply(diagnostic) {
      if (!diagnostic.fix) return;
      view.dispatch({ changes: changesOf(plain(), diagnostic.fix.edits).map((change) => ({ ...change, insert: view.state.toText(change.insert) })), userEvent: 'input.fix', scrollIntoView: true });
      view.focus();
    },
    goTo(line, column) {
      const at = offsetOf(plain(), line, column);
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
      view.focus();
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
  return editor;
}

export interface Conflict {
  /** One column or two; the person's text, its undo steps and the cursor come along. */
  show(narrow: boolean): void;
  destroy(): void;
}

/** What stands at a changed place where both texts share one column: whose lines these are, and the button that takes them. */
function chunkControl(type: 'reject' | 'accept', act: (event: MouseEvent) => void): HTMLElement {
  if (type === 'accept') {
    const label = document.createElement('span');
    label.className = 'cm-chunkName';
    for (const [name, text] of [['there', t.editor.theirs], ['nowhere', t.editor.notTheirs]] as const) {
      const part = label.appendChild(document.createElement('span'));
      part.className = name;
      part.textContent = text;
    }
    return label;
  }
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'btn small';
  button.textContent = t.editor.takeChunk;
  button.onclick = act;
  return button;
}

/** Between the two columns, beside each difference: takes over what the file has there. */
function arrow(): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'cm-takeOver';
  button.textContent = '→';
  button.setAttribute('aria-label', t.editor.takeChunk);
  button.dataset['tip'] = t.editor.takeChunk;
  // The view listens to the mouse only; a click without one comes from the keyboard.
  button.onclick = (event) => {
    if (event.detail === 0) button.dispatchEvent(new MouseEvent('mousedown', { bubbles: true }));
  };
  return button;
}

/**
 * The file on disk and the person's text, which can be edited, with their differences. Two columns: the file to the left,
 * each difference taken over by the arrow between. One column: the person's text, above each difference what the file has there.
 */
export function createConflict(parent: HTMLElement, theirs: string, mine: string, narrow: boolean, change: (text: string) => void): Conflict {
  const separator = lineSeparator(mine);
  const own = [
    base(separator), history(), keymap.of([...historyKeymap, ...defaultKeymap]), typeOverSelection, EditorView.contentAttributes.of({ 'aria-label': t.editor.mine }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) change(update.state.sliceDoc());
    }),
  ];
  const original = [base(lineSeparator(theirs)), EditorState.readOnly.of(true), EditorView.editable.of(false), EditorView.contentAttributes.of({ 'aria-label': t.editor.theirs, tabindex: '0' })];
  const build = (doc: string | Text, extensions: Extension, selection?: EditorSelection): { editor: EditorView; destroy: () => void } => {
    const config = { doc, ...(selection ? { selection } : {}) };
    if (narrow) {
      const lines = EditorState.create({ doc: theirs, extensions: original }).doc;
      const editor = new EditorView({ parent, state: EditorState.create({ ...config, extensions: [extensions, unifiedMergeView({ original: lines, mergeControls: chunkControl })] }) });
      return { editor, destroy: () => editor.destroy() };
    }
    const both = new MergeView({ parent, a: { doc: theirs, extensions: original }, b: { ...config, extensions }, revertControls: 'a-to-b', renderRevertControl: arrow });
    return { editor: both.b, destroy: () => both.destroy() };
  };
  let shown = build(mine, own);
  return {
    show(next) {
      if (next === narrow) return;
      narrow = next;
      const { state, hasFocus } = shown.editor;
      shown.destroy();
      shown = build(state.doc, [own, historyField.init(() => state.field(historyField))], state.selection);
      if (hasFocus) shown.editor.focus();
    },
    destroy: () => shown.destroy(),
  };
}
