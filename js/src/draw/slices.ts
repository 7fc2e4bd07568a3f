/** Turns the visible tracks into rectangles and names. */
import { PARTS, type SliceBuffer, visibleFrom } from "../model/events/lod";
import { hostsOf } from "../model/hosts/hosts";
import type { Steps } from "../model/time/steps";
import { xAt } from "../model/time/viewport";
import { loadOf } from "../model/tracks/counters";
import {
  type CounterTrack,
  firstTrackBelow,
  GROUP_PX,
  type GroupTrack,
  type HostTrack,
  hasWaits,
  levelsPx,
  ROW_PX,
  SLICE_PX,
} from "../model/tracks/tracks";
import { drawCounter } from "./counter";
import { drawFolded } from "./folded";
import { type Frame, fillRect, fillText, setFont, TRACKS_TOP_PX } from "./frame";
import { drawIdleGaps } from "./gaps";
import { drawHostStrip, drawWaits } from "./host_strip";
import { drawLevel } from "./levels";

/** A name needs this width. */
const TEXT_MIN_PX = 26;
/** Least height of a column, and opacity: even one that is mostly empty must be seen. */
const LEAST_PX = 1;
const FAINT_ALPHA = 0.4;
/** Columns that lie closer and differ less in height are one. */
const TOUCH_PX = 0.01;
const TOUCH_RATIO = 0.01;
/** Opacity of what the search does not match, where only matches are shown. */
const DIM_ALPHA = 0.18;

export function drawTracks(frame: Frame) {
  const { ctx, layout, scrollTop, width, labelWidth, palette, tracksTop, tracksBottom } = frame;
  setFont(frame);
  for (let k = firstTrackBelow(layout, tracksTop - TRACKS_TOP_PX + scrollTop); k < layout.tracks.length; k++) {
    const track = layout.tracks[k];
    const y = TRACKS_TOP_PX + track.y - scrollTop;
    if (y > tracksBottom) break;
    if (track.kind === "counter") drawCounterTrack(frame, track, y);
    if (track.kind === "host") drawHost(frame, track, y);
    if (track.kind === "plane") drawDeviceWaits(frame, track.plane, y + GROUP_PX);
    if (track.kind === "fold" && !track.isOpen) drawFolded(frame, track.lines, y);
    if (track.kind === "group" && !track.isOpen) drawFoldedCounters(frame, track, y);
    if (track.kind !== "line") continue;
    for (const [k, level] of track.levels.entries()) drawLevel(frame, track.firstRow, level, y + k * ROW_PX);
    for (let band = 0; band < track.bands.length; band++) {
      const bandY = y + levelsPx(track) + band * ROW_PX;
      if (bandY + ROW_PX < tracksTop || bandY > tracksBottom) continue;
      const depths = track.bands[band];
      for (const depth of depths) drawRow(frame, track.firstRow + depth, bandY, depth !== depths[depths.length - 1]);
      if (band === 0 && isMainStream(frame, track.line)) {
        const { plane } = frame.meta.lines[track.line];
        const slices = frame.layouts.of(frame, track.firstRow + depths[depths.length - 1]);
        drawIdleGaps(frame, slices, bandY, hasWaits(frame.meta, plane) ? piecesOf(frame, plane) : null);
      }
    }
    fillRect(ctx, -labelWidth, y + track.height - 2, labelWidth + width, 1, palette.rule);
  }
}

function drawHost(frame: Frame, track: HostTrack, y: number) {
  const { ctx, labelWidth, width, palette, strips } = frame;
  const strip = strips[track.host];
  if (strip) drawHostStrip(frame, strip, y);
  fillRect(ctx, -labelWidth, y + track.height - 1, labelWidth + width, 1, palette.rule);
}

/** Below the head of a device. */
function drawDeviceWaits(frame: Frame, plane: number, y: number) {
  const { ctx, labelWidth, meta, palette } = frame;
  if (!hasWaits(meta, plane)) return;
  fillText(ctx, "waits for", 15 - labelWidth, y + SLICE_PX / 2 + 2, palette.ink2);
  drawWaits(frame, piecesOf(frame, plane), y);
}

/** Parts of the steps of the host of a plane. */
function piecesOf({ allSteps, meta, strips }: Frame, plane: number): Steps["piece"] {
  return (strips[hostsOf(meta).indexOf(meta.planes[plane].host)] ?? allSteps).piece;
}

/** Of counters that are folded the one that says how busy the machine is. */
function drawFoldedCounters(frame: Frame, { lines }: GroupTrack, y: number) {
  const { ctx, counters, labelWidth, width, palette } = frame;
  const load = loadOf(lines, counters);
  if (load >= 0) drawCounter(frame, counters[load], y, GROUP_PX - 1);
  fillRect(ctx, -labelWidth, y + GROUP_PX - 1, labelWidth + width, 1, palette.rule);
}

/** A counter with its hairline, its top at `y`. */
export function drawCounterTrack(frame: Frame, track: CounterTrack, y: number) {
  const { ctx, counters, labelWidth, width, palette } = frame;
  const counter = counters[track.counter];
  if (counter) drawCounter(frame, counter, y, track.height - 1);
  fillRect(ctx, -labelWidth, y + track.height - 2, labelWidth + width, 1, palette.rule);
}

/** The busiest stream of a device: its gaps are the finding. */
function isMainStream(frame: Frame, line: number): boolean {
  const { lines, planes } = frame.meta;
  if (planes[lines[line].plane].kind !== "device" || lines[line].is_derived) return false;
  const first = frame.layout.tracks.find((t) => t.kind === "line" && lines[t.line].plane === lines[line].plane);
  return first?.kind === "line" && first.line === line;
}

/** Draws one row with its top at `y`; `isUnder` when the next row is drawn over it. */
function drawRow(frame: Frame, row: number, y: number, isUnder = false) {
  if (row >= frame.events.rows.n) return;
  const slices = frame.layouts.of(frame, row);
  drawColumns(frame, slices, y);
  drawWide(frame, slices, y);
  drawNames(frame, slices, y, isUnder ? row + 1 : -1);
  if (frame.hoveredIds.length > 0) collectHovered(frame, slices, y);
}

/** Thin slices of a hovered name would cost a look at each event; the wide ones are enough to see it. */
function collectHovered({ events, hoveredIds, hovered }: Frame, slices: SliceBuffer, y: number) {
  for (let k = 0; k < slices.n; k++) {
    if (!slices.isWide[k] || !hoveredIds.includes(events.keyOf(slices.first[k]))) continue;
    hovered.push(slices.x0[k], slices.x1[k], y);
  }
}

/**
 * What is too thin for a slice of its own: of each column the height is the share of its time that events cover, and the
 * colours have their parts of it, from the bottom up.
 */
function drawColumns({ ctx, edges, shownColors, width, only }: Frame, slices: SliceBuffer, y: number) {
  const { n, x0, x1, busy, isWide, shares, capacity, nColors } = slices;
  const bottom = y + SLICE_PX;
  if (reached.length < n) reached = new Uint8Array(capacity);
  reached.fill(0, 0, n);
  // A change of colour costs more than a rectangle.
  for (let color = 0; color < nColors; color++) {
    if (!slices.isUsed[color]) continue;
    let isSet = false;
    let alpha = -1;
    for (let k = 0, at = color * capacity; k < n; k++, at++) {
      const share = shares[at];
      if (share === 0 || isWide[k]) continue;
      if (!isSet) ctx.fillStyle = edges[color];
      isSet = true;
      const height = busy[k] * SLICE_PX;
      const px = Math.max(LEAST_PX, height) / PARTS;
      const isDimmed = only !== null && !only.any(slices.first[k], slices.last[k]);
      const own = (height < LEAST_PX ? Math.max(FAINT_ALPHA, height / LEAST_PX) : 1) * (isDimmed ? DIM_ALPHA : 1);
      if (own !== alpha) ctx.globalAlpha = own;
      alpha = own;
      reached[k] += share;
      const from = k;
      // Neighbours that are as high are one rectangle.
      while (!only && k + 1 < n && shares[at + 1] === share && goesOn(slices, k, reached[k] - share)) {
        k += 1;
        at += 1;
        reached[k] += share;
      }
      const left = Math.max(-1, x0[from]);
      ctx.fillRect(left, bottom - reached[from] * px, Math.min(width + 1, x1[k]) - left, share * px);
    }
    if (isSet) shownColors[color] = 1;
  }
  ctx.globalAlpha = 1;
}

/** Of each item the parts of its height that are drawn. */
let reached = new Uint8Array();

/** Whether the column after one touches it, is as busy, and has as much below. */
function goesOn({ x0, x1, busy, isWide }: SliceBuffer, k: number, below: number): boolean {
  return (
    isWide[k + 1] === 0 &&
    reached[k + 1] === below &&
    x0[k + 1] - x1[k] < TOUCH_PX &&
    Math.abs(busy[k + 1] - busy[k]) < TOUCH_RATIO
  );
}

function drawWide({ ctx, fills, edges, shownColors, width, only }: Frame, slices: SliceBuffer, y: number) {
  for (let k = 0; k < slices.n; k++) {
    if (!slices.isWide[k]) continue;
    const x0 = Math.max(-1, slices.x0[k]);
    const x1 = Math.min(width + 1, slices.x1[k]);
    const color = slices.color[k];
    shownColors[color] = 1;
    if (only && !only.has(slices.first[k])) ctx.globalAlpha = DIM_ALPHA;
    ctx.fillStyle = fills[color];
    ctx.fillRect(x0, y, x1 - x0, SLICE_PX);
    ctx.fillStyle = edges[color];
    ctx.fillRect(x0, y, 1, SLICE_PX);
    ctx.globalAlpha = 1;
  }
}

function drawNames(frame: Frame, slices: SliceBuffer, y: number, rowOver: number) {
  const { ctx, palette, width, labels, events, meta, only } = frame;
  ctx.fillStyle = palette.sliceInk;
  ctx.textAlign = "left";
  for (let k = 0; k < slices.n; k++) {
    if (!slices.isWide[k] || (only && !only.has(slices.first[k]))) continue;
    const x0 = Math.max(0, slices.x0[k]);
    let room = Math.min(width, slices.x1[k]) - x0;
    if (room < TEXT_MIN_PX) continue;
    if (rowOver >= 0) room = Math.min(room, roomBefore(frame, rowOver, slices.first[k], x0));
    if (room < TEXT_MIN_PX) continue;
    const [position, id] = [slices.first[k], events.name[slices.first[k]]];
    const op = events.launcherOf(position, meta.names);
    const text = op < 0 ? labels.fit(ctx, id, room - 7) : labels.fitKernel(ctx, op, id, room - 7);
    if (text !== "") ctx.fillText(text, x0 + 4, y + SLICE_PX / 2 + 0.5);
  }
}

/** Pixels from `x0` to where the row that is drawn over this slice covers it. */
function roomBefore(frame: Frame, rowOver: number, position: number, x0: number): number {
  const { events, view, width } = frame;
  const over = visibleFrom(events, rowOver, Math.max(view.t0, events.start[position]));
  if (over < 0 || events.start[over] >= events.endOf(position)) return Number.POSITIVE_INFINITY;
  return xAt(view, width, events.start[over]) - x0;
}
