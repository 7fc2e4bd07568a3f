/** The areas of step pieces -> rectangles in the colours of their categories. */

import type { RunBuffer } from "../model/time/pieces";

/** Fills the areas but for those that have all of the height and a width of `widePx`. */
export function fillRuns(
  ctx: CanvasRenderingContext2D,
  runs: RunBuffer,
  y: number,
  height: number,
  colors: readonly string[],
  widePx = Number.POSITIVE_INFINITY,
) {
  const { n, x0, x1, low, high, category } = runs;
  // A change of colour costs more than a rectangle.
  for (let c = 0; c < colors.length; c++) {
    let isSet = false;
    for (let k = 0; k < n; k++) {
      if (category[k] !== c || runs.isWide(k, widePx)) continue;
      if (!isSet) ctx.fillStyle = colors[c];
      isSet = true;
      ctx.fillRect(x0[k], y + height * (1 - high[k]), x1[k] - x0[k], height * (high[k] - low[k]));
    }
  }
}
