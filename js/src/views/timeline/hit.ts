/** Turns a point on the canvas into what is there: zone, time, event, edge. */

import { OVERVIEW_PX, STEPS_TOP_PX, TRACKS_TOP_PX } from "../../draw/frame";
import { pieceAt } from "../../draw/host_strip";
import { eventAt } from "../../model/events/lod";
import { type Span, timeAt, xAt } from "../../model/time/viewport";
import { contentY, isInSight, screenY } from "../../model/tracks/pinning";
import { ROW_PX, trackAt, yOfRow } from "../../model/tracks/tracks";
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

export function eventUnder(state: TimelineState, painter: Painter, x: number, y: number): number {
  if (x < painter.labelWidth || zoneAt(painter, y) !== "tracks") return -1;
  const content = contentY(state.layout, state.scrollTop, state.tracksHeight, y - TRACKS_TOP_PX);
  const track = trackAt(state.layout, content);
  if (track?.kind !== "line") return -1;
  const depths = track.bands[Math.floor((content - track.y) / ROW_PX)] ?? [];
  const { view, events } = state;
  const tolerance = ((view.t1 - view.t0) / painter.plotWidth) * TOLERANCE_PX;
  const time = timeAt(view, painter.plotWidth, x - painter.labelWidth);
  // The innermost slice lies on top; only when none is met exactly the nearest counts.
  for (const reach of [0, tolerance]) {
    for (const depth of depths.toReversed()) {
      const event = eventAt(events, track.firstRow + depth, time, reach);
      if (event >= 0) return event;
    }
  }
  return -1;
}

/** A piece of a step of a host: what its strip is drawn of. */
export interface PieceHit {
  readonly host: number;
  /** Of the host's pieces. */
  readonly piece: number;
  /** Row of the step. */
  readonly step: number;
}

export function pieceUnder(state: TimelineState, painter: Painter, x: number, y: number): PieceHit | null {
  if (x < painter.labelWidth || zoneAt(painter, y) !== "tracks") return null;
  const content = contentY(state.layout, state.scrollTop, state.tracksHeight, y - TRACKS_TOP_PX);
  const track = trackAt(state.layout, content);
  const strip = track?.kind === "host" ? state.hosted.strips[track.host] : undefined;
  if (track?.kind !== "host" || !strip) return null;
  const { view } = state;
  const tolerance = ((view.t1 - view.t0) / painter.plotWidth) * TOLERANCE_PX;
  const piece = pieceAt(strip, timeAt(view, painter.plotWidth, x - painter.labelWidth), tolerance);
  return piece < 0 ? null : { host: track.host, piece, step: strip.step[piece] };
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
