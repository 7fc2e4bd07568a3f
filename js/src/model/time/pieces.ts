/** Step pieces (or any coloured intervals in the order of time) -> areas: wide ones with their edges, of each pixel column of thin ones how its time is shared. */
import { gallop, upperBound } from "../wire/bisect";
import { CATEGORIES } from "../wire/categories";
import type { Steps } from "./steps";
import type { Span } from "./viewport";

type Pieces = Steps["piece"];

/** Pieces that are added up one by one; of more in one pixel column, blocks of so many are. */
const BLOCK = 32;
/** From this share on a column is full. */
const FULL = 0.995;
/** What lies closer is the same edge: in px, and as shares of the height, which is less than half a pixel. */
const TOUCH_PX = 0.01;
const TOUCH_RATIO = 0.015;

/** Reused between frames, in the order of x within a category: area k is [x0[k], x1[k]) in category[k], from low[k] to high[k] of the height. */
export class RunBuffer {
  n = 0;
  x0: Float32Array;
  x1: Float32Array;
  low: Float32Array;
  high: Float32Array;
  category: Uint8Array;
  /** By category its last area, -1 for none. */
  readonly last = new Int32Array(CATEGORIES.length);

  constructor(width = 2048) {
    const n = Math.ceil(width) * (CATEGORIES.length + 1) + 8;
    [this.x0, this.x1, this.low, this.high] = [0, 1, 2, 3].map(() => new Float32Array(n));
    this.category = new Uint8Array(n);
  }

  /** Whether an area has all of the height, and at least so much width. */
  isWide(k: number, px: number): boolean {
    return this.high[k] - this.low[k] >= FULL && this.x1[k] - this.x0[k] >= px;
  }
}

/**
 * Areas are in proportion to time: pieces of at least a pixel keep their edges, thinner ones share the height of their
 * pixel column by category, and what no piece covers stays free. `but`: a category that is left out.
 */
export function layoutPieces(pieces: Pieces, view: Span, width: number, out: RunBuffer, but = -1) {
  out.n = 0;
  out.last.fill(-1);
  const { start, end } = pieces;
  const scale = width / (view.t1 - view.t0);
  const column = 1 / scale;
  let time = view.t0;
  let p = Math.max(0, upperBound(start, view.t0) - 1);
  while (p < start.length && start[p] < view.t1) {
    if (end[p] <= time) {
      p += 1;
    } else if ((end[p] - start[p]) * scale >= 1) {
      const [x0, x1] = [Math.max(time, start[p]), end[p]].map((at) => (at - view.t0) * scale);
      if (pieces.category[p] !== but) add(out, pieces.category[p], x0, Math.min(width, x1), 0, 1);
      time = end[p];
      p += 1;
    } else {
      const from = Math.max(time, start[p]);
      let right = (Math.floor(from / column) + 1) * column;
      // What rounding takes for the end of the column before is the start of this one.
      if (right <= from) right += column;
      let next = Math.max(p + 1, gallop(start, right, p, start.length));
      // The last one may be wide and start in this column: leave it to the next round.
      if (next - 1 > p && (end[next - 1] - start[next - 1]) * scale >= 1) right = Math.max(end[p], start[--next]);
      const left = Math.max(right - column, time);
      shareOut(pieces, p, next, left, right);
      stack((left - view.t0) * scale, Math.min(width, (right - view.t0) * scale), right - left, out, but);
      time = right;
      p = end[next - 1] > right ? next - 1 : next;
    }
  }
}

/** Time by category in the column that was looked at last. */
const weight = new Float64Array(CATEGORIES.length);

/** Adds up the pieces [p, next) from one moment to another; only the first and the last reach over. */
function shareOut(pieces: Pieces, p: number, next: number, from: number, to: number) {
  const { start, end, category } = pieces;
  weight.fill(0);
  let k = p;
  if (next - p > 2 * BLOCK) {
    const sums = blockSums(pieces);
    const [first, last] = [Math.ceil(p / BLOCK), Math.floor(next / BLOCK)];
    for (; k < first * BLOCK; k++) weight[category[k]] += end[k] - start[k];
    const at = (block: number) => block * weight.length;
    for (let c = 0; c < weight.length; c++) weight[c] += sums[at(last) + c] - sums[at(first) + c];
    k = last * BLOCK;
  }
  for (; k < next; k++) weight[category[k]] += end[k] - start[k];
  weight[category[p]] -= Math.max(0, from - start[p]);
  weight[category[next - 1]] -= Math.max(0, end[next - 1] - to);
}

/** The category that has most of a span, and its share of it; null where no piece lies in it. `but`: one that is left out. */
export function mainCategory(pieces: Pieces, { t0, t1 }: Span, but = -1): { category: number; ratio: number } | null {
  const { start, end } = pieces;
  let p = Math.max(0, upperBound(start, t0) - 1);
  if (p < start.length && end[p] <= t0) p += 1;
  const next = gallop(start, t1, p, start.length);
  if (next <= p) return null;
  shareOut(pieces, p, next, t0, t1);
  let category = -1;
  for (let c = 0; c < weight.length; c++) {
    if (c !== but && weight[c] > 0 && (category < 0 || weight[c] > weight[category])) category = c;
  }
  return category < 0 ? null : { category, ratio: weight[category] / (t1 - t0) };
}

const SUMS = new WeakMap<Pieces, Float64Array>();

/** By block and category the time of all pieces before it. */
function blockSums(pieces: Pieces): Float64Array {
  const known = SUMS.get(pieces);
  if (known) return known;
  const { start, end, category } = pieces;
  const nBlocks = Math.floor(start.length / BLOCK) + 1;
  const sums = new Float64Array(nBlocks * CATEGORIES.length);
  const total = new Float64Array(CATEGORIES.length);
  for (let block = 0, k = 0; block < nBlocks; block++) {
    sums.set(total, block * CATEGORIES.length);
    for (const stop = Math.min(start.length, (block + 1) * BLOCK); k < stop; k++)
      total[category[k]] += end[k] - start[k];
  }
  SUMS.set(pieces, sums);
  return sums;
}

/** Of the time that was added up, one area a category, from the bottom up. */
function stack(x0: number, x1: number, time: number, out: RunBuffer, but: number) {
  let low = 0;
  for (let c = 0; c < weight.length; c++) {
    if (weight[c] <= 0 || c === but) continue;
    const high = Math.min(1, low + weight[c] / time);
    add(out, c, x0, x1, low, high);
    low = high;
  }
}

/** Lengthens the last area of the category where the new one goes on as high as it is. */
function add(out: RunBuffer, category: number, x0: number, x1: number, low: number, high: number) {
  const k = out.last[category];
  const isAsHigh = Math.abs(out.low[k] - low) < TOUCH_RATIO && Math.abs(out.high[k] - high) < TOUCH_RATIO;
  if (k >= 0 && isAsHigh && x0 - out.x1[k] < TOUCH_PX) {
    out.x1[k] = Math.max(x1, out.x1[k]);
    return;
  }
  if (out.n === out.x0.length) return;
  out.last[category] = out.n;
  out.x0[out.n] = Math.max(0, x0);
  out.x1[out.n] = x1;
  out.low[out.n] = low;
  out.high[out.n] = high;
  out.category[out.n++] = category;
}
