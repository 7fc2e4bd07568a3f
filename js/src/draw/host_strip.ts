/** The steps of one host and their parts -> one line of pieces in the colours of the categories. */

import type { HostStrip } from "../model/hosts/host_strips";
import { layoutPieces } from "../model/time/pieces";
import type { Steps } from "../model/time/steps";
import { xAt } from "../model/time/viewport";
import { firstWhere, lowerBound } from "../model/wire/bisect";
import { CATEGORIES, CATEGORY_LABELS } from "../model/wire/categories";
import { type Frame, fillRect } from "./frame";
import { fillRuns } from "./pieces";

const TOP_PX = 2;
export const STRIP_PX = 14;
/** From this width on a piece is pale with an edge, as slices are, and from the second on it has its name. */
const WIDE_PX = 3;
const NAMED_PX = 34;
const COMPUTE = CATEGORIES.indexOf("device_compute");
/** Steps closer together are not told apart. */
const STEP_PX = 6;

export function drawHostStrip(frame: Frame, strip: HostStrip, y: number) {
  layoutPieces(strip.piece, frame.view, frame.width, frame.runs);
  const { category, n } = frame.runs;
  // The legend has room for few: waits are named in their row, and in the list of what a step is made of.
  for (let k = 0; k < n; k++) frame.shownCategories[category[k]] = 1;
  drawPieces(frame, y);
  drawStepEdges(frame, strip, y);
  drawNames(frame, y);
}

/** What a device waits for at each moment of a step in which it does not compute. */
export function drawWaits(frame: Frame, piece: Steps["piece"], y: number) {
  layoutPieces(piece, frame.view, frame.width, frame.runs, COMPUTE);
  drawPieces(frame, y);
  drawNames(frame, y);
}

function drawPieces({ ctx, runs, palette }: Frame, y: number) {
  fillRuns(ctx, runs, y + TOP_PX, STRIP_PX, palette.categories, WIDE_PX);
  for (let k = 0; k < runs.n; k++) {
    if (!runs.isWide(k, WIDE_PX)) continue;
    const [x0, x1] = [runs.x0[k], runs.x1[k]];
    fillRect(ctx, x0, y + TOP_PX, 1, STRIP_PX, palette.categories[runs.category[k]]);
    fillRect(ctx, x0 + 1, y + TOP_PX, x1 - x0 - 1, STRIP_PX, palette.categoryFills[runs.category[k]]);
  }
}

/** A gap before each step, so that two are two. */
function drawStepEdges({ ctx, allSteps, palette, view, width }: Frame, { rows }: HostStrip, y: number) {
  const start = (k: number) => allSteps.start[rows[k]];
  const [from, to] = [view.t0, view.t1].map((time) => firstWhere(rows.length, (k) => start(k) >= time));
  if (to - from > width / STEP_PX) return;
  for (let k = from; k < to; k++) {
    fillRect(ctx, Math.round(xAt(view, width, start(k))) - 1, y + TOP_PX, 1, STRIP_PX, palette.bg);
  }
}

function drawNames({ ctx, runs, palette, width }: Frame, y: number) {
  ctx.fillStyle = palette.ink;
  ctx.textAlign = "left";
  for (let k = 0; k < runs.n; k++) {
    if (!runs.isWide(k, NAMED_PX)) continue;
    const x0 = Math.max(0, runs.x0[k]);
    const room = Math.min(width, runs.x1[k]) - x0 - 8;
    if (room < NAMED_PX - 8) continue;
    const text = CATEGORY_LABELS[CATEGORIES[runs.category[k]]];
    if (ctx.measureText(text).width <= room) ctx.fillText(text, x0 + 4, y + TOP_PX + STRIP_PX / 2 + 0.5);
  }
}

/** The piece of a host at a moment, -1 for none. */
export function pieceAt({ piece }: HostStrip, time: number, tolerance: number): number {
  const next = lowerBound(piece.start, time + tolerance, 0, piece.start.length);
  // The last that began: pieces of one host do not overlap.
  for (let p = next - 1; p >= 0 && p >= next - 2; p--) if (piece.end[p] > time - tolerance) return p;
  return -1;
}
