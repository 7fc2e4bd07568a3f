/** Turns flows into arrows from the slice that caused another to its start, over whatever is folded in between. */
import type { Arrow } from "../model/events/flows";
import { xAt } from "../model/time/viewport";
import { lineTrackOf, SLICE_PX, type TrackLayout, yOfDepth } from "../model/tracks/tracks";
import type { Frame } from "./frame";

const HEAD_PX = 6;
/** Arrows further along a chain are fainter. */
const FAR_ALPHA = 0.45;
const FOLDED_DASH = [3, 2];
/** Ends further out of sight than this are drawn where the eye still follows the curve. */
const OUT_PX = 4000;

export function drawArrows(frame: Frame, arrows: readonly Arrow[], color: string) {
  const { ctx } = frame;
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.lineWidth = 1;
  for (const arrow of arrows) {
    ctx.globalAlpha = arrow.hop > 1 ? FAR_ALPHA : 1;
    drawArrow(frame, arrow);
  }
  ctx.globalAlpha = 1;
}

function drawArrow(frame: Frame, { from, to }: Arrow) {
  const { ctx, events, view, width } = frame;
  const start = placeOf(frame, from);
  const stop = placeOf(frame, to);
  if (!start || !stop) return;
  // A cause that lasts longer than its effect waits shows where the effect began, not where the cause ended.
  const leaves = Math.min(events.endOf(from), Math.max(events.start[to], events.start[from]));
  const x0 = inReach(xAt(view, width, leaves), width);
  const x1 = inReach(xAt(view, width, events.start[to]), width);
  if (Math.max(x0, x1) < 0 || Math.min(x0, x1) > width) return;
  const bend = Math.min(60, Math.max(16, Math.abs(x1 - x0) / 2));
  ctx.setLineDash(start.isFolded || stop.isFolded ? FOLDED_DASH : []);
  ctx.beginPath();
  ctx.moveTo(x0, start.y);
  ctx.bezierCurveTo(x0 + bend, start.y, x1 - bend, stop.y, x1 - HEAD_PX, stop.y);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(x1, stop.y);
  ctx.lineTo(x1 - HEAD_PX, stop.y - 3.5);
  ctx.lineTo(x1 - HEAD_PX, stop.y + 3.5);
  ctx.fill();
}

function inReach(x: number, width: number): number {
  return Math.max(-OUT_PX, Math.min(width + OUT_PX, x));
}

interface Place {
  readonly y: number;
  /** The slice itself is not drawn: the arrow ends at what stands for it. */
  readonly isFolded: boolean;
}

/** The middle of a slice in the canvas; of one that is folded away that of the track that it is folded into. */
function placeOf(frame: Frame, position: number): Place | null {
  const { events, layout, meta } = frame;
  const line = events.lineOf(position);
  const track = lineTrackOf(layout, line);
  if (track) {
    const top = frame.yOf(track.y);
    const y = yOfDepth(track, events.depthOf(position));
    return y < 0 ? { y: top + track.height - 4, isFolded: true } : { y: top + y + SLICE_PX / 2, isFolded: false };
  }
  const y = yOfFold(layout, line, meta.lines[line].plane);
  return y === null ? null : { y: frame.yOf(y), isFolded: true };
}

/** Where what a line is folded into is drawn; null when it is hidden. */
function yOfFold({ tracks }: TrackLayout, line: number, plane: number): number | null {
  const fold = tracks.find((track) => track.kind === "fold" && track.lines.includes(line));
  const head =
    fold ??
    tracks.find((track) => track.kind === "plane" && track.plane === plane) ??
    tracks.find((track) => track.kind === "host" && track.lines.includes(line));
  return head ? head.y + head.height / 2 : null;
}
