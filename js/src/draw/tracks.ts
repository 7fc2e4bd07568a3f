/** The visible tracks as rectangles and names: slices, levels, strips of hosts, counters, gaps. */

import { firstWhere, gallop, lowerBound, type Span, upperBound, xAt } from "../data/columns";
import { notReduced } from "../data/hosts";
import { CATEGORIES, CATEGORY_LABELS } from "../data/meta";
import { type HostStrip, hostsOf } from "../model/hosts";
import { axisTop, type Counter, extremeInSpan, loadOf, PARTS, type SliceBuffer, visibleFrom } from "../model/lod";
import { timeInside } from "../model/range";
import type { LevelName } from "../model/rows";
import { layoutPieces, mainCategory, type Steps } from "../model/steps";
import { formatPercent, formatTime } from "../model/text";
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
} from "../model/tracks";
import { type Frame, fillRect, fillRuns, fillText, setFont, TRACKS_TOP_PX } from "./frame";

const FAINT_ALPHA = 0.4;
/** Columns that lie closer and differ less in height are one. */
const TOUCH_PX = 0.01;
const TOUCH_RATIO = 0.01;
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

function drawDeviceWaits(frame: Frame, plane: number, y: number) {
  const { ctx, labelWidth, meta, palette } = frame;
  if (!hasWaits(meta, plane)) return;
  fillText(ctx, "waits for", 15 - labelWidth, y + SLICE_PX / 2 + 2, palette.ink2);
  drawWaits(frame, piecesOf(frame, plane), y);
}

function piecesOf({ allSteps, meta, strips }: Frame, plane: number): Steps["piece"] {
  return (strips[hostsOf(meta).indexOf(meta.planes[plane].host)] ?? allSteps).piece;
}

function drawFoldedCounters(frame: Frame, { lines }: GroupTrack, y: number) {
  const { ctx, counters, labelWidth, width, palette } = frame;
  const load = loadOf(lines, counters);
  if (load >= 0) drawCounter(frame, counters[load], y, GROUP_PX - 1);
  fillRect(ctx, -labelWidth, y + GROUP_PX - 1, labelWidth + width, 1, palette.rule);
}

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

/** What is too thin for a slice: a column is as high as the share of its time that events cover, its colours from the bottom up. */
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

const WIDE_PX = 3;
const TEXT_MIN_PX = 26;

/** Draws the level of a row with its top at `y`: at most one item per pixel column. */
export function drawLevel(frame: Frame, row: number, name: LevelName, y: number) {
  const { ctx, palette, view, width, levels, labels } = frame;
  const { start, end, busy, first } = levels.spans(row, name);
  const scale = width / (view.t1 - view.t0);
  const bar = (x0: number, x1: number, k: number, to: number) => {
    const whole = to - k > 1 ? (x1 - x0) / scale : end[k] - start[k];
    const height = Math.max(1, Math.min(1, (busy[to] - busy[k]) / Math.max(1, whole)) * SLICE_PX);
    fillRect(ctx, x0, y + SLICE_PX - height, x1 - x0, height, palette.rule2);
  };
  for (let k = upperBound(end, view.t0), to = k; k < start.length && start[k] < view.t1; k = to) {
    const [left, right] = [start[k], end[k]].map((time) => (time - view.t0) * scale);
    to = k + 1;
    if (right - left < WIDE_PX) {
      const x0 = Math.max(-1, Math.floor(left));
      to = Math.max(to, gallop(start, view.t0 + (x0 + 1) / scale, k, start.length));
      // The last one may be wide and begin in this column: leave it to the next round.
      if (to - k > 1 && (end[to - 1] - start[to - 1]) * scale >= WIDE_PX) to -= 1;
      bar(x0, Math.max(x0 + 1, (end[to - 1] - view.t0) * scale), k, to);
      continue;
    }
    const [x0, x1] = [Math.max(-1, left), Math.min(width + 1, right)];
    fillRect(ctx, x0, y, x1 - x0, SLICE_PX, palette.rule);
    bar(x0, x1, k, to);
    fillRect(ctx, x0, y, 1, SLICE_PX, palette.bg);
    const room = x1 - Math.max(0, x0) - 7;
    if (room < TEXT_MIN_PX) continue;
    ctx.fillStyle = palette.ink;
    ctx.textAlign = "left";
    ctx.fillText(labels.fitPath(ctx, levels.nameOf(name, first[k]), room), Math.max(0, x0) + 4, y + SLICE_PX / 2 + 0.5);
  }
}

/** Of more lines the row would cost more than all that are shown. */
const MAX_FOLDED_LINES = 128;
const LEAST_PX = 1;

let foldedBusy = new Float32Array();

/** Pale: up to the time of one line; dark: the share of the time of all. */
export function drawFolded(frame: Frame, lines: readonly number[], y: number) {
  const { width, events, layouts } = frame;
  const { firstRow } = events.rows;
  if (lines.length > MAX_FOLDED_LINES) return;
  const n = Math.ceil(width);
  if (foldedBusy.length < n) foldedBusy = new Float32Array(n);
  foldedBusy.fill(0);
  for (const line of lines) {
    if (firstRow[line] === firstRow[line + 1]) continue;
    const slices = layouts.of(frame, firstRow[line]);
    for (let k = 0; k < slices.n; k++) {
      const share = slices.isWide[k] ? 1 : slices.busy[k];
      const [x0, x1] = [Math.max(0, slices.x0[k]), Math.min(n, slices.x1[k])];
      for (let x = Math.floor(x0); x < x1; x++) foldedBusy[x] += share * (Math.min(x + 1, x1) - Math.max(x, x0));
    }
  }
  fillShares(frame, 1, y, 0.5);
  fillShares(frame, 1 / lines.length, y, 1);
}

function fillShares({ ctx, palette, width }: Frame, scale: number, y: number, alpha: number) {
  const room = GROUP_PX - 4;
  ctx.globalAlpha = alpha;
  for (let x = 0, to = 0; x < width; x = to) {
    for (to = x + 1; to < width && foldedBusy[to] === foldedBusy[x]; ) to += 1;
    const height = Math.max(LEAST_PX, Math.min(1, foldedBusy[x] * scale) * room);
    if (foldedBusy[x] > 0) fillRect(ctx, x, y + room + 1 - height, to - x, height, palette.memoryHeap);
  }
  ctx.globalAlpha = 1;
}

const STRIP_TOP_PX = 2;
const STRIP_PX = 14;
const STRIP_NAME_PX = 34;
const COMPUTE = CATEGORIES.indexOf("device_compute");
const STEP_APART_PX = 6;

export function drawHostStrip(frame: Frame, strip: HostStrip, y: number) {
  layoutPieces(strip.piece, frame.view, frame.width, frame.runs);
  const { category, n } = frame.runs;
  // The legend has room for few: waits are named in their row, and in the list of what a step is made of.
  for (let k = 0; k < n; k++) frame.shownCategories[category[k]] = 1;
  drawPieces(frame, y);
  drawStepEdges(frame, strip, y);
  drawCategoryNames(frame, y);
}

export function drawWaits(frame: Frame, piece: Steps["piece"], y: number) {
  layoutPieces(piece, frame.view, frame.width, frame.runs, COMPUTE);
  drawPieces(frame, y);
  drawCategoryNames(frame, y);
}

function drawPieces({ ctx, runs, palette }: Frame, y: number) {
  fillRuns(ctx, runs, y + STRIP_TOP_PX, STRIP_PX, palette.categories, WIDE_PX);
  for (let k = 0; k < runs.n; k++) {
    if (!runs.isWide(k, WIDE_PX)) continue;
    const [x0, x1] = [runs.x0[k], runs.x1[k]];
    fillRect(ctx, x0, y + STRIP_TOP_PX, 1, STRIP_PX, palette.categories[runs.category[k]]);
    fillRect(ctx, x0 + 1, y + STRIP_TOP_PX, x1 - x0 - 1, STRIP_PX, palette.categoryFills[runs.category[k]]);
  }
}

/** A gap before each step, so that two are two. */
function drawStepEdges({ ctx, allSteps, palette, view, width }: Frame, { rows }: HostStrip, y: number) {
  const start = (k: number) => allSteps.start[rows[k]];
  const [from, to] = [view.t0, view.t1].map((time) => firstWhere(rows.length, (k) => start(k) >= time));
  if (to - from > width / STEP_APART_PX) return;
  for (let k = from; k < to; k++) {
    fillRect(ctx, Math.round(xAt(view, width, start(k))) - 1, y + STRIP_TOP_PX, 1, STRIP_PX, palette.bg);
  }
}

function drawCategoryNames({ ctx, runs, palette, width }: Frame, y: number) {
  ctx.fillStyle = palette.ink;
  ctx.textAlign = "left";
  for (let k = 0; k < runs.n; k++) {
    if (!runs.isWide(k, STRIP_NAME_PX)) continue;
    const x0 = Math.max(0, runs.x0[k]);
    const room = Math.min(width, runs.x1[k]) - x0 - 8;
    if (room < STRIP_NAME_PX - 8) continue;
    const text = CATEGORY_LABELS[CATEGORIES[runs.category[k]]];
    if (ctx.measureText(text).width <= room) ctx.fillText(text, x0 + 4, y + STRIP_TOP_PX + STRIP_PX / 2 + 0.5);
  }
}

/** The piece of a host at a moment, -1 for none. */
export function pieceAt({ piece }: HostStrip, time: number, tolerance: number): number {
  const next = lowerBound(piece.start, time + tolerance, 0, piece.start.length);
  // The last that began: pieces of one host do not overlap.
  for (let p = next - 1; p >= 0 && p >= next - 2; p--) if (piece.end[p] > time - tolerance) return p;
  return -1;
}

const COUNTER_PAD_PX = 3;

export function drawCounter(frame: Frame, counter: Counter, y: number, height: number) {
  const { ctx, palette, width } = frame;
  const bottom = y + height - COUNTER_PAD_PX;
  const room = height - 2 * COUNTER_PAD_PX;
  ctx.fillStyle = palette.memoryHeap;
  // Where a pixel holds many changes: what was always in use is dark, what was reached at times is pale.
  const curve = curveOf(counter, frame.view, width);
  const scale = room / axisTop(counter);
  ctx.globalAlpha = 0.5;
  fillCurve(frame, curve.max, scale, bottom, room);
  ctx.globalAlpha = 1;
  fillCurve(frame, curve.min, scale, bottom, room);
  fillRect(ctx, 0, bottom, width, 1, palette.rule2);
}

interface Curve {
  readonly view: Span;
  readonly min: Float64Array;
  readonly max: Float64Array;
}

const CURVES = new WeakMap<Counter, Curve>();

function curveOf(counter: Counter, view: Span, width: number): Curve {
  const known = CURVES.get(counter);
  const n = Math.ceil(width);
  if (known && known.view.t0 === view.t0 && known.view.t1 === view.t1 && known.min.length === n) return known;
  const curve = { view, min: new Float64Array(n), max: new Float64Array(n) };
  const column = (view.t1 - view.t0) / width;
  for (const which of ["min", "max"] as const) {
    const cursor = { index: 0 };
    for (let x = 0; x < n; x++) {
      const t0 = view.t0 + x * column;
      curve[which][x] = extremeInSpan(counter, which, t0, t0 + column, cursor);
    }
  }
  CURVES.set(counter, curve);
  return curve;
}

function fillCurve({ ctx, width }: Frame, values: Float64Array, scale: number, bottom: number, room: number) {
  let before = bottom;
  ctx.beginPath();
  ctx.moveTo(0, bottom);
  for (let x = 0; x < width; x++) {
    const value = values[x];
    // Nothing is drawn where nothing is known. A level that is not 0 is seen, however small beside the peak.
    const top = value > 0 ? bottom - Math.max(1, Math.min(room, value * scale)) : bottom;
    // Steps, not slopes: what is counted changes at once.
    if (top === before) continue;
    ctx.lineTo(x, before);
    ctx.lineTo(x, top);
    before = top;
  }
  ctx.lineTo(width, before);
  ctx.lineTo(width, bottom);
  ctx.closePath();
  ctx.fill();
}

export function drawNoCounter(frame: Frame, y: number) {
  const { ctx, palette, width, labelWidth, meta } = frame;
  fillRect(ctx, -labelWidth, y - 2, labelWidth + width, 1, palette.rule);
  fillText(ctx, "Memory in use", 15 - labelWidth, y + 8, palette.ink2);
  const reduced = (meta.n_allocators ?? 0) > 0 ? notReduced(meta, "counters") : "";
  const reason = reduced || meta.memory_remedy?.split("\n")[0] || "Not recorded on this run.";
  fillText(ctx, reason, 6, y + 8, palette.ink);
}

const GAP_MIN_PX = 30;
const NEARLY_ALL = 0.9;
type Cause = NonNullable<ReturnType<typeof mainCategory>>;

/** Labels the gaps of a row with their length and what the device waited for, by the parts of the steps `piece`, if any tell it. */
function drawIdleGaps(frame: Frame, slices: SliceBuffer, y: number, piece: Steps["piece"] | null) {
  const { events, width } = frame;
  for (let k = 0; k + 1 < slices.n; k++) {
    const x0 = Math.max(0, slices.x1[k]) + 3;
    const x1 = Math.min(width, slices.x0[k + 1]) - 3;
    if (x1 - x0 < GAP_MIN_PX) continue;
    const t0 = events.endOf(slices.last[k]);
    const t1 = events.start[slices.first[k + 1]];
    // Of what is not loaded the sample knows the longest slices, not what is between them.
    if (!events.isLoaded(events.tileAt(t0)) || !events.isLoaded(events.tileAt(t1))) continue;
    if (timeInside(frame.uncaptured, { t0, t1 }) > 0) continue;
    drawGap(frame, x0, x1, y, t1 - t0, piece ? mainCategory(piece, { t0, t1 }, COMPUTE) : null);
  }
}

function drawGap(frame: Frame, x0: number, x1: number, y: number, idlePs: number, cause: Cause | null) {
  const { ctx, palette } = frame;
  const room = x1 - x0;
  const time = formatTime(idlePs);
  const words = [...(cause ? [`idle ${time} · ${causeWords(cause)}`] : []), `idle ${time}`, time];
  const text = words.find((one) => ctx.measureText(one).width + 6 <= room);
  if (text === undefined) return;
  const half = ctx.measureText(text).width / 2 + 3;
  const middle = (x0 + x1) / 2;
  fillText(ctx, text, middle, y + SLICE_PX / 2 + 0.5, palette.ink, "center");
  if (middle - half <= x0 + 2) return;
  fillRect(ctx, x0, y + SLICE_PX / 2, middle - half - x0, 1, palette.ink2);
  fillRect(ctx, middle + half, y + SLICE_PX / 2, x1 - middle - half, 1, palette.ink2);
}

function causeWords({ category, ratio }: Cause): string {
  const label = CATEGORY_LABELS[CATEGORIES[category]];
  return ratio < NEARLY_ALL ? `${label} ${formatPercent(ratio)}` : label;
}

export function drawSessionGaps(frame: Frame, top: number, bottom: number) {
  const { ctx, palette, view, width } = frame;
  for (const { t0, t1 } of frame.uncaptured) {
    const x0 = Math.max(0, xAt(view, width, t0));
    const x1 = Math.min(width, xAt(view, width, t1));
    if (x1 - x0 < 1) continue;
    fillRect(ctx, x0, top, x1 - x0, bottom - top, palette.bg2);
    fillRect(ctx, x0, top, 1, bottom - top, palette.rule2);
    fillRect(ctx, x1 - 1, top, 1, bottom - top, palette.rule2);
    const fits = (text: string) => ctx.measureText(text).width + 8 < x1 - x0;
    const text = [`not captured, ${formatTime(t1 - t0)}`, "not captured"].find(fits);
    if (text) fillText(ctx, text, (x0 + x1) / 2, top + 9, palette.ink2, "center");
  }
}

/** Tints the time of which only a sample is here: few slices there do not mean that little ran. */
export function drawSampled(frame: Frame, top: number, bottom: number) {
  const { ctx, palette, view, width } = frame;
  for (const { t0, t1 } of frame.sampled) {
    const x0 = Math.max(0, xAt(view, width, t0));
    const x1 = Math.min(width, xAt(view, width, t1));
    if (x1 - x0 >= 1) fillRect(ctx, x0, top, x1 - x0, bottom - top, palette.bg2);
  }
}
