/** Turns keys into moves; the same table gives the help. Keys act only while the timeline has the focus. */
import { endOfSubtree, parentOf } from "../core/events";
import { neighbour } from "../core/search";
import { fitRange, panBy, type Span, zoomAt } from "../core/viewport";
import type { TimelineState } from "./state";

export interface KeyActions {
  readonly focusSearch: () => void;
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

/** Key caps and what they do, in the order of the help. */
export const KEY_HELP: readonly (readonly [string, string])[] = [
  ["W / S", "zoom in / out at the pointer"],
  ["A / D, ← / →", "pan"],
  ["↑ / ↓", "scroll the tracks"],
  ["F", "fit the selected slice, else the range, else the whole capture"],
  ["0", "fit the whole capture"],
  ["M", "mark: the selected slice becomes the time range"],
  ["[ / ]", "previous / next slice of the same op"],
  ["Shift + ← / →", "previous / next slice of the row"],
  ["Shift + ↑ / ↓", "to the enclosing slice / the first slice inside"],
  ["/", "find slices; Enter next, Shift + Enter previous"],
  ["Esc", "close this, clear the selection, clear the range, leave"],
  ["Ctrl + wheel", "zoom; after a click the wheel alone zooms"],
  ["Shift + wheel", "pan"],
  ["drag", "pan; on the ruler: select a range; on the steps: select steps; above: move the window"],
];

export function listenToKeys(section: HTMLElement, state: TimelineState, actions: KeyActions, signal: AbortSignal) {
  section.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isOwnKeyOf(event.target, event.key)) return;
      if (!act(event, state, actions)) return;
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
}

/** Keys that the focused part needs for itself: typing, pressing a button, scrolling the details. */
function isOwnKeyOf(target: EventTarget | null, key: string): boolean {
  if (target instanceof HTMLInputElement) return true;
  if (target instanceof HTMLButtonElement) return key === "Enter" || key === " ";
  return target instanceof HTMLElement && target.closest("aside") !== null && /^(Arrow|Page|Home|End)/.test(key);
}

function act(event: KeyboardEvent, state: TimelineState, actions: KeyActions): boolean {
  if (event.shiftKey && event.key.startsWith("Arrow")) return walk(state, event.key);
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
  "[": (state) => sameOp(state, -1),
  "]": (state) => sameOp(state, 1),
  "/": (_, actions) => actions.focusSearch(),
  "?": (_, actions) => actions.toggleHelp(),
  Escape: (_, actions) => actions.escape(),
};

function zoom(state: TimelineState, actions: KeyActions, factor: number) {
  const { view } = state;
  const time = actions.pointerTime() ?? (view.t0 + view.t1) / 2;
  state.setView(zoomAt(view, time, factor, state.bounds));
}

function pan(state: TimelineState, ratio: number) {
  state.setView(panBy(state.view, (state.view.t1 - state.view.t0) * ratio, state.bounds));
}

function focusSpan(state: TimelineState): Span | null {
  const { focus, events } = state;
  if (focus < 0) return null;
  return { t0: events.start[focus], t1: events.start[focus] + Math.max(1000, events.duration[focus]) };
}

/** The slice before or after of the same op; without a selected slice the nearest of the selected op. */
function sameOp(state: TimelineState, direction: 1 | -1) {
  const { events, focus, byKey, selectedIds } = state;
  const id = focus >= 0 ? events.key[focus] : (selectedIds[0] ?? -1);
  if (id < 0) return;
  const ordered = byKey.order
    .slice(byKey.offset[id], byKey.offset[id + 1])
    .sort((a, b) => events.start[a] - events.start[b] || a - b);
  if (ordered.length === 0) return;
  goTo(state, ordered[neighbour(events, ordered, focus, direction, state.view.t0)]);
}

function goTo(state: TimelineState, event: number) {
  state.select(event);
  state.show(event);
}

/** Moves the selection to a neighbour in the nesting of the line. */
function walk(state: TimelineState, key: string): boolean {
  const { events, focus } = state;
  if (focus < 0) return false;
  let next = -1;
  if (key === "ArrowUp") next = parentOf(events, focus);
  else if (key === "ArrowDown") next = endOfSubtree(events, focus) > focus + 1 ? focus + 1 : -1;
  else if (key === "ArrowRight") next = ofRow(state, 1);
  else next = ofRow(state, -1);
  if (next >= 0) goTo(state, next);
  return true;
}

function ofRow(state: TimelineState, direction: 1 | -1): number {
  const { events, focus } = state;
  let k = focus + direction;
  while (k >= 0 && k < events.n && events.line[k] === events.line[focus]) {
    if (events.depth[k] === events.depth[focus]) return k;
    k += direction;
  }
  return -1;
}
