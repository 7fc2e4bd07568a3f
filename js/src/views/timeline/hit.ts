/** Turns a point on the canvas into what is there: zone, time, event, edge. */

import { OVERVIEW_PX, STEPS_TOP_PX, TRACKS_TOP_PX } from "../../draw/frame";
import { eventAt } from "../../model/events/lod";
import { type Span, timeAt, xAt } from "../../model/time/viewport";
import { contentY, isInSight, screenY } from "../../model/tracks/pinning";
import { levelsPx, ROW_PX, type Track, trackAt, yOfRow } from "../../model/tracks/tracks";
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
export function trackUnder(
  { layout, scrollTop, tracksHeight }: TimelineState,
  y: number,
): { track: Track | null; y: number } {
  const content = contentY(layout, scrollTop, tracksHeight, y - TRACKS_TOP_PX);
  const track = trackAt(layout, content);
  return { track, y: content - (track?.y ?? 0) };
}

/** The time under x in the window, and what is near enough to it to be meant. */
export function momentUnder({ view }: TimelineState, { plotWidth, labelWidth }: Painter, x: number) {
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
