/** Turns the spans of a level of a stream into boxes with names; the height of what is dark is the time that is worked. */

import type { LevelName, Spans } from "../model/events/levels";
import { SLICE_PX } from "../model/tracks/tracks";
import { gallop, upperBound } from "../model/wire/bisect";
import { type Frame, fillRect } from "./frame";

/** From this width on a span is a box of its own. */
const WIDE_PX = 3;
const TEXT_MIN_PX = 26;

/** Where the painter takes levels from. */
export interface LevelSource {
  spans(row: number, name: LevelName): Spans;
  nameOf(name: LevelName, position: number): string;
}

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
