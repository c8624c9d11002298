import { toast } from 'svelte-sonner';
import { t } from '../text';
import { asApiError } from './resource.svelte';

interface Action { label: string; run: () => void }
function options(action: Action | undefined, description: string | undefined) {
  return {
    ...(description === undefined ? {} : { description }),
    ...(action === undefined ? {} : { action: { label: action.label, onClick: action.run } }),
  };
}

/** Says what happened and what to do; every toast of the window comes from here. */
export const toasts = {
  /** `long`: the action undoes something, so there has to be time to think. */
  done(text: string, description?: string, action?: Action, long = false): void {
    // The same thing said again takes the place of the first; what can be undone stands for itself.
    toast.success(text, { ...options(action, description), ...(action === undefined ? { id: `done ${text}` } : {}), duration: long ? 10_000 : 4000 });
  },
  note(text: string, description?: string): void {
    toast.message(text, options(undefined, description));
  },
  /** Stays until it is dismissed: something was not written. The id keeps it from standing there twice. */
  persistError(name: string, description: string, id: string): void {
    toast.warning(t.tasks.persistError(name), { id, description, duration: Number.POSITIVE_INFINITY, dismissable: true });
  },
  failed(error: unknown): void {
    const known = asApiError(error);
    const copy = { label: t.common.copyDetails, run: () => void navigator.clipboard?.writeText(known.details) };
    toast.error(known.message, { ...options(copy, known.hint), duration: 12_000 });
  },
  clear(): void {
    toast.dismiss();
  },
};
