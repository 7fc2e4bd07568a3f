/** Turns flows into arrows from the slice that caused another to its start. */
import type { Flows } from "../core/flows";
import { SLICE_PX, yOfRow } from "../core/tracks";
import { xAt } from "../core/viewport";
import { type Frame, TRACKS_TOP_PX } from "./frame";

const HEAD_PX = 6;

export function drawFlows(frame: Frame, event: number, flows: Flows, color: string) {
  for (const other of flows.from) drawArrow(frame, other, event, color);
  for (const other of flows.to) drawArrow(frame, event, other, color);
}

function drawArrow(frame: Frame, cause: number, effect: number, color: string) {
  const { ctx, events, layout, scrollTop, view, width } = frame;
  const fromY = yOfRow(layout, events.line[cause], events.depth[cause]);
  const toY = yOfRow(layout, events.line[effect], events.depth[effect]);
  if (fromY === null || toY === null) return;
  const top = TRACKS_TOP_PX - scrollTop + SLICE_PX / 2;
  const x1 = xAt(view, width, events.start[effect]);
  // A cause that lasts longer than its effect waits shows where the effect began, not where the cause ended.
  const end = Math.min(
    events.start[cause] + events.duration[cause],
    Math.max(events.start[effect], events.start[cause]),
  );
  const x0 = xAt(view, width, end);
  const bend = Math.min(60, Math.max(16, Math.abs(x1 - x0) / 2));
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.lineWidth = 1;
  ctx.beginPath();
  ctx.moveTo(x0, top + fromY);
  ctx.bezierCurveTo(x0 + bend, top + fromY, x1 - bend, top + toY, x1 - HEAD_PX, top + toY);
  ctx.stroke();
  ctx.beginPath();
  ctx.moveTo(x1, top + toY);
  ctx.lineTo(x1 - HEAD_PX, top + toY - 3.5);
  ctx.lineTo(x1 - HEAD_PX, top + toY + 3.5);
  ctx.fill();
}
