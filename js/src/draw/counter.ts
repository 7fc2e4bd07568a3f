/** Turns a memory counter into the filled curve under the tracks: one column a pixel, its maximum. */
import { type Counter, maxInSpan } from "../core/counter";
import { formatBytes } from "../core/format";
import { COUNTER_PX, type Frame, fillRect, fillText } from "./frame";

const PLOT_PX = COUNTER_PX - 4;

/** Draws the counter with its top at `y`. The axis starts at 0. */
export function drawCounter(frame: Frame, counter: Counter, y: number) {
  const { ctx, palette, view, width, labelWidth } = frame;
  const bottom = y + PLOT_PX;
  fillRect(ctx, -labelWidth, y - 2, labelWidth + width, 1, palette.rule);
  fillText(ctx, fitLabel(ctx, `${counter.name} in use`, labelWidth - 22), 15 - labelWidth, y + 8, palette.ink2);
  fillText(ctx, `0 to ${formatBytes(counter.max)}`, 15 - labelWidth, y + 22, palette.ink2);
  const column = (view.t1 - view.t0) / width;
  ctx.beginPath();
  ctx.moveTo(0, bottom);
  let before = -1;
  for (let x = 0; x < width; x++) {
    const t0 = view.t0 + x * column;
    const top = bottom - (maxInSpan(counter, t0, t0 + column) / (counter.max || 1)) * (PLOT_PX - 2);
    // Steps, not slopes: memory in use changes at once.
    if (top !== before) {
      if (before >= 0) ctx.lineTo(x, before);
      ctx.lineTo(x, top);
      before = top;
    }
  }
  ctx.lineTo(width, before);
  ctx.lineTo(width, bottom);
  ctx.closePath();
  ctx.fillStyle = palette.memoryHeap;
  ctx.fill();
  fillRect(ctx, 0, bottom, width, 1, palette.rule2);
}

function fitLabel(ctx: CanvasRenderingContext2D, text: string, px: number): string {
  if (ctx.measureText(text).width <= px) return text;
  let length = text.length - 1;
  while (length > 3 && ctx.measureText(`${text.slice(0, length)}…`).width > px) length -= 1;
  return `${text.slice(0, length)}…`;
}
