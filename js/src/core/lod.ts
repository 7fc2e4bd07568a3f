/**
 * Turns one row of events and a view into what is drawn of it: at most one item per pixel column.
 *
 * Wide slices stay themselves; events that start in the same pixel column become one item that knows how much of the
 * column they cover. The search for the next column gallops, so a row costs its pixels, not its events. Columns are laid
 * out from time 0, not from the left edge: panning moves the picture instead of reshuffling it.
 */
import { gallop, upperBound } from "./bisect";
import type { Rows } from "./events";
import type { Span } from "./viewport";

/** From this width on a slice is drawn with fill and edge. */
export const WIDE_PX = 3;
/** Steps of darkness of merged columns. */
export const SHADES = 4;
const SAMPLES = 6;

/** Reused for every row of every frame. Positions are those of Rows. */
export class SliceBuffer {
  n = 0;
  x0: Float32Array;
  x1: Float32Array;
  /** First and last position that the item stands for. */
  first: Int32Array;
  last: Int32Array;
  /** Position of the longest of them that was looked at: gives the colour. */
  shown: Int32Array;
  /** 0 for a wide slice, else 1..SHADES. */
  shade: Uint8Array;

  constructor(width = 2048) {
    const n = Math.ceil(width) + 8;
    this.x0 = new Float32Array(n);
    this.x1 = new Float32Array(n);
    this.first = new Int32Array(n);
    this.last = new Int32Array(n);
    this.shown = new Int32Array(n);
    this.shade = new Uint8Array(n);
  }

  get capacity() {
    return this.x0.length;
  }
}

/** First position of the row whose event ends after `time` (or is at it). */
export function firstVisible(rows: Rows, row: number, time: number): number {
  const low = rows.offset[row];
  const p = upperBound(rows.start, time, low, rows.offset[row + 1]);
  return p > low && rows.end[p - 1] > time ? p - 1 : p;
}

/** Fills `out` with the items of a row; `family` is by name id, `names` by event. */
export function layoutRow(
  rows: Rows,
  row: number,
  view: Span,
  width: number,
  family: (position: number) => number,
  out: SliceBuffer,
) {
  out.n = 0;
  const stop = rows.offset[row + 1];
  const scale = width / (view.t1 - view.t0);
  const column = 1 / scale;
  let p = firstVisible(rows, row, view.t0);
  let right = Number.NEGATIVE_INFINITY;
  while (p < stop && rows.start[p] < view.t1) {
    const x0 = (rows.start[p] - view.t0) * scale;
    const x1 = (rows.end[p] - view.t0) * scale;
    if (x1 - x0 >= 1) {
      push(out, p, p, p, Math.max(x0, right), x1, x1 - x0 >= WIDE_PX ? 0 : SHADES);
      right = x1;
      p += 1;
      continue;
    }
    const columnEnd = (Math.floor(rows.start[p] / column) + 1) * column;
    const next = Math.max(p + 1, gallop(rows.start, columnEnd, p, stop));
    const left = Math.max((columnEnd - column - view.t0) * scale, right);
    const end = Math.max((columnEnd - view.t0) * scale, left + 0.5);
    right = end;
    // The last one may be wide and start in this column: leave it to the next round.
    const lastIsWide = next - 1 > p && (rows.end[next - 1] - rows.start[next - 1]) * scale >= 1;
    const after = lastIsWide ? next - 1 : next;
    const cover = (rows.covered[after] - rows.covered[p]) * scale;
    const shade = Math.max(1, Math.min(SHADES, Math.ceil(cover * SHADES)));
    const shown = longest(rows, p, after);
    if (!extend(out, after - 1, shown, left, end, shade, family)) push(out, p, after - 1, shown, left, end, shade);
    p = after;
  }
}

function push(out: SliceBuffer, first: number, last: number, shown: number, x0: number, x1: number, shade: number) {
  if (out.n === out.capacity) return;
  const k = out.n++;
  out.x0[k] = x0;
  out.x1[k] = x1;
  out.first[k] = first;
  out.last[k] = last;
  out.shown[k] = shown;
  out.shade[k] = shade;
}

/** Lengthens the item before when the new column continues it in the same colour. */
function extend(
  out: SliceBuffer,
  last: number,
  shown: number,
  x0: number,
  x1: number,
  shade: number,
  family: (position: number) => number,
): boolean {
  const k = out.n - 1;
  if (k < 0 || out.shade[k] !== shade || x0 - out.x1[k] > 0.01) return false;
  if (family(out.shown[k]) !== family(shown)) return false;
  out.x1[k] = x1;
  out.last[k] = last;
  return true;
}

/** The longest of a few evenly spaced positions in [from, to). */
function longest(rows: Rows, from: number, to: number): number {
  const stride = Math.max(1, Math.floor((to - from) / SAMPLES));
  let best = from;
  for (let p = from + stride; p < to; p += stride) {
    if (rows.end[p] - rows.start[p] > rows.end[best] - rows.start[best]) best = p;
  }
  return best;
}

/** Time that a row's events cover inside a span. */
export function coveredTime(rows: Rows, row: number, span: Span): number {
  const from = firstVisible(rows, row, span.t0);
  const to = gallop(rows.start, span.t1, from, rows.offset[row + 1]);
  if (to <= from) return 0;
  const head = Math.max(0, span.t0 - rows.start[from]);
  const tail = Math.max(0, rows.end[to - 1] - span.t1);
  return Math.max(0, rows.covered[to] - rows.covered[from] - head - tail);
}

/** Event under a point of time in a row, with `tolerance` to both sides for slices too thin to meet; -1 for none. */
export function eventAt(rows: Rows, row: number, time: number, tolerance: number): number {
  const stop = rows.offset[row + 1];
  let p = firstVisible(rows, row, time - tolerance);
  let best = -1;
  let bestRank = Number.NEGATIVE_INFINITY;
  for (let looked = 0; p < stop && rows.start[p] <= time + tolerance && looked < 256; p++, looked++) {
    if (rows.start[p] <= time && rows.end[p] > time) return rows.event[p];
    const rank = rows.end[p] - rows.start[p];
    if (rank > bestRank) {
      best = rows.event[p];
      bestRank = rank;
    }
  }
  return best;
}
