/** Names of ops and a link -> its selection: a second click on what is selected selects nothing. */

import type { Link } from "../host/link";

/** Selects ops, or nothing when exactly they are selected; no names change nothing. */
export function toggleSelection(link: Link, names: readonly string[]): void {
  if (names.length === 0) return;
  const wanted = new Set(names);
  const isChosen = wanted.size === link.selection.length && link.selection.every((name) => wanted.has(name));
  link.setSelection(isChosen ? [] : [...wanted]);
}
