/** Turns step pieces (or any coloured intervals in the order of time) into runs of pixels of one category. */
import { gallop, upperBound } from "../wire/bisect";
import { CATEGORIES } from "../wire/categories";
import type { Steps } from "./steps";
import type { Span } from "./viewport";

const MAX_LOOKS = 32;

/** Reused between frames: run k is [x0[k], x1[k]) in category[k]. */
export class RunBuffer {
  n = 0;
  x0: Float32Array;
  x1: Float32Array;
  category: Uint8Array;
  readonly weight = new Float64Array(CATEGORIES.length);

  constructor(width = 2048) {
    this.x0 = new Float32Array(Math.ceil(width) * 2 + 8);
    this.x1 = new Float32Array(this.x0.length);
    this.category = new Uint8Array(this.x0.length);
  }
}

/** Pieces of at least a pixel keep their exact edges; thinner ones give each pixel column its heaviest category. */
export function layoutPieces(pieces: Steps["piece"], view: Span, width: number, out: RunBuffer) {
  out.n = 0;
  const { start, end } = pieces;
  const scale = width / (view.t1 - view.t0);
  const column = 1 / scale;
  let p = Math.max(0, upperBound(start, view.t0) - 1);
  while (p < start.length && start[p] < view.t1 && out.n < out.x0.length) {
    if (end[p] <= view.t0) {
      p += 1;
    } else if ((end[p] - start[p]) * scale >= 1) {
      add(
        out,
        pieces.category[p],
        Math.max(0, (start[p] - view.t0) * scale),
        Math.min(width, (end[p] - view.t0) * scale),
      );
      p += 1;
    } else {
      const stop = (Math.floor(start[p] / column) + 1) * column;
      let next = Math.max(p + 1, gallop(start, stop, p, start.length));
      // The last one may be wide and start in this column: leave it to the next round.
      if (next - 1 > p && (end[next - 1] - start[next - 1]) * scale >= 1) next -= 1;
      const x = (stop - column - view.t0) * scale;
      const right = Math.max(x + 1, (end[next - 1] - view.t0) * scale);
      add(out, heaviest(pieces, p, next, out.weight), Math.max(0, x), Math.min(width, right));
      p = next;
    }
  }
}

function add(out: RunBuffer, category: number, x0: number, x1: number) {
  const k = out.n - 1;
  if (k >= 0 && out.category[k] === category && x0 - out.x1[k] < 0.5) {
    out.x1[k] = Math.max(x1, out.x1[k]);
    return;
  }
  out.x0[out.n] = k >= 0 ? Math.max(x0, Math.min(out.x1[k], x1)) : x0;
  out.x1[out.n] = x1;
  out.category[out.n++] = category;
}

function heaviest(pieces: Steps["piece"], from: number, to: number, weight: Float64Array): number {
  weight.fill(0);
  const stride = Math.max(1, Math.ceil((to - from) / MAX_LOOKS));
  for (let p = from; p < to; p += stride) weight[pieces.category[p]] += pieces.end[p] - pieces.start[p];
  let best = 0;
  for (let c = 1; c < weight.length; c++) if (weight[c] > weight[best]) best = c;
  return best;
}
