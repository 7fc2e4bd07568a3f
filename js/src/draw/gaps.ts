/** Turns idle time into labels: gaps on a device's main stream, and time between sessions, where nothing was captured. */
import { formatNumber, formatTime } from "../core/format";
import { SLICE_PX } from "../core/tracks";
import { xAt } from "../core/viewport";
import { type Frame, fillRect, fillText, STEPS_TOP_PX } from "./frame";

const GAP_MIN_PX = 30;

/** Labels the gaps of the row that `frame.slices` holds; one wording per width of gap. */
export function drawIdleGaps(frame: Frame, y: number) {
  const { slices, rows, width } = frame;
  for (let k = 0; k + 1 < slices.n; k++) {
    const x0 = Math.max(0, slices.x1[k]) + 3;
    const x1 = Math.min(width, slices.x0[k + 1]) - 3;
    if (x1 - x0 < GAP_MIN_PX) continue;
    drawGap(frame, x0, x1, y, rows.start[slices.first[k + 1]] - rows.end[slices.last[k]]);
  }
}

function drawGap(frame: Frame, x0: number, x1: number, y: number, idlePs: number) {
  const { ctx, palette } = frame;
  const room = x1 - x0;
  const time = formatTime(idlePs);
  const text = room > 66 ? `idle ${time}` : room > 46 ? time : formatNumber(idlePs / 1e9);
  const half = ctx.measureText(text).width / 2 + 3;
  const middle = (x0 + x1) / 2;
  if (half * 2 > room) return;
  fillText(ctx, text, middle, y + SLICE_PX / 2 + 0.5, palette.ink, "center");
  if (middle - half <= x0 + 2) return;
  fillRect(ctx, x0, y + SLICE_PX / 2, middle - half - x0, 1, palette.ink2);
  fillRect(ctx, middle + half, y + SLICE_PX / 2, x1 - middle - half, 1, palette.ink2);
}

/** Shades the time between sessions, from the step row down to `bottom`. */
export function drawSessionGaps(frame: Frame, bottom: number) {
  const { ctx, palette, view, width, meta } = frame;
  for (const { t0, t1 } of uncaptured(meta.sessions)) {
    const x0 = Math.max(0, xAt(view, width, t0));
    const x1 = Math.min(width, xAt(view, width, t1));
    if (x1 - x0 < 1) continue;
    fillRect(ctx, x0, STEPS_TOP_PX, x1 - x0, bottom - STEPS_TOP_PX, palette.bg2);
    fillRect(ctx, x0, STEPS_TOP_PX, 1, bottom - STEPS_TOP_PX, palette.rule2);
    fillRect(ctx, x1 - 1, STEPS_TOP_PX, 1, bottom - STEPS_TOP_PX, palette.rule2);
    const text = `not captured ${formatTime(t1 - t0)}`;
    const short = formatTime(t1 - t0);
    const fits = (s: string) => ctx.measureText(s).width + 8 < x1 - x0;
    const shown = fits(text) ? text : fits(short) ? short : "";
    if (shown) fillText(ctx, shown, (x0 + x1) / 2, STEPS_TOP_PX + 9, palette.ink2, "center");
  }
}

/** Time between sessions during which no session (of any host) was running. */
export function uncaptured(sessions: readonly { start_ps: number; stop_ps: number }[]): { t0: number; t1: number }[] {
  const sorted = [...sessions].sort((a, b) => a.start_ps - b.start_ps);
  const gaps: { t0: number; t1: number }[] = [];
  let reached = Number.POSITIVE_INFINITY;
  for (const session of sorted) {
    if (session.start_ps > reached) gaps.push({ t0: reached, t1: session.start_ps });
    reached = Math.max(Number.isFinite(reached) ? reached : session.stop_ps, session.stop_ps);
  }
  return gaps;
}
