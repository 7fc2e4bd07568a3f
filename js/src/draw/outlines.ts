/** Turns chosen events (hovered, selected, found) into outlines on every visible track. */
import { gallopIn, lowerBoundIn } from "../core/bisect";
import type { Events, Postings } from "../core/events";
import { type LineTrack, ROW_PX, SLICE_PX, type Track, yOfDepth, yOfRow } from "../core/tracks";
import { xAt } from "../core/viewport";
import { type Frame, TRACKS_TOP_PX } from "./frame";

/** Found slices up to this wide get a tick: thousands of outlines would paint their row solid. */
const TICK_UP_TO_PX = 3;
const TICK_PX = 2;

/** Draws the mark of one event at a y; `isThin`: it is the only thin one there. */
type Mark = (event: number, y: number, isThin: boolean) => void;

/** Outlines all visible events of some ids; of thin ones that share a pixel column, whatever their ids, one. */
export function outlineIds(frame: Frame, postings: Postings, ids: ArrayLike<number>, color: string, lineWidth: number) {
  frame.ctx.strokeStyle = color;
  frame.ctx.lineWidth = lineWidth;
  markIds(frame, postings, ids, 1, (event, y) => outlineBox(frame, event, y, lineWidth));
}

/** Outlines what a search found; narrow slices get a tick at the bottom of their row, one per pixel column. */
export function markFound(frame: Frame, postings: Postings, ids: ArrayLike<number>, color: string) {
  const { ctx, events, view, width } = frame;
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.lineWidth = 1;
  markIds(frame, postings, ids, TICK_UP_TO_PX, (event, y, isThin) => {
    const x = Math.max(0, Math.floor(xAt(view, width, events.start[event])));
    if (isThin) ctx.fillRect(x, y + SLICE_PX - TICK_PX, TICK_PX, TICK_PX);
    else outlineBox(frame, event, y, 1);
  });
}

/** Of slices thinner than `thinPx` that start in one pixel column and band, marks one. */
function markIds(frame: Frame, postings: Postings, ids: ArrayLike<number>, thinPx: number, mark: Mark) {
  for (const track of frame.layout.tracks) {
    if (track.kind !== "line" || !isOnScreen(frame, track)) continue;
    const taken = new Uint8Array(Math.ceil(frame.width + 1) * track.bands.length);
    for (let k = 0; k < ids.length; k++) markOnLine(frame, postings, ids[k], track, thinPx, taken, mark);
  }
}

/** `taken`: by band and pixel column, where a thin slice has its mark. */
function markOnLine(
  frame: Frame,
  postings: Postings,
  id: number,
  track: LineTrack,
  thinPx: number,
  taken: Uint8Array,
  mark: Mark,
) {
  const { events, view, width, scrollTop } = frame;
  const column = (view.t1 - view.t0) / width;
  const { order } = postings;
  const low = lowerBoundIn(events.line, order, track.line, postings.offset[id], postings.offset[id + 1]);
  const high = lowerBoundIn(events.line, order, track.line + 1, low, postings.offset[id + 1]);
  let p = Math.max(low, lowerBoundIn(events.start, order, view.t0, low, high) - 1);
  while (p < high && events.start[order[p]] < view.t1) {
    const event = order[p];
    const depth = events.depth[event];
    const y = yOfDepth(track, depth);
    const x = Math.max(0, Math.floor((events.start[event] - view.t0) / column));
    const place = x * track.bands.length + y / ROW_PX;
    const isThin = events.duration[event] < thinPx * column;
    if (y >= 0 && endOf(events, event) > view.t0 && !(isThin && taken[place])) {
      if (isThin) taken[place] = 1;
      mark(event, TRACKS_TOP_PX + track.y - scrollTop + y, isThin);
    }
    p = Math.max(p + 1, gallopIn(events.start, order, events.start[event] + column, p, high));
  }
}

/** Outline of one event wherever it is shown. */
export function outlineEvent(frame: Frame, event: number, color: string, lineWidth: number) {
  const { ctx, events, layout, scrollTop } = frame;
  const y = yOfRow(layout, events.line[event], events.depth[event]);
  if (y === null) return;
  ctx.strokeStyle = color;
  ctx.lineWidth = lineWidth;
  outlineBox(frame, event, TRACKS_TOP_PX + y - scrollTop, lineWidth);
}

/** Open at the side where the window cuts the slice. */
function outlineBox(frame: Frame, event: number, y: number, lineWidth: number) {
  const { ctx, events, view, width } = frame;
  const half = lineWidth / 2;
  const left = xAt(view, width, events.start[event]);
  const right = Math.max(left + 2, xAt(view, width, endOf(events, event)));
  if (right < 0 || left > width) return;
  const x0 = left < 0 ? 0 : Math.round(left) + half;
  const x1 = right > width ? width : Math.max(x0 + 1, Math.round(right) - half);
  ctx.beginPath();
  ctx.moveTo(x1, y + half);
  ctx.lineTo(x0, y + half);
  if (left < 0) ctx.moveTo(x0, y + SLICE_PX - half);
  else ctx.lineTo(x0, y + SLICE_PX - half);
  ctx.lineTo(x1, y + SLICE_PX - half);
  if (right <= width) ctx.lineTo(x1, y);
  ctx.stroke();
}

function isOnScreen(frame: Frame, track: Track): boolean {
  const y = TRACKS_TOP_PX + track.y - frame.scrollTop;
  return y + track.height >= TRACKS_TOP_PX && y <= frame.tracksBottom;
}

function endOf(events: Events, event: number): number {
  return events.start[event] + events.duration[event];
}
