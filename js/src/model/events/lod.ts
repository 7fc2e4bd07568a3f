/**
 * Turns one row of events and a view into what is drawn of it: at most one item per pixel column.
 *
 * Wide slices stay themselves; events that start in the same pixel column become one item that knows how much of the
 * column they cover. The search for the next column gallops, so a row costs its pixels, not its events. Columns are laid
 * out from time 0, not from the left edge: panning moves the picture instead of reshuffling it.
 */

import type { Span } from "../time/viewport";
import { lowerBound } from "../wire/bisect";
import type { Events } from "./events";
import { carriedIn } from "./nesting";
import { BLOCK, COARSE_BITS, coverOf, endAt, firstVisible, nextFrom, type Run } from "./runs";

/** From this width on a slice is drawn with fill and edge. */
const WIDE_PX = 3;
/** Steps of darkness of merged columns. */
const SHADES = 4;
const SAMPLES = 4;
/** Thin events that are looked at around a point. */
const MAX_LOOKS = 256;
/** Where two runs meet, a pixel column may have two items. */
const SPARE = 512;

/** Reused for every row of every frame. */
export class SliceBuffer {
  n = 0;
  /** Where the last item ends. */
  right = 0;
  x0: Float32Array;
  x1: Float32Array;
  /** First and last position that the item stands for. */
  first: Int32Array;
  last: Int32Array;
  /** Position of the longest of them that was looked at: gives the colour. */
  shown: Int32Array;
  /** What the layout's function gave for it. */
  color: Uint8Array;
  /** 0 for a wide slice, else 1..SHADES. */
  shade: Uint8Array;

  constructor(width = 2048) {
    const n = (Math.ceil(width) + SPARE + 3) & ~3;
    const bytes = new ArrayBuffer(22 * n);
    [this.x0, this.x1] = [0, 1].map((k) => new Float32Array(bytes, 4 * n * k, n));
    [this.first, this.last, this.shown] = [2, 3, 4].map((k) => new Int32Array(bytes, 4 * n * k, n));
    [this.color, this.shade] = [0, 1].map((k) => new Uint8Array(bytes, (20 + k) * n, n));
  }

  get capacity() {
    return this.x0.length;
  }
}

/** Fills `out` with the items of a row, from all runs in the view; `colorOf` is by position. */
export function layoutRow(
  events: Events,
  row: number,
  view: Span,
  width: number,
  colorOf: (position: number) => number,
  out: SliceBuffer,
) {
  out.n = 0;
  out.right = Number.NEGATIVE_INFINITY;
  const { runs } = events;
  const first = events.runAt(view.t0);
  const before = carriedIn(events, first, row, view.t0);
  if (before) layoutRun(runs[before.run], row, before.index, view, width, colorOf, out);
  for (let k = first; k < runs.length && runs[k].span.t0 < view.t1; k++) {
    layoutRun(runs[k], row, firstVisible(runs[k], row, view.t0), view, width, colorOf, out);
  }
}

/** Appends the items of a row of one run, from index `from` on. */
function layoutRun(
  run: Run,
  row: number,
  from: number,
  view: Span,
  width: number,
  colorOf: (position: number) => number,
  out: SliceBuffer,
) {
  const { start, duration, covered } = run.times;
  const stop = run.high[row];
  const scale = width / (view.t1 - view.t0);
  const column = 1 / scale;
  let i = from;
  while (i < stop && start[i] < view.t1) {
    const own = start[i];
    const until = i + 1 < stop ? Math.min(own + duration[i], start[i + 1]) : own + duration[i];
    if ((until - own) * scale >= 1) {
      const p = run.positionOf(i);
      const x0 = Math.max((own - view.t0) * scale, out.right);
      push(out, p, p, p, colorOf(p), x0, (until - view.t0) * scale, (until - own) * scale >= WIDE_PX ? 0 : SHADES);
      i += 1;
      continue;
    }
    const columnEnd = (Math.floor(own / column) + 1) * column;
    const next = Math.max(i + 1, nextFrom(run.times, columnEnd, i, stop));
    const left = Math.max((columnEnd - column - view.t0) * scale, out.right);
    const end = Math.max((columnEnd - view.t0) * scale, left + 0.5);
    // The last one may be wide and start in this column: leave it to the next round.
    const lastIsWide = next - 1 > i && (endAt(run, row, next - 1) - start[next - 1]) * scale >= 1;
    const after = lastIsWide ? next - 1 : next;
    const cover = covered[after - 1] - covered[i] + until - own;
    const shade = Math.max(1, Math.min(SHADES, Math.ceil(cover * scale * SHADES)));
    const shown = run.positionOf(after - i === 1 ? i : longest(run, i, after));
    const last = run.positionOf(after - 1);
    const color = colorOf(shown);
    if (!extend(out, last, color, left, end, shade)) push(out, run.positionOf(i), last, shown, color, left, end, shade);
    i = after;
  }
}

function push(
  out: SliceBuffer,
  first: number,
  last: number,
  shown: number,
  color: number,
  x0: number,
  x1: number,
  shade: number,
) {
  if (out.n === out.capacity) return;
  const k = out.n++;
  out.x0[k] = x0;
  out.x1[k] = x1;
  out.first[k] = first;
  out.last[k] = last;
  out.shown[k] = shown;
  out.color[k] = color;
  out.shade[k] = shade;
  out.right = x1;
}

/** Lengthens the item before when the new column continues it in the same colour. */
function extend(out: SliceBuffer, last: number, color: number, x0: number, x1: number, shade: number): boolean {
  const k = out.n - 1;
  if (k < 0 || out.shade[k] !== shade || out.color[k] !== color || x0 - out.x1[k] > 0.01) return false;
  out.x1[k] = x1;
  out.last[k] = last;
  out.right = x1;
  return true;
}

/** The longest of the events at the indices [from, to) by blocks of them; of fewer than two blocks, of some evenly spaced. */
function longest(run: Run, from: number, to: number): number {
  const { duration, coarse } = run.times;
  const low = (from + BLOCK - 1) >> COARSE_BITS;
  const high = to >> COARSE_BITS;
  if (coarse && high > low) {
    let block = low;
    for (let b = low + 1; b < high; b++) if (coarse.duration[b] > coarse.duration[block]) block = b;
    return (block << COARSE_BITS) + coarse.longest[block];
  }
  const stride = Math.max(1, Math.floor((to - from) / SAMPLES));
  let best = from;
  for (let i = from + stride; i < to; i += stride) if (duration[i] > duration[best]) best = i;
  return best;
}

/** Time that a row's events cover inside a span; of what is not loaded, as far as the sample tells. */
export function coveredTime(events: Events, row: number, span: Span): number {
  const { runs } = events;
  const first = events.runAt(span.t0);
  const before = carriedIn(events, first, row, span.t0);
  let reached = span.t0;
  let time = 0;
  if (before) {
    reached = Math.min(span.t1, endAt(runs[before.run], row, before.index));
    time = reached - span.t0;
  }
  for (let k = first; k < runs.length && runs[k].span.t0 < span.t1; k++) {
    const run = runs[k];
    const { start } = run.times;
    const from = firstVisible(run, row, span.t0);
    const to = lowerBound(start, span.t1, from, run.high[row]);
    if (to <= from) continue;
    const end = endAt(run, row, to - 1);
    const head = Math.max(0, reached - start[from]);
    const tail = Math.max(0, end - span.t1);
    time += Math.max(0, coverOf(run, row, from, to) - head - tail);
    reached = Math.min(span.t1, Math.max(reached, end));
  }
  return time;
}

/** Position of the first event of a row that ends after a moment, -1 for none. */
export function visibleFrom(events: Events, row: number, time: number): number {
  const { runs } = events;
  const first = events.runAt(time);
  const before = carriedIn(events, first, row, time);
  if (before) return runs[before.run].positionOf(before.index);
  for (let k = first; k < runs.length; k++) {
    const index = firstVisible(runs[k], row, time);
    if (index < runs[k].high[row]) return runs[k].positionOf(index);
  }
  return -1;
}

/** Position under a point of time in a row, with `tolerance` to both sides for slices too thin to meet; -1 for none. */
export function eventAt(events: Events, row: number, time: number, tolerance: number): number {
  const { runs } = events;
  const first = events.runAt(time - tolerance);
  const before = carriedIn(events, first, row, time - tolerance);
  let best = before ? runs[before.run].positionOf(before.index) : -1;
  if (before && endAt(runs[before.run], row, before.index) > time) return best;
  for (let k = first; k < runs.length && runs[k].span.t0 <= time + tolerance; k++) {
    const run = runs[k];
    const { start, duration } = run.times;
    const from = firstVisible(run, row, time - tolerance);
    for (let i = from; i < run.high[row] && start[i] <= time + tolerance && i < from + MAX_LOOKS; i++) {
      if (start[i] <= time && endAt(run, row, i) > time) return run.positionOf(i);
      if (best < 0 || duration[i] > events.duration[best]) best = run.positionOf(i);
    }
  }
  return best;
}
