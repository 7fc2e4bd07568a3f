/** Turns a memory counter into the filled curve under the tracks: one column a pixel, its smallest and largest value. */
import { type Counter, extremeInSpan } from "../core/counter";
import { formatBytes } from "../core/format";
import { COUNTER_PX, type Frame, fillRect, fillText } from "./frame";

const PLOT_PX = COUNTER_PX - 4;

/** Draws the counter with its top at `y`. The axis starts at 0. */
export function drawCounter(frame: Frame, counter: Counter, y: number) {
  const { ctx, palette, width, labelWidth } = frame;
  const bottom = y + PLOT_PX;
  fillRect(ctx, -labelWidth, y - 2, labelWidth + width, 1, palette.rule);
  fillText(ctx, fitLabel(ctx, counter.name, labelWidth - 18), 15 - labelWidth, y + 8, palette.ink2);
  fillText(ctx, `0 to ${formatBytes(counter.max)} in use`, 15 - labelWidth, y + 22, palette.ink2);
  ctx.fillStyle = palette.memoryHeap;
  // Where a pixel holds many changes: what was always in use is dark, what was reached at times is pale.
  ctx.globalAlpha = 0.5;
  fillCurve(frame, counter, "max", bottom);
  ctx.globalAlpha = 1;
  fillCurve(frame, counter, "min", bottom);
  fillRect(ctx, 0, bottom, width, 1, palette.rule2);
}

function fillCurve(frame: Frame, counter: Counter, which: "min" | "max", bottom: number) {
  const { ctx, view, width } = frame;
  const column = (view.t1 - view.t0) / width;
  let before = -1;
  ctx.beginPath();
  ctx.moveTo(0, bottom);
  for (let x = 0; x < width; x++) {
    const t0 = view.t0 + x * column;
    const value = extremeInSpan(counter, which, t0, t0 + column);
    const top = bottom - (value / (counter.max || 1)) * (PLOT_PX - 2);
    // Steps, not slopes: memory in use changes at once.
    if (top === before) continue;
    if (before >= 0) ctx.lineTo(x, before);
    ctx.lineTo(x, top);
    before = top;
  }
  ctx.lineTo(width, before);
  ctx.lineTo(width, bottom);
  ctx.closePath();
  ctx.fill();
}

/** Says that there is no counter, with its top at `y`. */
export function drawNoCounter(frame: Frame, y: number) {
  const { ctx, palette, width, labelWidth } = frame;
  fillRect(ctx, -labelWidth, y - 2, labelWidth + width, 1, palette.rule);
  fillText(ctx, "Memory in use", 15 - labelWidth, y + 8, palette.ink2);
  fillText(ctx, "Not recorded on this run. The memory view says how to record it.", 6, y + 8, palette.ink);
}

function fitLabel(ctx: CanvasRenderingContext2D, text: string, px: number): string {
  if (ctx.measureText(text).width <= px) return text;
  let length = text.length - 1;
  while (length > 3 && ctx.measureText(`${text.slice(0, length)}…`).width > px) length -= 1;
  return `${text.slice(0, length)}…`;
}
