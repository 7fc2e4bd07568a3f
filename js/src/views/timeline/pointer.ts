/** What is under a point of the canvas and the small frame that says it; mouse and pen: panning, zooming, brushing, selecting, measuring. */

import { panBy, type Span, timeAt, upperBound, xAt, zoomAt } from "../../data/columns";
import { CATEGORIES, CATEGORY_LABELS } from "../../data/meta";
import { OVERVIEW_PX, RULER_TOP_PX, STEPS_TOP_PX, TRACKS_TOP_PX } from "../../draw/frame";
import { pieceAt } from "../../draw/tracks";
import { eventAt } from "../../model/lod";
import { shortName } from "../../model/names";
import { describeMeasure, snapped, stepEdges, stepWords } from "../../model/range";
import { firstFrom, lastBefore } from "../../model/rows";
import { stepAt } from "../../model/steps";
import { formatInstant, formatLength, formatPercent, formatTime, plural } from "../../model/text";
import {
  contentY,
  isInSight,
  type LineTrack,
  levelsPx,
  ROW_PX,
  screenY,
  type Track,
  trackAt,
  yOfRow,
} from "../../model/tracks";
import { h, on, unspoken } from "../../ui/dom";
import { TipBox } from "../../ui/plot";
import { toggleSelection } from "../../ui/view";
import type { Painter } from "./paint";
import type { TimelineState } from "./state";

type Zone = "overview" | "ruler" | "steps" | "tracks" | "counter";

/** Slices this far from the pointer still count: many are thinner than a pixel. */
const TOLERANCE_PX = 2;
const EDGE_PX = 5;

function zoneAt(painter: Painter, y: number): Zone {
  if (y < OVERVIEW_PX + 1) return "overview";
  if (y < STEPS_TOP_PX) return "ruler";
  if (y < TRACKS_TOP_PX) return "steps";
  return y < painter.tracksBottom ? "tracks" : "counter";
}

/** Time under x (in the canvas), in the window or, in the overview, in the whole capture; kept inside the capture. */
function timeUnder(state: TimelineState, painter: Painter, x: number, zone: Zone): number {
  const span = zone === "overview" ? state.bounds : state.view;
  const time = timeAt(span, painter.plotWidth, x - painter.labelWidth);
  return Math.min(state.bounds.t1, Math.max(state.bounds.t0, time));
}

/** The track under a height of the canvas, and how far that is below its top. */
function trackUnder({ layout, scrollTop, tracksHeight }: TimelineState, y: number): { track: Track | null; y: number } {
  const content = contentY(layout, scrollTop, tracksHeight, y - TRACKS_TOP_PX);
  const track = trackAt(layout, content);
  return { track, y: content - (track?.y ?? 0) };
}

/** The time under x in the window, and what is near enough to it to be meant. */
function momentUnder({ view }: TimelineState, { plotWidth, labelWidth }: Painter, x: number) {
  return { time: timeAt(view, plotWidth, x - labelWidth), tolerance: ((view.t1 - view.t0) / plotWidth) * TOLERANCE_PX };
}

export function eventUnder(state: TimelineState, painter: Painter, x: number, y: number): number {
  if (x < painter.labelWidth || zoneAt(painter, y) !== "tracks") return -1;
  const { track, y: inside } = trackUnder(state, y);
  if (track?.kind !== "line") return -1;
  const depths = track.bands[Math.floor((inside - levelsPx(track)) / ROW_PX)] ?? [];
  const { events } = state;
  const { time, tolerance } = momentUnder(state, painter, x);
  // The innermost slice lies on top; only when none is met exactly the nearest counts.
  for (const reach of [0, tolerance]) {
    for (const depth of depths.toReversed()) {
      const event = eventAt(events, track.firstRow + depth, time, reach);
      if (event >= 0) return event;
    }
  }
  return -1;
}

function edgeUnder(painter: Painter, span: Span | null, within: Span, x: number): "t0" | "t1" | null {
  if (!span) return null;
  const plot = x - painter.labelWidth;
  const left = Math.abs(xAt(within, painter.plotWidth, span.t0) - plot);
  const right = Math.abs(xAt(within, painter.plotWidth, span.t1) - plot);
  if (Math.min(left, right) > EDGE_PX) return null;
  return left <= right ? "t0" : "t1";
}

/** A point of the canvas where an event is met, its visible middle if that is free; null when it is not on screen. */
export function placeOf(state: TimelineState, painter: Painter, event: number): { x: number; y: number } | null {
  const { events, view, layout, scrollTop } = state;
  const row = yOfRow(layout, events.lineOf(event), events.depthOf(event));
  if (row === null) return null;
  const y = TRACKS_TOP_PX + screenY(layout, scrollTop, state.tracksHeight, row) + ROW_PX / 2;
  if (!isInSight(layout, scrollTop, state.tracksHeight, row, ROW_PX / 2)) return null;
  const t0 = Math.max(view.t0, events.start[event]);
  const t1 = Math.min(view.t1, events.start[event] + events.duration[event]);
  if (t1 < t0 || events.start[event] > view.t1) return null;
  const xOf = (time: number) => painter.labelWidth + xAt(view, painter.plotWidth, time);
  // Its children may be drawn over it: its ends are what shows of it then.
  const isMet = (x: number) => eventUnder(state, painter, x, y) === event;
  const free = [xOf((t0 + t1) / 2), xOf(t0) + 0.5, xOf(t1) - 0.5].find(isMet);
  return free === undefined ? null : { x: free, y };
}

interface Part {
  readonly title: string;
  readonly figures: readonly string[];
  /** With Shift the range grows to it, where it is one. */
  readonly choose: (isExtending: boolean) => void;
}

export function partUnder(state: TimelineState, painter: Painter, x: number, y: number): Part | null {
  if (x < painter.labelWidth || zoneAt(painter, y) !== "tracks") return null;
  const { track, y: inside } = trackUnder(state, y);
  const { time, tolerance } = momentUnder(state, painter, x);
  if (track?.kind === "host") return pieceOf(state, track.host, time, tolerance);
  return track?.kind === "line" ? spanOf(state, track, Math.floor(inside / ROW_PX), time, tolerance) : null;
}

function pieceOf(state: TimelineState, host: number, time: number, tolerance: number): Part | null {
  const { steps, hosted, meta } = state;
  const strip = hosted.strips[host];
  const at = strip ? pieceAt(strip, time, tolerance) : -1;
  if (at < 0) return null;
  const { start, end, category } = strip.piece;
  const step = strip.step[at];
  return {
    title: `${hosted.source?.names[host] ?? ""} · ${stepWords(meta.step_names, step)}`,
    figures: [
      `${CATEGORY_LABELS[CATEGORIES[category[at]]]} ${formatTime(end[at] - start[at])}`,
      `at ${formatInstant(start[at], 1e6)}`,
      `of a step of ${formatTime(steps.end[step] - steps.start[step])}`,
    ],
    choose: (isExtending) => chooseStep(state, step, isExtending),
  };
}

function spanOf(
  state: TimelineState,
  { line, firstRow, levels }: LineTrack,
  band: number,
  time: number,
  tolerance: number,
): Part | null {
  const name = levels[band];
  if (name === undefined) return null;
  const { start, end, busy, first, last } = state.levels.spans(firstRow, name);
  // The last one that began before: spans do not overlap.
  const k = upperBound(start, time + tolerance) - 1;
  if (k < 0 || end[k] <= time - tolerance) return null;
  const own = first[k];
  const step = state.events.step[own];
  return {
    title: state.levels.nameOf(name, own),
    figures: [
      formatLength(end[k] - start[k]),
      `busy ${formatPercent((busy[k + 1] - busy[k]) / Math.max(1, end[k] - start[k]))}`,
      plural(last[k] - own + 1, "kernel"),
      `at ${formatInstant(start[k], 1e6)}`,
      name !== "steps" && step >= 0 ? stepWords(state.meta.step_names, step) : "",
      state.lineNames[line],
    ],
    choose: (isExtending) => {
      if (name === "steps") chooseStep(state, step, isExtending);
      else toggleSelection(state.link, state.levels.opsOf(name, own));
    },
  };
}

/** A step becomes the range; with Shift the range grows to it; a second click lets it go. */
function chooseStep(state: TimelineState, step: number, isExtending: boolean) {
  const { steps, range, link } = state;
  if (step < 0) return;
  const own = { t0: steps.start[step], t1: steps.end[step] };
  const isChosen = link.step === step && range !== null;
  if (isExtending && range) return state.setRange({ t0: Math.min(range.t0, own.t0), t1: Math.max(range.t1, own.t1) });
  link.setStep(isChosen ? -1 : step);
  state.setRange(isChosen ? null : own);
}

export class Tooltip {
  /** No slice has more to say than fits into that. */
  readonly #tip: TipBox;
  #event = -1;

  constructor(
    readonly state: TimelineState,
    area: HTMLElement,
  ) {
    this.#tip = new TipBox(area, { width: 560, height: 120 });
  }

  /** Shows what is under the pointer beside a point of the canvas: an event (-1 for none), else a part. */
  show(event: number, x: number, y: number, width: number, height: number, part: Part | null = null) {
    const isNew = event !== this.#event;
    this.#event = event;
    if (event >= 0 && isNew) this.#sayEvent(event);
    else if (event < 0 && part) this.#say(part.title, part.figures);
    if (event < 0 && part === null) this.#tip.hide();
    else this.#tip.follow(x, y, { width, height });
  }

  #say(title: string, figures: readonly string[]) {
    this.#tip.say({ title, lines: [figures.filter(Boolean).join(" · ")] });
  }

  #sayEvent(event: number) {
    const { events, meta, steps, lineNames } = this.state;
    const duration = events.duration[event];
    const step = events.step[event] >= 0 ? events.step[event] : stepAt(steps, events.start[event]);
    const name = meta.names[events.name[event]];
    const op = events.launcherOf(event, meta.names);
    this.#say(op < 0 ? name : meta.names[op], [
      op < 0 ? "" : shortName(name),
      formatLength(duration),
      events.self[event] < duration ? `self ${formatTime(events.self[event])}` : "",
      `at ${formatInstant(events.start[event], 1e6)}`,
      step >= 0 ? stepWords(meta.step_names, step) : "",
      lineNames[events.lineOf(event)],
    ]);
  }
}

const CLICK_PX = 4;
const ZOOM_PER_NOTCH = 1.2;
const NOTCH_PX = 100;
const PINCH_NOTCH_PX = 12;
const LINE_PX = 16;

interface Pointed {
  readonly state: TimelineState;
  readonly painter: Painter;
  /** Gets the events; canvas and labels lie in it. */
  readonly area: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly scroller: HTMLElement;
  /** Whether the wheel is the timeline's, not the page's. */
  readonly isArmed: () => boolean;
  readonly arm: () => void;
  /** Event under the pointer (-1 for none) and its place; null when the pointer has left. */
  readonly onHover: (event: number, place: { x: number; y: number } | null) => void;
  readonly onRangeCleared: () => void;
}

/** What a press became: called with the pointer's place until it is released. */
type Drag = (x: number, y: number) => void;

export function listenToPointer(pointed: Pointed) {
  const { area, state } = pointed;
  const { signal } = state;
  let drag: Drag | null = null;
  let press = { x: 0, y: 0, hasMoved: false };
  const at = (event: MouseEvent) => placeOn(pointed.canvas, event);
  const onDown = (event: PointerEvent) => {
    if (event.button !== 0 || (event.target as Element).closest("button, .tl-head")) return;
    pointed.arm();
    const { x, y } = at(event);
    press = { x, y, hasMoved: false };
    drag = startDrag(pointed, x, y, event);
    if (drag) area.setPointerCapture(event.pointerId);
  };
  const onMove = (event: PointerEvent) => {
    const { x, y } = at(event);
    if (!drag) return hover(pointed, x, y, event.target as Element);
    if (!press.hasMoved && Math.hypot(x - press.x, y - press.y) < CLICK_PX) return;
    if (!press.hasMoved) pointed.onHover(-1, null);
    press.hasMoved = true;
    drag(x, y);
  };
  const onUp = (event: PointerEvent) => {
    if (!drag) return;
    drag = null;
    if (!press.hasMoved && event.type === "pointerup") click(pointed, press.x, press.y, event.shiftKey);
  };
  on(area, signal, {
    ...{ pointerdown: onDown, pointermove: onMove, pointerup: onUp, pointercancel: onUp },
    pointerleave: () => pointed.onHover(-1, null),
  });
  const wheel = (event: WheelEvent) => onWheel(pointed, event, at(event));
  on(area, signal, { wheel }, { passive: false });
}

function placeOn(canvas: HTMLCanvasElement, event: MouseEvent): { x: number; y: number } {
  const box = canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function startDrag(
  { state, painter, scroller }: Pointed,
  x: number,
  y: number,
  { shiftKey }: PointerEvent,
): Drag | null {
  const zone = zoneAt(painter, y);
  if (x < painter.labelWidth) return null;
  if (zone === "overview") return dragWindow(state, painter, x);
  if (zone === "ruler") return dragRange(state, painter, x);
  if (zone === "steps" && !shiftKey) return dragSteps(state, painter, x);
  if (shiftKey) return dragArea(state, painter, x, y);
  const { view } = state;
  const top = scroller.scrollTop;
  return (toX, toY) => {
    const delta = ((x - toX) / painter.plotWidth) * (view.t1 - view.t0);
    scroller.scrollTop = top + y - toY;
    state.setView(panBy(view, delta, state.reach));
  };
}

function dragWindow(state: TimelineState, painter: Painter, x: number): Drag {
  const { view, bounds } = state;
  const edge = edgeUnder(painter, view, bounds, x);
  const from = timeUnder(state, painter, x, "overview");
  const isInside = from > view.t0 && from < view.t1 && (view.t1 - view.t0) / (bounds.t1 - bounds.t0) < 0.98;
  return (toX) => {
    const to = timeUnder(state, painter, toX, "overview");
    if (edge) state.setView(ordered(edge === "t0" ? view.t1 : view.t0, to));
    else if (isInside) state.setView(panBy(view, to - from, bounds));
    else state.setView(ordered(from, to));
  };
}

function dragRange(state: TimelineState, painter: Painter, x: number): Drag {
  const edge = edgeUnder(painter, state.range, state.view, x);
  const range = state.range;
  const from = edge && range ? (edge === "t0" ? range.t1 : range.t0) : timeUnder(state, painter, x, "ruler");
  return (toX) => {
    state.setRange(ordered(from, timeUnder(state, painter, toX, "ruler")));
    state.invalidate();
  };
}

function dragArea(state: TimelineState, painter: Painter, x: number, y: number): Drag {
  const from = snappedTime(state, painter, x, y);
  return (toX, toY) => {
    state.setRange(ordered(from, snappedTime(state, painter, toX, toY)));
    state.invalidate();
  };
}

function dragSteps(state: TimelineState, painter: Painter, x: number): Drag {
  const { head: steps } = state.hosted;
  const first = stepAt(steps, timeUnder(state, painter, x, "steps"));
  return (toX) => {
    const last = stepAt(steps, timeUnder(state, painter, toX, "steps"));
    if (first < 0 || last < 0) return;
    state.setRange({ t0: steps.start[Math.min(first, last)], t1: steps.end[Math.max(first, last)] });
  };
}

function click({ state, painter, onRangeCleared }: Pointed, x: number, y: number, isExtending: boolean) {
  const zone = zoneAt(painter, y);
  const time = timeUnder(state, painter, x, zone);
  if (zone === "overview") {
    const half = (state.view.t1 - state.view.t0) / 2;
    state.setView({ t0: time - half, t1: time + half });
  } else if (zone === "ruler") {
    const { range } = state;
    if (range && (time < range.t0 || time > range.t1)) onRangeCleared();
  } else if (zone === "steps") {
    chooseStep(state, state.hosted.stepOfHead(stepAt(state.hosted.head, time)), isExtending);
  } else if (zone === "tracks") {
    const part = partUnder(state, painter, x, y);
    if (part) part.choose(isExtending);
    else state.select(eventUnder(state, painter, x, y));
  }
}

const CURSORS = { overview: "grab", ruler: "text", steps: "pointer", tracks: "default", counter: "default" } as const;

function hover({ state, painter, area, onHover }: Pointed, x: number, y: number, target: Element) {
  const zone = zoneAt(painter, y);
  const isPlot = x >= painter.labelWidth && !target.closest("button");
  const event = isPlot ? eventUnder(state, painter, x, y) : -1;
  const isEdge =
    (zone === "overview" && edgeUnder(painter, state.view, state.bounds, x)) ||
    (zone === "ruler" && edgeUnder(painter, state.range, state.view, x));
  const isOnSlice = event >= 0 || (isPlot && partUnder(state, painter, x, y) !== null);
  area.style.cursor = !isPlot ? "default" : isEdge ? "ew-resize" : isOnSlice ? "pointer" : CURSORS[zone];
  onHover(event, { x, y });
}

function onWheel(
  { state, painter, scroller, isArmed }: Pointed,
  event: WheelEvent,
  { x, y }: { x: number; y: number },
) {
  const scale = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
  const dx = event.deltaX * scale;
  const dy = event.deltaY * scale;
  const isZoom = event.ctrlKey || event.metaKey;
  // Until a click the wheel scrolls the page.
  if (!isZoom && !event.shiftKey && !isArmed()) return;
  const isPan = !isZoom && (event.shiftKey || Math.abs(dx) > Math.abs(dy));
  // Over the tracks the browser scrolls them, as smoothly as it can.
  if (!isZoom && !isPan && scroller.contains(event.target as Node)) return;
  event.preventDefault();
  const window = state.view.t1 - state.view.t0;
  if (isPan) return state.setView(panBy(state.view, ((dx || dy) / painter.plotWidth) * window, state.reach));
  if (!isZoom) {
    scroller.scrollTop += dy;
    return;
  }
  // A pinch on a touchpad comes as a wheel with Ctrl in small portions.
  const notch = event.ctrlKey && Math.abs(dy) < 40 ? PINCH_NOTCH_PX : NOTCH_PX;
  const factor = ZOOM_PER_NOTCH ** Math.max(-3, Math.min(3, dy / notch));
  state.setView(zoomAt(state.view, timeUnder(state, painter, x, zoneAt(painter, y)), factor, state.reach));
}

const SNAP_PX = 6;
/** Part of the window that a key moves the cursor by where nothing has an edge. */
const KEY_RATIO = 0.02;
const LABEL_PX = 80;

/** The moment that the reader points at: a hairline over all tracks with its time, moved by pointer or keys; and measuring. */
export class Cursor {
  readonly element = unspoken("div.tl-cursor", h("span"));
  /** Where the measuring began, null while nothing is measured. */
  #anchor: number | null = null;
  #isByKeys = false;

  constructor(
    readonly state: TimelineState,
    readonly painter: Painter,
    readonly say: (text: string) => void,
  ) {
    this.element.hidden = true;
    this.element.style.top = `${RULER_TOP_PX}px`;
  }

  get isMeasuring() {
    return this.#anchor !== null;
  }

  /** The pointer is at x (in the canvas), null when it has left; what keys set stays then. */
  point(x: number | null, y: number) {
    const { state, painter } = this;
    if (x === null || x < painter.labelWidth) {
      if (!this.#isByKeys && !this.isMeasuring) this.#set(null);
      return;
    }
    this.#isByKeys = false;
    const time = timeAt(state.view, painter.plotWidth, x - painter.labelWidth);
    this.#set(this.isMeasuring ? snappedTime(state, painter, x, y) : time);
  }

  /** To the previous or next edge of the selected slice's row, else of a step, else a little. */
  step(direction: 1 | -1) {
    const { state } = this;
    const { view, bounds } = state;
    const from = state.board.cursor ?? (view.t0 + view.t1) / 2;
    const edge =
      state.focus >= 0 ? this.#rowEdge(from, direction) : nearest(stepEdges(state.steps, from), from, direction);
    const to = edge ?? from + direction * (view.t1 - view.t0) * KEY_RATIO;
    this.#isByKeys = true;
    this.#set(Math.min(bounds.t1, Math.max(bounds.t0, to)));
    state.showSpan({ t0: to, t1: to });
    const resolution = Math.max(1e3, 10 ** Math.floor(Math.log10((view.t1 - view.t0) / 1000)));
    this.say(`Cursor at ${formatInstant(to, resolution)}`);
  }

  #rowEdge(from: number, direction: 1 | -1): number | null {
    const { events, focus } = this.state;
    const row = events.rowOf(focus);
    const before = lastBefore(events, row, from + (direction > 0 ? 1 : 0));
    const edges: number[] = before >= 0 ? [events.start[before], events.endOf(before)] : [];
    const after = firstFrom(events, row, from + 1);
    if (after >= 0) edges.push(events.start[after]);
    return nearest(edges, from, direction);
  }

  toggleMeasure() {
    const { state } = this;
    if (this.isMeasuring) {
      this.#anchor = null;
      if (state.range) this.say(describeMeasure(state.range, state.steps));
      return;
    }
    const { view } = state;
    this.#anchor = state.board.cursor ?? (view.t0 + view.t1) / 2;
    this.#set(this.#anchor);
    this.say("Measuring: move the pointer, or the cursor with comma and full stop; R ends, Esc cancels");
  }

  /** False when nothing was measured. */
  cancelMeasure(): boolean {
    if (!this.isMeasuring) return false;
    this.#anchor = null;
    this.state.setRange(null);
    return true;
  }

  #set(time: number | null) {
    const { state } = this;
    if (state.board.cursor === time) return;
    state.board.cursor = time;
    if (this.#anchor !== null && time !== null && time !== this.#anchor) state.setRange(ordered(this.#anchor, time));
    this.update();
    state.onCursor();
  }

  /** Follows the view; moves one element, so that a move of the pointer paints nothing. */
  update() {
    const { state, painter, element } = this;
    const time = state.board.cursor;
    const x = time === null ? -1 : xAt(state.view, painter.plotWidth, time);
    element.hidden = x < 0 || x > painter.plotWidth;
    if (element.hidden || time === null) return;
    element.style.transform = `translateX(${Math.round(painter.labelWidth + x)}px)`;
    const { view } = state;
    const resolution = Math.max(1, 10 ** Math.floor(Math.log10((view.t1 - view.t0) / painter.plotWidth)));
    const label = element.firstElementChild as HTMLElement;
    const text = formatInstant(time, resolution);
    if (label.textContent !== text) label.textContent = text;
    const isLeft = x > painter.plotWidth - LABEL_PX;
    label.classList.toggle("left", isLeft);
    // The words of the range and of bookmarks are not to be covered.
    const taken = painter.rangeLabel ? [painter.rangeLabel, ...painter.flags] : painter.flags;
    const from = isLeft ? x - LABEL_PX : x;
    const isTaken = taken.some(({ t0, t1 }) => from < t1 && from + LABEL_PX > t0);
    label.classList.toggle("low", isTaken);
  }
}

function nearest(edges: readonly number[], from: number, direction: 1 | -1): number | null {
  const ahead = edges.filter((edge) => (edge - from) * direction > 0.5);
  return ahead.length === 0 ? null : direction > 0 ? Math.min(...ahead) : Math.max(...ahead);
}

function ordered(a: number, b: number): Span {
  return a < b ? { t0: a, t1: b } : { t0: b, t1: Math.max(a, b + 1) };
}

/** Time under a place, moved to an edge of a slice or a step that is near. */
function snappedTime(state: TimelineState, painter: Painter, x: number, y: number): number {
  const { events, view } = state;
  const time = timeUnder(state, painter, x, "tracks");
  const edges = stepEdges(state.steps, time);
  for (const at of [x - SNAP_PX, x, x + SNAP_PX]) {
    const event = eventUnder(state, painter, at, y);
    if (event >= 0) edges.push(events.start[event], events.endOf(event));
  }
  return snapped(time, edges, ((view.t1 - view.t0) / painter.plotWidth) * SNAP_PX);
}
