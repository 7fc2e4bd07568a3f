/** What is drawn over the slices: outlines of what is selected, hovered or found, and arrows. */

import { gallop, lowerBound } from "../data/columns";
import { firstVisible, type Run } from "../data/events";
import { xAt } from "../data/time";
import type { Arrow } from "../model/flows";
import type { Marks } from "../model/search";
import { type LineTrack, lineTrackOf, SLICE_PX, type Track, type TrackLayout, yOfDepth, yOfRow } from "../model/tracks";
import { type Frame, TRACKS_TOP_PX } from "./frame";

const NARROW_PX = 3;
const TICK_PX = 2;
const OVERHANG_PX = 2;

/** Draws the mark of one event at a y; `isThin`: it is the only thin one there. */
type Mark = (event: number, y: number, isThin: boolean) => void;

export function outlineMarked(frame: Frame, marks: Marks, color: string) {
  markAll(frame, marks, color, 0);
}

export function markFound(frame: Frame, marks: Marks, color: string) {
  markAll(frame, marks, color, SLICE_PX - TICK_PX);
}

/** `tickY`: from the top of the row. */
function markAll(frame: Frame, marks: Marks, color: string, tickY: number) {
  const { ctx, events, view, width } = frame;
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.lineWidth = 1;
  markTracks(frame, marks, NARROW_PX, (event, y, isThin) => {
    const x = Math.max(0, Math.floor(xAt(view, width, events.start[event])));
    if (isThin) ctx.fillRect(x, y + tickY, TICK_PX, TICK_PX);
    else outlineSlice(frame, event, y, 1);
  });
}

export function outlineHovered(frame: Frame, color: string) {
  const { ctx, hovered } = frame;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1;
  for (let k = 0; k < hovered.length; k += 3) outlineBox(frame, hovered[k], hovered[k + 1], hovered[k + 2], 1);
}

function markTracks(frame: Frame, marks: Marks, thinPx: number, mark: Mark) {
  const { events, layout, scrollTop, view } = frame;
  const taken = new Uint8Array(Math.ceil(frame.width + 1));
  const first = events.runAt(view.t0);
  for (const track of layout.tracks) {
    if (track.kind !== "line" || !isOnScreen(frame, track)) continue;
    let lastY = -1;
    for (const depth of track.bands.flat()) {
      const y = TRACKS_TOP_PX + track.y - scrollTop + yOfDepth(track, depth);
      // Depths of one band share their marks.
      if (y !== lastY) taken.fill(0);
      lastY = y;
      // What began before the first run is at most one event a row.
      for (let k = Math.max(0, first - 1); k < events.runs.length && events.runs[k].span.t0 < view.t1; k++) {
        markRun(frame, marks, events.runs[k], rowOf(track, depth), y, thinPx, taken, mark);
      }
    }
  }
}

function rowOf(track: LineTrack, depth: number): number {
  return track.firstRow + depth;
}

/** `taken`: the pixel columns where a thin slice has its mark. */
function markRun(
  frame: Frame,
  marks: Marks,
  run: Run,
  row: number,
  y: number,
  thinPx: number,
  taken: Uint8Array,
  mark: Mark,
) {
  const { view, width } = frame;
  const { start, duration } = run.times;
  const column = (view.t1 - view.t0) / width;
  const high = lowerBound(start, view.t1, run.low[row], run.high[row]);
  let i = nextMarked(marks, run, firstVisible(run, row, view.t0), high);
  while (i >= 0) {
    const x = Math.max(0, Math.floor((start[i] - view.t0) / column));
    const isThin = duration[i] < thinPx * column;
    if (!(isThin && taken[x])) {
      if (isThin) taken[x] = 1;
      mark(run.positionOf(i), y, isThin);
    }
    i = nextMarked(marks, run, Math.max(i + 1, gallop(start, start[i] + column, i, high)), high);
  }
}

/** Index of the next marked event of a run in [from, high), -1 for none. */
function nextMarked(marks: Marks, run: Run, from: number, high: number): number {
  if (!run.isSample) return from < high ? marks.next(from, high) : -1;
  for (let i = from; i < high; i++) if (marks.has(run.positionOf(i))) return i;
  return -1;
}

export function outlineEvent(frame: Frame, event: number, color: string, lineWidth: number) {
  const { ctx, events, layout, scrollTop } = frame;
  const y = yOfRow(layout, events.lineOf(event), events.depthOf(event));
  if (y === null) return;
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.lineWidth = lineWidth;
  outlineSlice(frame, event, TRACKS_TOP_PX + y - scrollTop, lineWidth);
}

function outlineSlice(frame: Frame, event: number, y: number, lineWidth: number) {
  const { events, view, width } = frame;
  const left = xAt(view, width, events.start[event]);
  const right = xAt(view, width, events.endOf(event));
  if (right - left < NARROW_PX) capSlice(frame, left, right, y, lineWidth);
  else outlineBox(frame, left, right, y, lineWidth);
}

/** Bars over and under a narrow slice, so that its colour is seen between them. */
function capSlice({ ctx, width }: Frame, left: number, right: number, y: number, lineWidth: number) {
  const x = Math.floor(left) - OVERHANG_PX;
  const capWidth = Math.ceil(Math.max(left + 1, right)) + OVERHANG_PX - x;
  if (x + capWidth < 0 || x > width) return;
  ctx.fillRect(x, y, capWidth, lineWidth);
  ctx.fillRect(x, y + SLICE_PX - lineWidth, capWidth, lineWidth);
}

/** Open at the side where the window cuts the slice. */
function outlineBox(frame: Frame, left: number, end: number, y: number, lineWidth: number) {
  const { ctx, width } = frame;
  const half = lineWidth / 2;
  const right = Math.max(left + 2, end);
  if (right < 0 || left > width) return;
  const x0 = left < 0 ? 0 : Math.round(left) + half;
  const x1 = right > width ? width : Math.max(x0 + 1, Math.round(right) - half);
  ctx.beginPath();
  ctx.moveTo(x1, y + half);
  ctx.lineTo(x0, y + half);
  if (left < 0) ctx.moveTo(x0, y + SLICE_PX - half);
  else ctx.lineTo(x0, y + SLICE_PX - half);
  ctx.lineTo(x1, y + SLICE_PX - half);
  if (right <= width) ctx.lineTo(x1, y);
  ctx.stroke();
}

function isOnScreen(frame: Frame, track: Track): boolean {
  const y = TRACKS_TOP_PX + track.y - frame.scrollTop;
  return y + track.height >= frame.tracksTop && y <= frame.tracksBottom;
}

const HEAD_PX = 6;
/** Arrows further along a chain are fainter. */
const FAR_ALPHA = 0.45;
const FOLDED_DASH = [3, 2];
/** Ends further out of sight than this are drawn where the eye still follows the curve. */
const OUT_PX = 4000;

export function drawArrows(frame: Frame, arrows: readonly Arrow[], color: string) {
  const { ctx } = frame;
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.lineWidth = 1;
  for (const arrow of arrows) {
    ctx.globalAlpha = arrow.hop > 1 ? FAR_ALPHA : 1;
    drawArrow(frame, arrow);
  }
  ctx.globalAlpha = 1;
}

function drawArrow(frame: Frame, { from, to }: Arrow) {
  const { ctx, events, view, width } = frame;
  const start = placeOf(frame, from);
  const stop = placeOf(frame, to);
  if (!start || !stop) return;
  // A cause that lasts longer than its effect waits shows where the effect began, not where the cause ended.
  const leaves = Math.min(events.endOf(from), Math.max(events.start[to], events.start[from]));
  const x0 = inReach(xAt(view, width, leaves), width);
  const x1 = inReach(xAt(view, width, events.start[to]), width);
  if (Math.max(x0, x1) < 0 || Math.min(x0, x1) > width) return;
  const bend = Math.min(60, Math.max(16, Math.abs(x1 - x0) / 2));
  ctx.setLineDash(start.isFolded || stop.isFolded ? FOLDED_DASH : []);
  ctx.beginPath();
  ctx.moveTo(x0, start.y);
  ctx.bezierCurveTo(x0 + bend, start.y, x1 - bend, stop.y, x1 - HEAD_PX, stop.y);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(x1, stop.y);
  ctx.lineTo(x1 - HEAD_PX, stop.y - 3.5);
  ctx.lineTo(x1 - HEAD_PX, stop.y + 3.5);
  ctx.fill();
}

function inReach(x: number, width: number): number {
  return Math.max(-OUT_PX, Math.min(width + OUT_PX, x));
}

interface Place {
  readonly y: number;
  /** The slice itself is not drawn: the arrow ends at what stands for it. */
  readonly isFolded: boolean;
}

/** The middle of a slice in the canvas; of one that is folded away that of the track that it is folded into. */
function placeOf(frame: Frame, position: number): Place | null {
  const { events, layout, meta } = frame;
  const line = events.lineOf(position);
  const track = lineTrackOf(layout, line);
  if (track) {
    const top = frame.yOf(track.y);
    const y = yOfDepth(track, events.depthOf(position));
    return y < 0 ? { y: top + track.height - 4, isFolded: true } : { y: top + y + SLICE_PX / 2, isFolded: false };
  }
  const y = yOfFold(layout, line, meta.lines[line].plane);
  return y === null ? null : { y: frame.yOf(y), isFolded: true };
}

/** Where what a line is folded into is drawn; null when it is hidden. */
function yOfFold({ tracks }: TrackLayout, line: number, plane: number): number | null {
  const fold = tracks.find((track) => track.kind === "fold" && track.lines.includes(line));
  const head =
    fold ??
    tracks.find((track) => track.kind === "plane" && track.plane === plane) ??
    tracks.find((track) => track.kind === "host" && track.lines.includes(line));
  return head ? head.y + head.height / 2 : null;
}
