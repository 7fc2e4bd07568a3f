/** What is under a point of the canvas: zone, time, slice, step or level; and the small frame that says it. */

import { upperBound } from "../../data/columns";
import { CATEGORIES, CATEGORY_LABELS } from "../../data/meta";
import { type Span, timeAt, xAt } from "../../data/time";
import { OVERVIEW_PX, STEPS_TOP_PX, TRACKS_TOP_PX } from "../../draw/frame";
import { pieceAt } from "../../draw/tracks";
import { eventAt } from "../../model/lod";
import { shortName } from "../../model/names";
import { stepWords } from "../../model/range";
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
import { h } from "../../ui/dom";
import { toggleSelection } from "../../ui/view";
import type { Painter } from "./paint";
import type { TimelineState } from "./state";

export type Zone = "overview" | "ruler" | "steps" | "tracks" | "counter";

/** Slices this far from the pointer still count: many are thinner than a pixel. */
const TOLERANCE_PX = 2;
const EDGE_PX = 5;

export function zoneAt(painter: Painter, y: number): Zone {
  if (y < OVERVIEW_PX + 1) return "overview";
  if (y < STEPS_TOP_PX) return "ruler";
  if (y < TRACKS_TOP_PX) return "steps";
  return y < painter.tracksBottom ? "tracks" : "counter";
}

/** Time under x (in the canvas), in the window or, in the overview, in the whole capture; kept inside the capture. */
export function timeUnder(state: TimelineState, painter: Painter, x: number, zone: Zone): number {
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

/** Which edge of a span x is near to, if any. */
export function edgeUnder(painter: Painter, span: Span | null, within: Span, x: number): "t0" | "t1" | null {
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
  const free = [xOf((t0 + t1) / 2), xOf(t0) + 0.5, xOf(t1) - 0.5].find(
    (x) => eventUnder(state, painter, x, y) === event,
  );
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
export function chooseStep(state: TimelineState, step: number, isExtending: boolean) {
  const { steps, range, link } = state;
  if (step < 0) return;
  const own = { t0: steps.start[step], t1: steps.end[step] };
  if (isExtending && range) {
    state.setRange({ t0: Math.min(range.t0, own.t0), t1: Math.max(range.t1, own.t1) });
  } else if (link.step === step && range) {
    link.setStep(-1);
    state.setRange(null);
  } else {
    link.setStep(step);
    state.setRange(own);
  }
}

const OFFSET_PX = 12;

interface Size {
  readonly width: number;
  readonly height: number;
}

export class CanvasTip {
  readonly element = h("div.tl-tip", { "aria-hidden": "true", hidden: true });
  readonly #name = h("b");
  readonly #figures = h("div.q");
  #size: Size | null = null;

  /** @param most it is never larger; null where that is not known */
  constructor(readonly most: Size | null = null) {
    this.element.append(this.#name, this.#figures);
  }

  hide() {
    this.element.hidden = true;
  }

  say(name: string, figures: readonly string[]) {
    this.#size = null;
    this.#name.textContent = name;
    this.#figures.textContent = figures.filter(Boolean).join(" · ");
  }

  showAt(x: number, y: number, pane: Size) {
    this.element.hidden = false;
    const { width, height } = this.#sizeNear(x, y, pane);
    const left = x + OFFSET_PX + width > pane.width ? Math.max(0, x - OFFSET_PX - width) : x + OFFSET_PX;
    const top = y + OFFSET_PX + height > pane.height ? Math.max(0, y - OFFSET_PX - height) : y + OFFSET_PX;
    this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  /** Measured once for the same words, and only near an edge: to measure makes the page lay out. */
  #sizeNear(x: number, y: number, pane: Size): Size {
    const { most } = this;
    if (most && x + OFFSET_PX + most.width <= pane.width && y + OFFSET_PX + most.height <= pane.height) return most;
    this.#size ??= this.element.getBoundingClientRect();
    return this.#size;
  }
}

export class Tooltip {
  /** No slice has more to say than fits into that. */
  readonly #tip = new CanvasTip({ width: 560, height: 120 });
  #event = -1;

  constructor(readonly state: TimelineState) {}

  get element(): HTMLElement {
    return this.#tip.element;
  }

  /** Shows what is under the pointer beside a point of the canvas: an event (-1 for none), else a part. */
  show(event: number, x: number, y: number, width: number, height: number, part: Part | null = null) {
    const isNew = event !== this.#event;
    this.#event = event;
    if (event >= 0 && isNew) this.#sayEvent(event);
    else if (event < 0 && part) this.#tip.say(part.title, part.figures);
    if (event < 0 && part === null) this.#tip.hide();
    else this.#tip.showAt(x, y, { width, height });
  }

  #sayEvent(event: number) {
    const { events, meta, steps, lineNames } = this.state;
    const duration = events.duration[event];
    const step = events.step[event] >= 0 ? events.step[event] : stepAt(steps, events.start[event]);
    const name = meta.names[events.name[event]];
    const op = events.launcherOf(event, meta.names);
    this.#tip.say(op < 0 ? name : meta.names[op], [
      op < 0 ? "" : shortName(name),
      formatLength(duration),
      events.self[event] < duration ? `self ${formatTime(events.self[event])}` : "",
      `at ${formatInstant(events.start[event], 1e6)}`,
      step >= 0 ? stepWords(meta.step_names, step) : "",
      lineNames[events.lineOf(event)],
    ]);
  }
}
