/** Turns a counter into a filled curve: one column a pixel, from 0 to its smallest and its largest value there. */

import type { Span } from "../model/time/viewport";
import { axisTop, type Counter, extremeInSpan } from "../model/tracks/counters";
import { type Frame, fillRect, fillText } from "./frame";

/** Above and below the curve. */
const PAD_PX = 3;

/** Draws the counter into the track with its top at `y`. The axis starts at 0. */
export function drawCounter(frame: Frame, counter: Counter, y: number, height: number) {
  const { ctx, palette, width } = frame;
  const bottom = y + height - PAD_PX;
  const room = height - 2 * PAD_PX;
  ctx.fillStyle = palette.memoryHeap;
  // Where a pixel holds many changes: what was always in use is dark, what was reached at times is pale.
  const curve = curveOf(counter, frame.view, width);
  const scale = room / axisTop(counter);
  ctx.globalAlpha = 0.5;
  fillCurve(frame, curve.max, scale, bottom, room);
  ctx.globalAlpha = 1;
  fillCurve(frame, curve.min, scale, bottom, room);
  fillRect(ctx, 0, bottom, width, 1, palette.rule2);
}

/** The extremes of a counter by pixel column, kept while the view rests: most frames move something else. */
interface Curve {
  readonly view: Span;
  readonly min: Float64Array;
  readonly max: Float64Array;
}

const CURVES = new WeakMap<Counter, Curve>();

function curveOf(counter: Counter, view: Span, width: number): Curve {
  const known = CURVES.get(counter);
  const n = Math.ceil(width);
  if (known && known.view.t0 === view.t0 && known.view.t1 === view.t1 && known.min.length === n) return known;
  const curve = { view, min: new Float64Array(n), max: new Float64Array(n) };
  const column = (view.t1 - view.t0) / width;
  for (const which of ["min", "max"] as const) {
    const cursor = { index: 0 };
    for (let x = 0; x < n; x++) {
      const t0 = view.t0 + x * column;
      curve[which][x] = extremeInSpan(counter, which, t0, t0 + column, cursor);
    }
  }
  CURVES.set(counter, curve);
  return curve;
}

function fillCurve({ ctx, width }: Frame, values: Float64Array, scale: number, bottom: number, room: number) {
  let before = bottom;
  ctx.beginPath();
  ctx.moveTo(0, bottom);
  for (let x = 0; x < width; x++) {
    const value = values[x];
    // Nothing is drawn where nothing is known. A level that is not 0 is seen, however small beside the peak.
    const top = value > 0 ? bottom - Math.max(1, Math.min(room, value * scale)) : bottom;
    // Steps, not slopes: what is counted changes at once.
    if (top === before) continue;
    ctx.lineTo(x, before);
    ctx.lineTo(x, top);
    before = top;
  }
  ctx.lineTo(width, before);
  ctx.lineTo(width, bottom);
  ctx.closePath();
  ctx.fill();
}

/** Says why no memory is drawn, with its top at `y`. */
export function drawNoCounter(frame: Frame, y: number) {
  const { ctx, palette, width, labelWidth, meta } = frame;
  fillRect(ctx, -labelWidth, y - 2, labelWidth + width, 1, palette.rule);
  fillText(ctx, "Memory in use", 15 - labelWidth, y + 8, palette.ink2);
  const reason =
    meta.is_reduced && (meta.n_allocators ?? 0) > 0
      ? "Not over time in a reduced profile. The memory view has the peak of each host that recorded it."
      : "Not recorded on this run. The memory view says how to record it.";
  fillText(ctx, reason, 6, y + 8, palette.ink);
}
