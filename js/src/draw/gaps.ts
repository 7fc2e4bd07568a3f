/** Turns idle time into labels: gaps on a device's main stream, and time between sessions, where nothing was captured. */

import type { SliceBuffer } from "../model/events/lod";
import { formatPercent, formatTime } from "../model/text/format";
import { mainCategory } from "../model/time/pieces";
import { timeInside } from "../model/time/sessions";
import type { Steps } from "../model/time/steps";
import { xAt } from "../model/time/viewport";
import { SLICE_PX } from "../model/tracks/tracks";
import { CATEGORIES, CATEGORY_LABELS } from "../model/wire/categories";
import { type Frame, fillRect, fillText } from "./frame";

const GAP_MIN_PX = 30;
const NEARLY_ALL = 0.9;
const COMPUTE = CATEGORIES.indexOf("device_compute");

type Cause = NonNullable<ReturnType<typeof mainCategory>>;

/**
 * Labels the gaps between the items of a row with their length and what the device waited for; one wording per width of gap.
 * `piece`: parts of the steps that tell it, null where nobody knows.
 */
export function drawIdleGaps(frame: Frame, slices: SliceBuffer, y: number, piece: Steps["piece"] | null) {
  const { events, width } = frame;
  for (let k = 0; k + 1 < slices.n; k++) {
    const x0 = Math.max(0, slices.x1[k]) + 3;
    const x1 = Math.min(width, slices.x0[k + 1]) - 3;
    if (x1 - x0 < GAP_MIN_PX) continue;
    const t0 = events.endOf(slices.last[k]);
    const t1 = events.start[slices.first[k + 1]];
    // Of what is not loaded the sample knows the longest slices, not what is between them.
    if (!events.isLoaded(events.tileAt(t0)) || !events.isLoaded(events.tileAt(t1))) continue;
    if (timeInside(frame.uncaptured, { t0, t1 }) > 0) continue;
    drawGap(frame, x0, x1, y, t1 - t0, piece ? mainCategory(piece, { t0, t1 }, COMPUTE) : null);
  }
}

function drawGap(frame: Frame, x0: number, x1: number, y: number, idlePs: number, cause: Cause | null) {
  const { ctx, palette } = frame;
  const room = x1 - x0;
  const time = formatTime(idlePs);
  const words = [...(cause ? [`idle ${time} · ${causeWords(cause)}`] : []), `idle ${time}`, time];
  const text = words.find((one) => ctx.measureText(one).width + 6 <= room);
  if (text === undefined) return;
  const half = ctx.measureText(text).width / 2 + 3;
  const middle = (x0 + x1) / 2;
  fillText(ctx, text, middle, y + SLICE_PX / 2 + 0.5, palette.ink, "center");
  if (middle - half <= x0 + 2) return;
  fillRect(ctx, x0, y + SLICE_PX / 2, middle - half - x0, 1, palette.ink2);
  fillRect(ctx, middle + half, y + SLICE_PX / 2, x1 - middle - half, 1, palette.ink2);
}

/** "Input", or "Input 64 %" where that is not nearly all. */
function causeWords({ category, ratio }: Cause): string {
  const label = CATEGORY_LABELS[CATEGORIES[category]];
  return ratio < NEARLY_ALL ? `${label} ${formatPercent(ratio)}` : label;
}

/** Shades the time between sessions from `top` to `bottom`, with words where they fit. */
export function drawSessionGaps(frame: Frame, top: number, bottom: number) {
  const { ctx, palette, view, width } = frame;
  for (const { t0, t1 } of frame.uncaptured) {
    const x0 = Math.max(0, xAt(view, width, t0));
    const x1 = Math.min(width, xAt(view, width, t1));
    if (x1 - x0 < 1) continue;
    fillRect(ctx, x0, top, x1 - x0, bottom - top, palette.bg2);
    fillRect(ctx, x0, top, 1, bottom - top, palette.rule2);
    fillRect(ctx, x1 - 1, top, 1, bottom - top, palette.rule2);
    const fits = (text: string) => ctx.measureText(text).width + 8 < x1 - x0;
    const text = [`not captured, ${formatTime(t1 - t0)}`, "not captured"].find(fits);
    if (text) fillText(ctx, text, (x0 + x1) / 2, top + 9, palette.ink2, "center");
  }
}

/** Tints the time of which only a sample is here: few slices there do not mean that little ran. */
export function drawSampled(frame: Frame, top: number, bottom: number) {
  const { ctx, palette, view, width } = frame;
  for (const { t0, t1 } of frame.sampled) {
    const x0 = Math.max(0, xAt(view, width, t0));
    const x1 = Math.min(width, xAt(view, width, t1));
    if (x1 - x0 >= 1) fillRect(ctx, x0, top, x1 - x0, bottom - top, palette.bg2);
  }
}
