/** Turns the view into the fixed head of the timeline: overview strip with its window, ruler with the range, step row. */

import { formatInstant, formatTime } from "../core/format";
import { coveredTime } from "../core/lod";
import { layoutPieces } from "../core/pieces";
import { type Span, tickStep, xAt } from "../core/viewport";
import {
  type Frame,
  fillRect,
  fillText,
  OVERVIEW_PX,
  RULER_PX,
  RULER_TOP_PX,
  STEPS_PX,
  STEPS_TOP_PX,
  setFont,
} from "./frame";

const TICK_MIN_PX = 90;

/** Share of each pixel column of the whole capture in which a set of lines is busy, 0 to 1 (mean over the lines). */
export function busyColumns(frame: Frame, lines: readonly number[]): Float32Array {
  const { width, bounds, rows } = frame;
  const columns = new Float32Array(Math.max(1, Math.floor(width)));
  const step = (bounds.t1 - bounds.t0) / columns.length;
  for (const line of lines) {
    const row = rows.firstRow[line];
    if (rows.firstRow[line + 1] === row) continue;
    for (let x = 0; x < columns.length; x++) {
      const t0 = bounds.t0 + x * step;
      columns[x] += coveredTime(rows, row, { t0, t1: t0 + step }) / step / lines.length;
    }
  }
  return columns;
}

/** The whole capture: the steps' categories above, how busy the device (or the host's threads) was below. */
export function drawOverview(frame: Frame, busy: Float32Array, busyLabel: string) {
  const { ctx, palette, labelWidth, width, steps, bounds, runs } = frame;
  setFont(frame);
  fillText(ctx, "Whole capture", -labelWidth, 7, palette.ink2);
  if (steps.n > 0) fillText(ctx, "steps", -6, 7, palette.ink2, "right");
  fillText(ctx, busyLabel, -6, 19, palette.ink2, "right");
  layoutPieces(steps.piece, bounds, width, runs);
  for (let k = 0; k < runs.n; k++) {
    fillRect(ctx, runs.x0[k], 2, runs.x1[k] - runs.x0[k], 10, palette.categories[runs.category[k]]);
  }
  const peak = busy.reduce((a, b) => Math.max(a, b), 1e-9);
  ctx.fillStyle = busyLabel === "device" ? palette.categories[3] : palette.edges[7];
  for (let x = 0; x < busy.length; x++) {
    const height = Math.ceil((busy[x] / peak) * 11);
    if (busy[x] > 0) ctx.fillRect(x, 25 - height, 1, height);
  }
  drawWindow(frame);
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

/** Ticks with grid lines down to `bottom`; the times make room for the label of the range. */
export function drawRuler(frame: Frame, bottom: number) {
  const { ctx, palette, view, width, labelWidth } = frame;
  setFont(frame);
  const step = tickStep(view, width, TICK_MIN_PX);
  const hole = rangeLabelSpan(frame);
  for (let t = Math.ceil(view.t0 / step) * step; t < view.t1; t += step) {
    const x = Math.round(xAt(view, width, t));
    fillRect(ctx, x, RULER_TOP_PX + 14, 1, bottom - RULER_TOP_PX - 14, palette.rule);
    const text = formatInstant(t, step);
    const right = x + 3 + text.length * 6;
    const isFree = !hole || right < hole.t0 || x > hole.t1;
    if (right < width && isFree) fillText(ctx, text, x + 3, RULER_TOP_PX + 8, palette.ink2);
  }
  fillRect(ctx, -labelWidth, RULER_TOP_PX + RULER_PX - 2, labelWidth + width, 1, palette.rule2);
}

/** Tint of the range over everything below the ruler. */
export function drawRangeWash(frame: Frame, bottom: number) {
  const { ctx, range, palette, view, width } = frame;
  if (!range) return;
  const x0 = Math.max(0, xAt(view, width, range.t0));
  const x1 = Math.min(width, xAt(view, width, range.t1));
  if (x1 > x0) fillRect(ctx, x0, STEPS_TOP_PX - 1, x1 - x0, bottom - STEPS_TOP_PX + 1, palette.actWash);
}

/** Edges, bracket and words of the range; arrows where it leaves the window. */
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

/** Pixels that the range's label takes on the ruler, kept inside the plot; null without a range. */
function rangeLabelSpan(frame: Frame): Span | null {
  const { ctx, range, view, width } = frame;
  if (!range) return null;
  setFont(frame, 600);
  const half = ctx.measureText(shownLabel(frame)).width / 2 + 5;
  setFont(frame);
  const left = Math.max(0, xAt(view, width, range.t0));
  const right = Math.min(width, xAt(view, width, range.t1));
  const middle = Math.min(width - half, Math.max(half, (left + right) / 2));
  return { t0: middle - half, t1: middle + half };
}

/** Names and times of the steps, and under them each step's own composition in the order of time. */
export function drawSteps(frame: Frame, chosen: number) {
  const { ctx, palette, steps, view, width, labelWidth, runs } = frame;
  setFont(frame, 600);
  fillText(ctx, "Steps", -labelWidth, STEPS_TOP_PX + 10, palette.ink);
  setFont(frame);
  const remark = steps.n === 0 ? "none found" : steps.isInferred ? "inferred" : "";
  fillText(ctx, remark, 38 - labelWidth, STEPS_TOP_PX + 10, palette.ink2);
  layoutPieces(steps.piece, view, width, runs);
  for (let k = 0; k < runs.n; k++) {
    fillRect(ctx, runs.x0[k], STEPS_TOP_PX + 15, runs.x1[k] - runs.x0[k], 5, palette.categories[runs.category[k]]);
  }
  drawStepNames(frame, chosen);
}

function drawStepNames(frame: Frame, chosen: number) {
  const { ctx, palette, steps, view, width } = frame;
  let written = -1;
  for (let i = firstStep(frame); i < steps.n && steps.start[i] < view.t1; i++) {
    const left = xAt(view, width, steps.start[i]);
    const x0 = Math.max(0, left);
    const x1 = Math.min(width, xAt(view, width, steps.end[i]));
    // Steps thinner than a mark and its gap would only make a bar of marks.
    if (x1 - x0 >= 4 && left >= 0) fillRect(ctx, x0, STEPS_TOP_PX, 1, STEPS_PX - 4, palette.rule2);
    if (i === chosen) {
      ctx.strokeStyle = palette.ink;
      ctx.lineWidth = 1;
      ctx.strokeRect(Math.round(x0) + 0.5, STEPS_TOP_PX + 0.5, Math.max(1, Math.round(x1 - x0) - 1), STEPS_PX - 5);
    }
    if (x1 - x0 < 20 || x0 < written) continue;
    const full = `${steps.names[i]} · ${formatTime(steps.end[i] - steps.start[i])}`;
    const text = [full, steps.names[i]].find((t) => ctx.measureText(t).width + 8 < x1 - x0);
    if (!text) continue;
    fillText(ctx, text, x0 + 4, STEPS_TOP_PX + 8, palette.ink);
    written = x0 + 4 + ctx.measureText(text).width;
  }
}

function firstStep(frame: Frame): number {
  const { steps, view } = frame;
  let low = 0;
  let high = steps.n;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (steps.end[middle] <= view.t0) low = middle + 1;
    else high = middle;
  }
  return low;
}
