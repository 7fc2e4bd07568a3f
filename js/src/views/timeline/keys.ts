/** The keys of the timeline and their list; they act only while the timeline has the focus. */

import { fitRange, panBy, type Span, zoomAt } from "../../data/columns";
import { button, h, hasModifier, onKeys } from "../../ui/dom";
import { alongFlow, alongRow, toEnclosing, toFirstInside, toSameOp } from "./details";
import type { SearchBox } from "./search";
import type { TimelineState } from "./state";
import type { Panes, Workbench } from "./workbench";

interface KeyActions {
  readonly bench: Workbench;
  readonly search: SearchBox;
  readonly panes: Panes;
  readonly toggleHelp: () => void;
  /** Closes, clears or leaves, one thing at a time. */
  readonly escape: () => void;
  readonly scrollBy: (px: number) => void;
  /** Time at the pointer, null when it is not over the plot. */
  readonly pointerTime: () => number | null;
}

const ZOOM_STEP = 1.5;
const PAN_RATIO = 0.15;
const SCROLL_PX = 45;

/** Key caps and what they do, by what the reader wants, in the order of the help. */
const KEY_HELP: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    "Look around",
    [
      ["W / S", "zoom in / out at the pointer"],
      ["A / D, ← / →", "pan"],
      ["↑ / ↓", "scroll the tracks"],
      ["F", "fit the selected slice, else the range, else the whole capture"],
      ["0", "fit the whole capture"],
      ["Ctrl + wheel", "zoom; on a Mac also Cmd"],
      ["wheel", "scroll the tracks after a click here, the page before one and after Esc"],
      ["Shift + wheel", "pan"],
      ["drag", "pan; on the ruler: select a range; on the steps: select steps; above: move the window"],
    ],
  ],
  [
    "Find and follow",
    [
      ["/", "find slices; Enter next, Shift + Enter previous match, here as well"],
      ["[ / ]", "previous / next slice of the same op"],
      ["Shift + ← / →", "previous / next slice of the row"],
      ["Shift + ↑ / ↓", "to the enclosing slice / the first slice inside"],
      ["< / >", "along the arrows: to what started the slice / to what it started"],
    ],
  ],
  [
    "Select and mark",
    [
      ["M", "the selected slice becomes the time range, which all views are about"],
      ["R", "measure from the cursor: point elsewhere, R again; without a cursor: the selected slice"],
      [", / .", "move the cursor to the previous / next edge of the selected row, else of a step"],
      ["Shift + drag", "measure an area; edges of slices and steps catch it"],
      ["B", "bookmark the selected slice, else the range, else the cursor, with a note"],
      ["N / Shift + N", "next / previous bookmark"],
      ["Shift + B", "list of bookmarks: go to, edit, delete"],
    ],
  ],
  [
    "Tracks",
    [
      ["T", "filter tracks by name, show hidden ones again"],
      ["P / H", "pin / hide the track of the selected slice"],
      ["L", "to the names of the tracks: ↑ ↓ walk, ← → fold and unfold, P pin, H hide, Enter menu"],
      ["C", "next meaning of the colours"],
    ],
  ],
  [
    "Views",
    [
      ["G", "tracks, flame or table of slices"],
      ["Esc", "close this, clear the selection, clear the range, leave"],
    ],
  ],
];

export class Help {
  readonly element = h("div.tl-help", { role: "dialog", "aria-label": "Keys of the timeline" });
  readonly #close: HTMLButtonElement;

  constructor(
    readonly onClose: () => void,
    signal: AbortSignal,
  ) {
    const groups = KEY_HELP.flatMap(([title, rows]) => [
      h("b", title),
      ...rows.map(([keys, what]) => h("div", h("span", h("kbd", keys)), h("span", what))),
    ]);
    this.#close = button("Close", () => this.toggle(), signal);
    const title = h("b", "Keys, while the timeline has the focus");
    const head = h("div.tl-pophead", title, this.#close);
    this.element.append(head, h("div.tl-keys", ...groups));
    this.element.hidden = true;
  }

  get isOpen() {
    return !this.element.hidden;
  }

  toggle() {
    this.element.hidden = !this.element.hidden;
    if (this.isOpen) this.#close.focus({ preventScroll: true });
    else this.onClose();
  }
}

export function listenToKeys(section: HTMLElement, state: TimelineState, actions: KeyActions, signal: AbortSignal) {
  onKeys(section, signal, (event) => {
    if (hasModifier(event) || isOwnKeyOf(event.target, event.key)) return false;
    return actOnBench(event, actions.bench) || act(event, state, actions);
  });
}

/** Keys that the focused part needs for itself: typing, pressing a button, scrolling the details. */
function isOwnKeyOf(target: EventTarget | null, key: string): boolean {
  if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return true;
  if (target instanceof HTMLButtonElement) return key === "Enter" || key === " ";
  return target instanceof HTMLElement && target.closest("aside") !== null && /^(Arrow|Page|Home|End)/.test(key);
}

function act(event: KeyboardEvent, state: TimelineState, actions: KeyActions): boolean {
  if (event.shiftKey && event.key.startsWith("Arrow")) return walk(state, event.key);
  if (event.key === "Enter") return actions.search.go(event.shiftKey ? -1 : 1);
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const action = KEYS[key];
  if (!action) return false;
  action(state, actions);
  return true;
}

const KEYS: Readonly<Record<string, (state: TimelineState, actions: KeyActions) => void>> = {
  w: (state, actions) => zoom(state, actions, 1 / ZOOM_STEP),
  s: (state, actions) => zoom(state, actions, ZOOM_STEP),
  a: (state) => pan(state, -PAN_RATIO),
  d: (state) => pan(state, PAN_RATIO),
  ArrowLeft: (state) => pan(state, -PAN_RATIO),
  ArrowRight: (state) => pan(state, PAN_RATIO),
  ArrowUp: (_, actions) => actions.scrollBy(-SCROLL_PX),
  ArrowDown: (_, actions) => actions.scrollBy(SCROLL_PX),
  f: (state) => state.setView(fitRange(focusSpan(state) ?? state.range ?? state.bounds, state.bounds)),
  "0": (state) => state.setView(state.bounds),
  m: (state) => {
    const span = focusSpan(state);
    if (span) state.setRange(span);
  },
  "[": (state) => toSameOp(state, -1),
  "]": (state) => toSameOp(state, 1),
  "<": (state) => alongFlow(state, "up"),
  ">": (state) => alongFlow(state, "down"),
  "/": (_, actions) => actions.search.focus(),
  g: (_, actions) => actions.panes.next(),
  "?": (_, actions) => actions.toggleHelp(),
  Escape: (_, actions) => actions.escape(),
};

/** Keys for what the reader sets up and marks; letters with and without Shift are different keys. */
const BENCH_KEYS: Readonly<Record<string, (bench: Workbench) => void>> = {
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
function actOnBench(event: KeyboardEvent, bench: Workbench): boolean {
  // Capital letters by the Shift key alone: CapsLock must not change what a key does.
  const key = event.key.length === 1 ? (event.shiftKey ? event.key.toUpperCase() : event.key.toLowerCase()) : event.key;
  const action = BENCH_KEYS[key];
  action?.(bench);
  return action !== undefined;
}

function zoom(state: TimelineState, actions: KeyActions, factor: number) {
  const { view } = state;
  const time = actions.pointerTime() ?? (view.t0 + view.t1) / 2;
  state.setView(zoomAt(view, time, factor, state.reach));
}

function pan(state: TimelineState, ratio: number) {
  state.setView(panBy(state.view, (state.view.t1 - state.view.t0) * ratio, state.reach));
}

function focusSpan(state: TimelineState): Span | null {
  const { focus, events } = state;
  if (focus < 0) return null;
  return { t0: events.start[focus], t1: events.start[focus] + Math.max(1000, events.duration[focus]) };
}

function walk(state: TimelineState, key: string): boolean {
  if (state.focus < 0) return false;
  if (key === "ArrowUp") toEnclosing(state);
  else if (key === "ArrowDown") toFirstInside(state);
  else alongRow(state, key === "ArrowRight" ? 1 : -1);
  return true;
}
