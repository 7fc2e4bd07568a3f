/** Turns lines that are folded into one row: how busy they are, all together, in each pixel column. */

import { GROUP_PX } from "../model/tracks/tracks";
import { type Frame, fillRect } from "./frame";

/** Of more lines the row would cost more than all that are shown. */
const MAX_LINES = 128;
/** Even what is mostly idle must be seen. */
const LEAST_PX = 1;

let busy = new Float32Array();

/** Pale: up to the time of one line; dark: the share of the time of all. */
export function drawFolded(frame: Frame, lines: readonly number[], y: number) {
  const { width, events, layouts } = frame;
  const { firstRow } = events.rows;
  if (lines.length > MAX_LINES) return;
  const n = Math.ceil(width);
  if (busy.length < n) busy = new Float32Array(n);
  busy.fill(0);
  for (const line of lines) {
    if (firstRow[line] === firstRow[line + 1]) continue;
    const slices = layouts.of(frame, firstRow[line]);
    for (let k = 0; k < slices.n; k++) {
      const share = slices.isWide[k] ? 1 : slices.busy[k];
      const [x0, x1] = [Math.max(0, slices.x0[k]), Math.min(n, slices.x1[k])];
      for (let x = Math.floor(x0); x < x1; x++) busy[x] += share * (Math.min(x + 1, x1) - Math.max(x, x0));
    }
  }
  fillShares(frame, 1, y, 0.5);
  fillShares(frame, 1 / lines.length, y, 1);
}

function fillShares({ ctx, palette, width }: Frame, scale: number, y: number, alpha: number) {
  const room = GROUP_PX - 4;
  ctx.globalAlpha = alpha;
  for (let x = 0, to = 0; x < width; x = to) {
    for (to = x + 1; to < width && busy[to] === busy[x]; ) to += 1;
    const height = Math.max(LEAST_PX, Math.min(1, busy[x] * scale) * room);
    if (busy[x] > 0) fillRect(ctx, x, y + room + 1 - height, to - x, height, palette.memoryHeap);
  }
  ctx.globalAlpha = 1;
}
