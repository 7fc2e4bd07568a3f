/** The trace and the link -> the timeline: steps on top, planes and lines as tracks of nested slices, details at the side. */

import { fitRange, panBy, type Span, zoomAt } from "../../data/columns";
import { TRACKS_TOP_PX } from "../../draw/frame";
import { eventsWords, SHOW_WINDOW, type ShownWindow, type WantedWindow, WINDOW_SHOWN } from "../../model/range";
import { formatCount, formatInstant } from "../../model/text";
import { button, h, hasModifier, inFrame, on, onKeys, watchSize } from "../../ui/dom";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { alongFlow, alongRow, Details, toEnclosing, toFirstInside, toSameOp } from "./details";
import { Painter } from "./paint";
import { PerfettoLink } from "./perfetto";
import { eventUnder, listenToPointer, partUnder, placeOf, Tooltip } from "./pointer";
import { SearchBox } from "./search";
import { TimelineState } from "./state";
import { Panes, Workbench } from "./workbench";

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

class Help {
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

/** Of the tracks and what is above them, until the reader drags the edge. */
const TRACKS_PX = 332;
const NARROW_PX = 1100;
const LABEL_PX = { wide: 164, narrow: 128 };

class Timeline {
  readonly #view: TraceView;
  readonly #state: TimelineState;
  readonly #painter: Painter;
  readonly #details: Details;
  readonly #search: SearchBox;
  readonly #tooltip: Tooltip;
  readonly #canvas = h("canvas", { role: "img" });
  readonly #scroller = h("div.tl-scroll", { style: { top: `${TRACKS_TOP_PX}px` } });
  readonly #area = h("div.tlc");
  readonly #help: Help;
  readonly #bench: Workbench;
  readonly #panes: Panes;
  readonly #section = h("section.tl", { tabindex: 0, "aria-label": "Timeline" });
  /** Where the pointer is in the canvas, null when it is elsewhere. */
  #pointer: { x: number; y: number } | null = null;
  /** What of the picture was last looked at under a resting pointer. */
  #hoveredIn: readonly unknown[] = [];
  #namesGeneration = 0;
  /** Frames asked for by a constructor that then failed must not draw. */
  #isBuilt = false;

  constructor(view: TraceView) {
    this.#view = view;
    const { signal, root } = view;
    const repaint = inFrame(() => this.#paint(), signal);
    this.#state = new TimelineState(view, repaint);
    this.#painter = new Painter(this.#canvas, root, this.#state);
    this.#tooltip = new Tooltip(this.#state, this.#area);
    this.#search = new SearchBox(this.#state, () => this.#section.focus());
    this.#help = new Help(() => this.#section.focus({ preventScroll: true }), signal);
    const pane = h("aside.det", { "aria-label": "Details of the selection", tabindex: 0 });
    const live = h("div.sr", { "aria-live": "polite" });
    const places = { section: this.#section, area: this.#area, scroller: this.#scroller, live };
    this.#area.append(this.#canvas, this.#scroller);
    this.#bench = new Workbench(this.#state, this.#painter, { ...places, help: () => this.#help.toggle() });
    this.#bench.bar.find.append(this.#search.element);
    const perfetto = new PerfettoLink(view.data, this.#state.meta.title, signal);
    this.#bench.bar.addMore(() => perfetto.panel());
    this.#panes = new Panes(view, this.#state, () => this.#section.focus({ preventScroll: true }));
    this.#bench.bar.mode.append(this.#panes.element);
    this.#area.append(this.#painter.arrows.canvas, this.#panes.place);
    this.#details = new Details(pane, live, this.#state);
    const grid = h("div.tlg", this.#area, pane);
    const grip = heightGrip(TRACKS_PX, (px) => this.#section.style.setProperty("--h-tracks", `${px}px`), signal);
    this.#section.prepend(this.#bench.bar.element, grid, grip, this.#bench.legend.element, live, this.#help.element);
    root.append(this.#section);
    this.#listen();
    exposeToTests(root as TimelineElement, this.#canvas, this.#state, this.#painter);
    shareWindow(root, this.#state, signal);
    this.#isBuilt = true;
  }

  #listen() {
    const { signal, link, data } = this.#view;
    const state = this.#state;
    this.#listenToInput();
    watchSize(this.#area, signal, (width, height) => this.#resize(width, height));
    this.#view.onTheme(() => {
      this.#painter.forgetColors();
      this.#panes.forgetColors();
      state.invalidate();
    });
    on(this.#scroller, signal, { scroll: () => state.invalidate() });
    link.on("selection", () => state.readSelection(), signal);
    link.on("time_range", () => this.#onRange(), signal);
    link.on("step", () => this.#onStep(), signal);
    link.on("stretches", () => this.#onStretches(), signal);
    link.on("hover", () => this.#onHoverElsewhere(), signal);
    link.on("host", () => state.readHost(), signal);
    data.onChange(() => this.#onData(), signal);
    data.onTables(() => state.readTables(), signal, ["steps", "step_pieces", "worker_steps", "op_places", "layers"]);
  }

  #listenToInput() {
    const state = this.#state;
    listenToPointer({
      state,
      painter: this.#painter,
      area: this.#area,
      canvas: this.#canvas,
      scroller: this.#scroller,
      isArmed: () => this.#section.contains(document.activeElement),
      arm: () => this.#section.focus({ preventScroll: true }),
      onHover: (event, place) => {
        this.#pointer = place;
        this.#bench.cursor.point(place?.x ?? null, place?.y ?? 0);
        this.#hover(event, place?.x ?? 0, place?.y ?? 0);
      },
      onRangeCleared: () => this.#clearRange(),
    });
    const actions: KeyActions = {
      bench: this.#bench,
      search: this.#search,
      panes: this.#panes,
      toggleHelp: () => this.#help.toggle(),
      escape: () => this.#escape(),
      scrollBy: (px) => this.#scroller.scrollBy({ top: px }),
      pointerTime: () => state.board.cursor,
    };
    onKeys(this.#section, state.signal, (event) => {
      if (hasModifier(event) || isOwnKeyOf(event.target, event.key)) return false;
      return actOnBench(event, this.#bench) || act(event, state, actions);
    });
  }

  #resize(width: number, height: number) {
    this.#painter.labelWidth = this.#section.clientWidth < NARROW_PX ? LABEL_PX.narrow : LABEL_PX.wide;
    this.#section.style.setProperty("--w-label", `${this.#painter.labelWidth}px`);
    this.#painter.resize(width, height);
    this.#state.invalidate();
  }

  #paint() {
    if (!this.#isBuilt) return;
    const state = this.#state;
    this.#bench.place();
    if (state.scrollTo >= 0) {
      this.#scroller.scrollTop = state.scrollTo;
      state.scrollTo = -1;
    }
    state.scrollTop = this.#scroller.scrollTop;
    this.#bench.label();
    this.#hoverAgain();
    this.#view.data.wantSpan(this.#panes.span);
    if (state.advance()) state.invalidate();
    this.#painter.paint();
    this.#details.update();
    this.#bench.update();
    this.#panes.update(TRACKS_TOP_PX, this.#painter.height - TRACKS_TOP_PX);
    this.#search.update();
    this.#describe();
  }

  /** What is on screen, in words: in the bar, and for those who cannot see the canvas. */
  #describe() {
    const { view, bounds, meta, events, steps } = this.#state;
    const { data } = this.#view;
    const resolution = Math.max(1e3, 10 ** Math.floor(Math.log10((view.t1 - view.t0) / 20)));
    const parts = (time: number) => formatInstant(time, resolution).split(" ");
    const words = eventsWords({ ...data.eventsState, nLoaded: events.nLoaded, n: events.n, nAll: meta.n_events });
    const [from] = parts(view.t0);
    const [to] = parts(view.t1);
    const [whole, unit] = parts(bounds.t1);
    const text = this.#bench.bar.say({ from, to, whole, unit, ...words });
    const label = `Timeline, ${text}, ${formatCount(steps.n)} steps, ${formatCount(meta.lines.length)} lines. Find slices with the search field.`;
    if (this.#canvas.getAttribute("aria-label") !== label) this.#canvas.setAttribute("aria-label", label);
  }

  #hover(event: number, x: number, y: number) {
    const state = this.#state;
    const part = event < 0 && this.#pointer ? partUnder(state, this.#painter, x, y) : null;
    this.#tooltip.show(event, x, y, this.#painter.width, this.#painter.height, part);
    if (event === state.hover) return;
    state.hover = event;
    this.#view.link.setHover(event >= 0 ? state.meta.names[state.events.keyOf(event)] : "");
    state.invalidate();
  }

  #onHoverElsewhere() {
    const { hover } = this.#view.link;
    this.#state.hoveredIds = hover ? this.#state.idsOf([hover]) : new Int32Array();
    this.#state.invalidate();
  }

  /** Keys move the picture, or its tracks, under a resting pointer: what it points at is another slice then. */
  #hoverAgain() {
    const state = this.#state;
    const picture = [state.view, state.layout, state.scrollTop];
    if (picture.every((part, k) => part === this.#hoveredIn[k])) return;
    this.#hoveredIn = picture;
    if (!this.#pointer) return;
    const { x, y } = this.#pointer;
    this.#hover(eventUnder(state, this.#painter, x, y), x, y);
  }

  /** A range that another view chose comes into the window; our own is there already. */
  #onRange() {
    const { range } = this.#state;
    if (range && (range.t1 <= this.#state.view.t0 || range.t0 >= this.#state.view.t1)) this.#state.showSpan(range);
    this.#state.invalidate();
  }

  #onStep() {
    const { steps } = this.#state;
    const { step } = this.#view.link;
    if (step >= 0 && step < steps.n) this.#state.showSpan({ t0: steps.start[step], t1: steps.end[step] });
    this.#state.invalidate();
  }

  /** Spans of microseconds are seen in a step that fills the view. */
  #onStretches() {
    const { range, bounds } = this.#state;
    if (range && this.#view.link.stretches.length > 0) this.#state.setView(fitRange(range, bounds, 0.05));
    this.#state.invalidate();
  }

  #onData() {
    const { data } = this.#view;
    if (this.#namesGeneration !== data.namesGeneration) {
      this.#namesGeneration = data.namesGeneration;
      this.#painter.forgetColors();
      this.#search.refresh();
    }
    this.#state.invalidate();
  }

  #clearRange() {
    this.#view.link.setStep(-1);
    this.#state.setRange(null);
  }

  #escape() {
    const { link } = this.#view;
    if (this.#help.isOpen) this.#help.toggle();
    else if (this.#bench.escape() || this.#search.clear()) return;
    else if (this.#panes.mode !== "tracks") this.#panes.show("tracks");
    else if (link.selection.length > 0) this.#state.select(-1);
    else if (link.timeRange) this.#clearRange();
    else this.#section.blur();
  }
}

/** Tells whoever holds several timelines the window of this one, and takes the window that they are to share. */
function shareWindow(root: HTMLElement, state: TimelineState, signal: AbortSignal): void {
  const tell = () => {
    const detail: ShownWindow = { view: state.view, bounds: state.bounds };
    root.dispatchEvent(new CustomEvent(WINDOW_SHOWN, { bubbles: true, detail }));
  };
  const take = (event: Event) => {
    const { view, limits } = (event as CustomEvent<WantedWindow>).detail;
    state.limits = limits;
    state.setView(view);
  };
  root.addEventListener(SHOW_WINDOW, take, { signal });
  state.onView = tell;
  tell();
}

export const timeline: TraceBuilder = {
  name: "timeline",
  atHost: "same",
  reads: "events",
  build: (view) => void new Timeline(view),
};

const LEAST_TALL_PX = 160;
const MOST_TALL_PX = 1600;
const KEY_STEP_PX = 40;
const KEPT_HEIGHT = "tfprof_widgets.timeline_px";

/** A frame without an origin of its own refuses its storage: then nothing is kept. */
function keptHeight(): number {
  try {
    return Number(localStorage.getItem(KEPT_HEIGHT));
  } catch {
    return 0;
  }
}

function keepHeight(px: number, usual: number): void {
  try {
    if (px === usual) localStorage.removeItem(KEPT_HEIGHT);
    else localStorage.setItem(KEPT_HEIGHT, String(px));
  } catch {
    // As above.
  }
}

/** The edge; calls `set` with the height at once and whenever it changes; `usual`: where none was kept, or after a double click. */
function heightGrip(usual: number, set: (px: number) => void, signal: AbortSignal): HTMLElement {
  const grip = h("div.tl-grip", {
    tabindex: 0,
    role: "separator",
    "aria-orientation": "horizontal",
    "aria-label": "Height of the timeline",
    "aria-valuemin": LEAST_TALL_PX,
    "aria-valuemax": MOST_TALL_PX,
    title: "Drag: height of the timeline. Double-click: the usual height",
  });
  let height = usual;
  /** Where a drag began: the pointer's place minus the height. */
  let from: number | null = null;
  const take = (px: number) => {
    height = Math.round(Math.min(MOST_TALL_PX, Math.max(LEAST_TALL_PX, px)));
    grip.setAttribute("aria-valuenow", String(height));
    set(height);
  };
  const settle = () => {
    from = null;
    keepHeight(height, usual);
  };
  const keys: Record<string, () => number> = {
    ArrowUp: () => height - KEY_STEP_PX,
    ArrowDown: () => height + KEY_STEP_PX,
    Home: () => LEAST_TALL_PX,
    End: () => MOST_TALL_PX,
    Enter: () => usual,
  };
  on(grip, signal, {
    pointerdown: (event) => {
      if (event.button !== 0) return;
      from = event.clientY - height;
      grip.setPointerCapture(event.pointerId);
    },
    pointermove: (event) => {
      if (from !== null) take(event.clientY - from);
    },
    pointerup: settle,
    pointercancel: settle,
    dblclick: () => {
      take(usual);
      settle();
    },
  });
  onKeys(grip, signal, (event) => {
    const next = keys[event.key];
    if (!next || hasModifier(event)) return false;
    take(next());
    settle();
    return true;
  });
  take(keptHeight() || usual);
  return grip;
}

/** The root element of a timeline (`[data-tfprof=timeline]`). */
export interface TimelineElement extends HTMLElement {
  /** A point of the nth slice on screen with this event name, in client coordinates; null when there is none. */
  tfprofLocate(name: string, nth?: number): { x: number; y: number } | null;
  /** Pans and scrolls to the nth slice with this event name; false when the trace has none. */
  tfprofReveal(name: string, nth?: number): boolean;
}

/** Hangs on the root element what browser tests need: a canvas has no elements to find. */
function exposeToTests(root: TimelineElement, canvas: HTMLCanvasElement, state: TimelineState, painter: Painter) {
  /** By line and time, so that the nth is the nth from the left. */
  const named = (name: string) => {
    const { events, meta } = state;
    const id = meta.names.indexOf(name);
    const found: number[] = [];
    if (id >= 0) for (let p = 0; p < events.n; p++) if (events.name[p] === id && events.has(p)) found.push(p);
    return found.sort((a, b) => events.lineOf(a) - events.lineOf(b) || events.start[a] - events.start[b]);
  };
  root.tfprofLocate = (name, nth = 0) => {
    const place = named(name).flatMap((event) => placeOf(state, painter, event) ?? [])[nth];
    const box = canvas.getBoundingClientRect();
    return place ? { x: box.left + place.x, y: box.top + place.y } : null;
  };
  root.tfprofReveal = (name, nth = 0) => {
    const event = named(name)[nth];
    if (event !== undefined) state.show(event);
    return event !== undefined;
  };
}
