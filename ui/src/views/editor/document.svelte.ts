import { conflictOf, type Conflict } from '../../api/client';
import type { CheckView, LoopFileView, Run } from '../../api/types';
import { asApiError, Resource } from '../../stores/resource.svelte';
import { session } from '../../stores/session.svelte';

/** How long after the last key the text is checked, in ms. */
const CHECK_AFTER = 180;

/** One loop file on its way from the disk to the editor and back. Neither version is ever dropped without a word. */
export class LoopDocument {
  readonly path: string;
  readonly file: Resource<LoopFileView>;
  /** The text in the editor; undefined until the file was read. */
  text = $state.raw<string | undefined>();
  /** What the editor's text came from. */
  base = $state.raw<{ text: string; etag: string } | undefined>();
  check = $state.raw<CheckView | undefined>();
  checking = $state(false);
  saving = $state(false);
  conflict = $state.raw<Conflict | null>(null);
  /** The file has another text now than the one that the editor's came from. */
  changedOnDisk = $state(false);
  /** Counts up whenever the text was set from outside of the editor. */
  revision = $state(0);
  dirty = $derived(this.text !== undefined && this.base !== undefined && this.text !== this.base.text);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turn = 0;

  constructor(path: string) {
    this.path = path;
    this.file = new Resource<LoopFileView>(() => session.api.loopFile(path));
  }

  /** Reads the file, and again whenever it may have changed. */
  start(): () => void {
    const read = (): void => void this.file.load().then(() => this.#arrived());
    read();
    const offEvent = session.on((event) => {
      if (event.kind === 'tasks_changed' || event.kind === 'file_error') read();
    });
    const offReload = session.onReload(read);
    return () => {
      clearTimeout(this.#timer);
      offEvent();
      offReload();
    };
  }
  #arrived(): void {
    const file = this.file.value;
    if (!file || this.saving || this.conflict) return;
    if (this.base === undefined) this.#take(file);
    else if (file.etag !== this.base.etag) {
      if (this.dirty && file.text !== this.text) this.changedOnDisk = true;
      else this.#take(file);
    }
  }
  #take(file: LoopFileView): void {
    this.base = { text: file.text, etag: file.etag };
    this.changedOnDisk = false;
    this.check = file.check;
    if (this.text !== file.text) {
      this.text = file.text;
      this.revision += 1;
    }
  }
  edit(text: string): void {
    this.text = text;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#check(), CHECK_AFTER);
  }
  async #check(): Promise<void> {
    const turn = (this.#turn += 1);
    const text = this.text;
    if (text === undefined) return;
    this.checking = true;
    try {
      const check = await session.api.check(text);
      // A slower answer for an older text must not undo a newer one.
      if (turn === this.#turn && text === this.text) this.check = check;
    } catch {
      // The last diagnostics stay; the bar at the top tells of a lost connection.
    } finally {
      if (turn === this.#turn) this.checking = false;
    }
  }
  /** Saves against the text that was read. Returns false when the file had changed: then `conflict` holds its text. */
  async save(): Promise<boolean> {
    const text = this.text;
    if (text === undefined || this.base === undefined || this.saving) return false;
    this.saving = true;
    try {
      const file = await session.api.saveLoopFile(this.path, text, this.base.etag);
      this.base = { text, etag: file.etag };
      this.changedOnDisk = false;
      if (this.conflict) this.revision += 1;
      this.conflict = null;
      this.file.value = file;
      if (this.text === text) this.check = file.check;
      return true;
    } catch (error) {
      const conflict = conflictOf(error);
      if (!conflict) throw asApiError(error);
      this.conflict = conflict;
      return false;
    } finally {
      this.saving = false;
    }
  }
  /** Ends the conflict with the file's text; the editor's undo still has the other. */
  takeTheirs(): void {
    const conflict = this.conflict;
    if (!conflict || conflict.text === null || conflict.etag === null) return;
    this.base = { text: conflict.text, etag: conflict.etag };
    this.text = conflict.text;
    this.conflict = null;
    this.changedOnDisk = false;
    this.revision += 1;
    void this.#check();
  }
  /** Ends the conflict with the person's text, as it is by now, saved against the file as it was shown. */
  async keep(): Promise<boolean> {
    const conflict = this.conflict;
    if (!conflict) return false;
    this.base = { text: conflict.text ?? '', etag: conflict.etag ?? '' };
    return this.save();
  }
  /** Leaves the conflict open: back to the editor, with what the person merged. */
  goOn(): void {
    this.conflict = null;
    this.revision += 1;
    this.#arrived();
  }
  revert(): void {
    if (!this.file.value) return;
    this.base = undefined;
    this.#take(this.file.value);
  }
}
export type { Run };
