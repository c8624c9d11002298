import type { Component } from 'svelte';

/** A line of a menu: a deed, a rule between groups, or a heading. */
export type MenuItem =
  | { label: string; icon?: Component<{ size?: number }>; hint?: string; danger?: boolean; disabled?: boolean; checked?: boolean; run: () => void }
  | 'line'
  | { head: string };
