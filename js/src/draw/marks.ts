/** The head of the timeline (overview, ruler, steps, linked range), and what is drawn over the slices: outlines and arrows. */

import { gallop, lowerBound, PS_PER_NS, type Span, tickStep, upperBound, xAt } from "../data/columns";
import { firstVisible, type Run } from "../data/events";
import { CATEGORIES } from "../data/meta";
import type { Arrow } from "../model/rows";
import type { Hits, Marks } from "../model/search";
import { layoutPieces, RunBuffer, type Steps } from "../model/steps";
import { formatInstant, formatTime } from "../model/text";
import { lineTrackOf, SLICE_PX, type Track, type TrackLayout, yOfDepth, yOfRow } from "../model/tracks";
import {
  type Frame,
  fillRect,
  fillRuns,
  fillText,
  OVERVIEW_PX,
  RULER_PX,
  RULER_TOP_PX,
  STEPS_PX,
  STEPS_TOP_PX,
  setFont,
  TRACKS_TOP_PX,
} from "./frame";

const TICK_MIN_PX = 90;
const FLAG_GAP_PX = 2;
const EVIDENCE_PX = 3;
const STEP_GAP_PX = 4;
/** Between the steps and how busy the capture is; cleared while there is a search, so that its marks stand out. */
const HIT_LANE = { y: 10, height: 5 };
const HIT = { y: 11, height: 3, leastWidth: 2 };
/** Where steps are too thin for their names, one in so many is named. */
const STEP_STRIDES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] as const;

/** The whole capture: the steps' categories above, how busy (by bin) the device or the host's threads were below, hits between. */
export function drawOverview(frame: Frame, busy: readonly number[], busyLabel: string, hits: Hits | null) {
  const { ctx, palette, labelWidth, width, steps } = frame;
  const runs = wholeRuns(frame);
  setFont(frame);
  fillText(ctx, "Whole capture", -labelWidth, 7, palette.ink2);
  if (steps.n > 0) fillText(ctx, "steps", -6, 7, palette.ink2, "right");
  fillText(ctx, busyLabel, -6, 19, palette.ink2, "right");
  fillRuns(ctx, runs, 2, 10, palette.categories);
  // A device is as full as it is busy; of many threads few ever are.
  const peak = busyLabel === "device" ? 1 : busy.reduce((a, b) => Math.max(a, b), 1e-9);
  ctx.fillStyle = busyLabel === "device" ? palette.categories[CATEGORIES.indexOf("device_compute")] : palette.edges[7];
  const columns = Math.floor(width);
  for (let x = 0, from = 0, last = 0; x <= columns; x++) {
    const height =
      x < columns ? (meanOf(busy, (x / columns) * busy.length, ((x + 1) / columns) * busy.length) / peak) * 11 : 0;
    if (height === last && x < columns) continue;
    if (last > 0) ctx.fillRect(from, 25 - last, x - from, last);
    from = x;
    last = height;
  }
  if (hits) fillRect(ctx, 0, HIT_LANE.y, width, HIT_LANE.height, palette.bg);
  drawWindow(frame);
  if (hits) drawHits(frame, hits);
}

function meanOf(bins: readonly number[], from: number, to: number): number {
  let sum = 0;
  for (let k = Math.floor(from); k < Math.min(to, bins.length); k++) {
    sum += bins[k] * (Math.min(to, k + 1) - Math.max(from, k));
  }
  return sum / (to - from);
}

/** The pieces over the whole capture, which change only with the width. */
const WHOLE = new WeakMap<
  Steps["piece"],
  { readonly bounds: Span; readonly width: number; readonly runs: RunBuffer }
>();

function wholeRuns({ steps, bounds, width }: Frame): RunBuffer {
  const known = WHOLE.get(steps.piece);
  if (known?.bounds === bounds && known.width === width) return known.runs;
  const runs = new RunBuffer(width);
  layoutPieces(steps.piece, bounds, width, runs);
  WHOLE.set(steps.piece, { bounds, width, runs });
  return runs;
}

function drawWindow(frame: Frame) {
  const { ctx, palette, width, bounds, view } = frame;
  const x0 = xAt(bounds, width, view.t0);
  const x1 = Math.max(x0 + 3, xAt(bounds, width, view.t1));
  ctx.globalAlpha = 0.55;
  fillRect(ctx, 0, 0, x0, OVERVIEW_PX, palette.bg);
  fillRect(ctx, x1, 0, width - x1, OVERVIEW_PX, palette.bg);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = palette.ink;
  ctx.lineWidth = 1;
  ctx.strokeRect(Math.round(x0) + 0.5, 0.5, Math.max(1, Math.round(x1 - x0) - 1), OVERVIEW_PX - 1);
  fillRect(ctx, x0 - 1, 8, 3, 10, palette.ink);
  fillRect(ctx, x1 - 2, 8, 3, 10, palette.ink);
}

function drawHits({ ctx, palette, width, bounds }: Frame, hits: Hits) {
  const { bins } = hits;
  ctx.fillStyle = palette.act;
  for (let bin = bins.indexOf(1); bin >= 0; ) {
    let end = bins.indexOf(0, bin);
    if (end < 0) end = bins.length;
    const x = Math.floor(xAt(bounds, width, hits.timeOf(bin)));
    const right = xAt(bounds, width, hits.timeOf(end));
    ctx.fillRect(x, HIT.y, Math.max(HIT.leastWidth, right - x), HIT.height);
    bin = bins.indexOf(1, end);
  }
}

/** Ticks with grid lines down to `bottom`; the times make room for the label of the range. */
export function drawRuler(frame: Frame, bottom: number) {
  const { ctx, palette, view, width, labelWidth } = frame;
  setFont(frame);
  const step = tickStep(view, width, TICK_MIN_PX);
  const label = rangeLabelSpan(frame);
  const holes = label ? [label, ...frame.flags] : frame.flags;
  for (let t = Math.ceil(view.t0 / step) * step; t < view.t1; t += step) {
    const x = Math.round(xAt(view, width, t));
    fillRect(ctx, x, RULER_TOP_PX + 14, 1, bottom - RULER_TOP_PX - 14, palette.rule);
    const text = formatInstant(t, step);
    const right = x + 3 + text.length * 6;
    const isFree = !holes.some((hole) => right >= hole.t0 && x <= hole.t1);
    if (right < width && isFree) fillText(ctx, text, x + 3, RULER_TOP_PX + 8, palette.ink2);
  }
  fillRect(ctx, -labelWidth, RULER_TOP_PX + RULER_PX - 2, labelWidth + width, 1, palette.rule2);
}

export function drawRangeWash(frame: Frame, bottom: number) {
  const { ctx, range, palette, view, width } = frame;
  if (!range) return;
  const x0 = Math.max(0, xAt(view, width, range.t0));
  const x1 = Math.min(width, xAt(view, width, range.t1));
  if (x1 > x0) fillRect(ctx, x0, STEPS_TOP_PX - 1, x1 - x0, bottom - STEPS_TOP_PX + 1, palette.actWash);
}

/** What of a step the shown card is about: a band under the tracks, with a bar above each stretch. */
export function drawStretches(frame: Frame, bottom: number) {
  const { ctx, stretches, palette, view, width } = frame;
  for (let i = 0; i + 1 < stretches.length; i += 2) {
    const [t0, t1] = [stretches[i] * PS_PER_NS, stretches[i + 1] * PS_PER_NS];
    if (t1 < view.t0 || t0 > view.t1) continue;
    const x0 = Math.max(0, xAt(view, width, t0));
    const pixels = Math.max(Math.min(width, xAt(view, width, t1)) - x0, 1);
    fillRect(ctx, x0, TRACKS_TOP_PX, pixels, bottom - TRACKS_TOP_PX, palette.actWash);
    fillRect(ctx, x0, TRACKS_TOP_PX - EVIDENCE_PX, pixels, EVIDENCE_PX, palette.act);
  }
}

export function drawRangeBracket(frame: Frame, bottom: number) {
  const { ctx, range, palette, view, width } = frame;
  const label = rangeLabelSpan(frame);
  if (!range || !label) return;
  const left = xAt(view, width, range.t0);
  const right = xAt(view, width, range.t1);
  const y = STEPS_TOP_PX - 3;
  if (right > 0 && left < width)
    fillRect(ctx, Math.max(0, left), y, Math.min(width, right) - Math.max(0, left), 2, palette.act);
  for (const [x, inset] of [
    [left, 0],
    [right, -2],
  ]) {
    if (x < 0 || x > width) continue;
    fillRect(ctx, Math.round(x) + (inset ? -1 : 0), y + 2, 1, bottom - y - 2, palette.act);
    fillRect(ctx, x + inset, y - 2, 2, 5, palette.act);
  }
  fillRect(ctx, label.t0, RULER_TOP_PX, label.t1 - label.t0, 15, palette.bg);
  setFont(frame, 600);
  fillText(ctx, shownLabel(frame), (label.t0 + label.t1) / 2, RULER_TOP_PX + 8, palette.ink, "center");
  setFont(frame);
}

function shownLabel(frame: Frame): string {
  const { range, view, rangeLabel } = frame;
  if (!range) return "";
  return `${range.t0 < view.t0 ? "◂ " : ""}${rangeLabel}${range.t1 > view.t1 ? " ▸" : ""}`;
}

/** Pixels that the range's label takes on the ruler, inside the plot and beside the flags; null without a range. */
export function rangeLabelSpan(frame: Frame): Span | null {
  const { range, view, width, flags } = frame;
  if (!range) return null;
  const px = boldWidth(frame, shownLabel(frame)) + 10;
  const left = Math.max(0, xAt(view, width, range.t0));
  const right = Math.min(width, xAt(view, width, range.t1));
  const at = (x: number) => {
    const t0 = Math.min(width - px, Math.max(0, x));
    return { t0, t1: t0 + px };
  };
  const inWay = (place: Span) => flags.filter((flag) => flag.t0 < place.t1 && flag.t1 > place.t0);
  const middle = at((left + right - px) / 2);
  const near = inWay(middle);
  if (near.length === 0) return middle;
  const beside = [
    at(Math.max(...near.map(({ t1 }) => t1)) + FLAG_GAP_PX),
    at(Math.min(...near.map(({ t0 }) => t0)) - px - FLAG_GAP_PX),
  ];
  return beside.find((place) => inWay(place).length === 0) ?? middle;
}

/** The text that was measured last: a change of font costs more than all else in the head. */
let measured = { text: "", font: "", px: 0 };

function boldWidth(frame: Frame, text: string): number {
  const { ctx, palette } = frame;
  if (measured.text === text && measured.font === palette.font) return measured.px;
  setFont(frame, 600);
  measured = { text, font: palette.font, px: ctx.measureText(text).width };
  setFont(frame);
  return measured.px;
}

export function drawSteps(frame: Frame, chosen: number, host = "") {
  const { ctx, palette, steps, view, width, labelWidth, runs } = frame;
  setFont(frame, 600);
  fillText(ctx, "Steps", -labelWidth, STEPS_TOP_PX + 10, palette.ink);
  setFont(frame);
  const remark = steps.n === 0 ? "none found" : steps.isInferred ? "inferred" : "";
  fillText(ctx, remark || shortened(ctx, host, labelWidth - 46), 38 - labelWidth, STEPS_TOP_PX + 10, palette.ink2);
  layoutPieces(steps.piece, view, width, runs);
  fillRuns(ctx, runs, STEPS_TOP_PX + 15, 5, palette.categories);
  drawStepNames(frame, chosen);
}

/** The end of a name tells hosts apart. */
function shortened(ctx: CanvasRenderingContext2D, name: string, room: number): string {
  let text = name;
  for (let cut = 1; cut < name.length && ctx.measureText(text).width > room; cut++) text = `…${name.slice(cut)}`;
  return text;
}

function drawStepNames(frame: Frame, chosen: number) {
  const { ctx, palette, steps, view, width } = frame;
  let written = 0;
  const first = upperBound(steps.end, view.t0, 0, steps.n);
  const stride = stepStride(frame, first);
  for (let i = first; i < steps.n && steps.start[i] < view.t1; i++) {
    const left = xAt(view, width, steps.start[i]);
    const x0 = Math.max(0, left);
    const x1 = Math.min(width, xAt(view, width, steps.end[i]));
    if (stride > 1 && i % stride === 0 && left >= written) {
      const right = x0 + 4 + ctx.measureText(steps.names[i]).width;
      fillRect(ctx, x0, STEPS_TOP_PX, 1, STEPS_PX - 4, palette.rule2);
      if (right < width) fillText(ctx, steps.names[i], x0 + 4, STEPS_TOP_PX + 8, palette.ink);
      written = right + STEP_GAP_PX;
    }
    // Steps thinner than a mark and its gap would only make a bar of marks.
    const isMarked = stride === 1 && x1 - x0 >= 4 && left >= 0;
    if (isMarked) fillRect(ctx, x0, STEPS_TOP_PX, 1, STEPS_PX - 4, palette.rule2);
    if (i === chosen) {
      ctx.strokeStyle = palette.ink;
      ctx.lineWidth = 1;
      ctx.strokeRect(Math.round(x0) + 0.5, STEPS_TOP_PX + 0.5, Math.max(1, Math.round(x1 - x0) - 1), STEPS_PX - 5);
    }
    if (stride > 1 || x1 - x0 < 20 || x0 < written) continue;
    const full = `${steps.names[i]} · ${formatTime(steps.end[i] - steps.start[i])}`;
    const text = [full, steps.names[i]].find((t) => ctx.measureText(t).width + 8 < x1 - x0);
    if (!text) continue;
    fillText(ctx, text, x0 + 4, STEPS_TOP_PX + 8, palette.ink);
    written = x0 + 4 + ctx.measureText(text).width;
  }
}

/** 1 where the steps on screen have room for their names, else which of them are named. */
function stepStride({ ctx, steps, view, width }: Frame, first: number): number {
  const last = lowerBound(steps.start, view.t1, first, steps.n);
  const n = last - first;
  if (n < 2) return 1;
  const px = (xAt(view, width, steps.end[last - 1]) - xAt(view, width, steps.start[first])) / n;
  const needed = ctx.measureText(steps.names[last - 1]).width + 12;
  return STEP_STRIDES.find((stride) => stride * px >= needed) ?? STEP_STRIDES[STEP_STRIDES.length - 1];
}

/** Closer together on average, the lines would be a hatching. */
const DENSE_PX = 12;

export function drawStepLines(frame: Frame, top: number, bottom: number) {
  const { ctx, palette, steps, view, width } = frame;
  const from = lowerBound(steps.start, view.t0, 0, steps.n);
  const to = lowerBound(steps.start, view.t1, from, steps.n);
  if (to - from > width / DENSE_PX) return;
  for (let i = from; i < to; i++) {
    fillRect(ctx, Math.round(xAt(view, width, steps.start[i])), top, 1, bottom - top, palette.rule2);
    // The end is the next one's start, but for what little lies between.
    if (i + 1 < steps.n || steps.end[i] >= view.t1) continue;
    fillRect(ctx, Math.round(xAt(view, width, steps.end[i])), top, 1, bottom - top, palette.rule2);
  }
}

const NARROW_PX = 3;
const TICK_PX = 2;
const OVERHANG_PX = 2;

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
        markRun(frame, marks, events.runs[k], track.firstRow + depth, y, thinPx, taken, mark);
      }
    }
  }
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
