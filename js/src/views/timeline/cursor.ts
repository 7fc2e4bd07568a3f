/** The moment that the reader points at: a hairline over all tracks with its time, moved by pointer or keys; and measuring. */

import { RULER_TOP_PX } from "../../draw/frame";
import { firstFrom, lastBefore } from "../../model/events/row_search";
import { formatInstant } from "../../model/text/format";
import { describeMeasure, snapped, stepEdges } from "../../model/time/snapping";
import { type Span, timeAt, xAt } from "../../model/time/viewport";
import { h, unspoken } from "../../ui/dom";
import { eventUnder, timeUnder } from "./hit";
import type { Painter } from "./paint";
import type { TimelineState } from "./state";

/** Edges this near to the pointer catch it. */
const SNAP_PX = 6;
/** Part of the window that a key moves the cursor by where nothing has an edge. */
const KEY_RATIO = 0.02;
/** Room of the time beside the hairline. */
const LABEL_PX = 80;

export class Cursor {
  readonly element = unspoken("div.tl-cursor", h("span"));
  /** Where the measuring began, null while nothing is measured. */
  #anchor: number | null = null;
  #isByKeys = false;

  constructor(
    readonly state: TimelineState,
    readonly painter: Painter,
    /** Tells those who cannot see it. */
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
    const edge = state.focus >= 0 ? this.#rowEdge(from, direction) : this.#stepEdge(from, direction);
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

  #stepEdge(from: number, direction: 1 | -1): number | null {
    return nearest(stepEdges(this.state.steps, from), from, direction);
  }

  /** Begins to measure at the cursor, or ends at it. */
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
    label.classList.toggle(
      "low",
      taken.some(({ t0, t1 }) => from < t1 && from + LABEL_PX > t0),
    );
  }
}

function nearest(edges: readonly number[], from: number, direction: 1 | -1): number | null {
  const ahead = edges.filter((edge) => (edge - from) * direction > 0.5);
  return ahead.length === 0 ? null : direction > 0 ? Math.min(...ahead) : Math.max(...ahead);
}

export function ordered(a: number, b: number): Span {
  return a < b ? { t0: a, t1: b } : { t0: b, t1: Math.max(a, b + 1) };
}

/** Time under a place, moved to an edge of a slice or a step that is near. */
export function snappedTime(state: TimelineState, painter: Painter, x: number, y: number): number {
  const { events, view } = state;
  const time = timeUnder(state, painter, x, "tracks");
  const edges = stepEdges(state.steps, time);
  for (const at of [x - SNAP_PX, x, x + SNAP_PX]) {
    const event = eventUnder(state, painter, at, y);
    if (event >= 0) edges.push(events.start[event], events.endOf(event));
  }
  return snapped(time, edges, ((view.t1 - view.t0) / painter.plotWidth) * SNAP_PX);
}
