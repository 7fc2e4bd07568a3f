/** Turns the steps' borders into hairlines over all tracks, where they are not so dense that they would hide them. */

import { xAt } from "../model/time/viewport";
import { lowerBound } from "../model/wire/bisect";
import { type Frame, fillRect } from "./frame";

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
