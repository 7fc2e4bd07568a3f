/** Keys for what the reader sets up and marks: tracks, cursor, measuring, bookmarks, colours. */
import type { Workbench } from "./workbench";

/** Key caps and what they do. */
export type KeyHelp = readonly (readonly [string, string])[];

export const MARK_HELP: KeyHelp = [
  ["R", "measure from the cursor: point elsewhere, R again; without a cursor: the selected slice"],
  [", / .", "move the cursor to the previous / next edge of the selected row, else of a step"],
  ["Shift + drag", "measure an area; edges of slices and steps catch it"],
  ["B", "bookmark the selected slice, else the range, else the cursor, with a note"],
  ["N / Shift + N", "next / previous bookmark"],
  ["Shift + B", "list of bookmarks: go to, edit, delete"],
];

export const TRACK_HELP: KeyHelp = [
  ["T", "filter tracks by name, show hidden ones again"],
  ["P / H", "pin / hide the track of the selected slice"],
  ["L", "to the names of the tracks: ↑ ↓ walk, ← → fold and unfold, P pin, H hide, Enter menu"],
  ["C", "next meaning of the colours"],
];

const KEYS: Readonly<Record<string, (bench: Workbench) => void>> = {
  r: (bench) => bench.measure(),
  ",": (bench) => bench.cursor.step(-1),
  ".": (bench) => bench.cursor.step(1),
  b: (bench) => bench.flags.add(),
  B: (bench) => bench.flags.toggleList(),
  n: (bench) => bench.flags.walk(1),
  N: (bench) => bench.flags.walk(-1),
  t: (bench) => bench.tracksPanel.toggle(),
  p: (bench) => bench.pinFocused(),
  h: (bench) => bench.hideFocused(),
  l: (bench) => bench.focusLabels(),
  c: (bench) => bench.legend.next(),
};

/** Whether the key was one of these. */
export function actOnBench(event: KeyboardEvent, bench: Workbench): boolean {
  // Capital letters by the Shift key alone: CapsLock must not change what a key does.
  const key = event.key.length === 1 ? (event.shiftKey ? event.key.toUpperCase() : event.key.toLowerCase()) : event.key;
  const action = KEYS[key];
  action?.(bench);
  return action !== undefined;
}
