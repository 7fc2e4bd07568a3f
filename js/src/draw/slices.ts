/** Turns the visible tracks into rectangles and names. */
import { firstVisible, layoutRow } from "../core/lod";
import { ROW_PX, SLICE_PX } from "../core/tracks";
import { xAt } from "../core/viewport";
import { type Frame, fillRect, setFont, TRACKS_TOP_PX } from "./frame";
import { drawIdleGaps } from "./gaps";

/** A name needs this width. */
const TEXT_MIN_PX = 26;
/** Opacity by shade: even a column that is mostly empty must be seen. */
const SHADE_ALPHA = [1, 0.45, 0.65, 0.82, 1];
/** Gap between neighbours, so that two slices of one colour are two. */
const GAP_PX = 0.5;

export function drawTracks(frame: Frame) {
  const { ctx, layout, scrollTop, width, labelWidth, palette, tracksBottom } = frame;
  setFont(frame);
  for (const track of layout.tracks) {
    const y = TRACKS_TOP_PX + track.y - scrollTop;
    if (y + track.height < TRACKS_TOP_PX || y > tracksBottom) continue;
    if (track.kind !== "line") continue;
    for (let band = 0; band < track.bands.length; band++) {
      const bandY = y + band * ROW_PX;
      if (bandY + ROW_PX < TRACKS_TOP_PX || bandY > tracksBottom) continue;
      const depths = track.bands[band];
      for (const depth of depths) drawRow(frame, track.firstRow + depth, bandY, depth !== depths[depths.length - 1]);
      if (band === 0 && isMainStream(frame, track.line)) drawIdleGaps(frame, bandY);
    }
    fillRect(ctx, -labelWidth, y + track.height - 2, labelWidth + width, 1, palette.rule);
  }
}

/** The busiest stream of a device: its gaps are the finding. */
function isMainStream(frame: Frame, line: number): boolean {
  const { lines, planes } = frame.meta;
  if (planes[lines[line].plane].kind !== "device" || lines[line].is_derived) return false;
  const first = frame.layout.tracks.find((t) => t.kind === "line" && lines[t.line].plane === lines[line].plane);
  return first?.kind === "line" && first.line === line;
}

/** Lays one row out into `frame.slices` and draws it with its top at `y`; `isUnder` when the next row is drawn over it. */
function drawRow(frame: Frame, row: number, y: number, isUnder = false) {
  const { rows, events, family, slices, width, view } = frame;
  const familyAt = (position: number) => family[events.name[rows.event[position]]];
  if (row >= rows.offset.length - 1) return;
  layoutRow(rows, row, view, width, familyAt, slices);
  drawRectangles(frame, y, familyAt);
  drawNames(frame, y, isUnder ? row + 1 : -1);
}

function drawRectangles(frame: Frame, y: number, familyAt: (position: number) => number) {
  const { ctx, slices, palette, width } = frame;
  for (let k = 0; k < slices.n; k++) {
    const x0 = Math.max(-1, slices.x0[k]);
    const x1 = Math.min(width + 1, slices.x1[k]);
    const color = familyAt(slices.shown[k]);
    const shade = slices.shade[k];
    if (shade === 0) {
      ctx.fillStyle = palette.fills[color];
      ctx.fillRect(x0, y, x1 - x0 - GAP_PX, SLICE_PX);
      ctx.fillStyle = palette.edges[color];
      ctx.fillRect(x0, y, 1, SLICE_PX);
    } else {
      ctx.globalAlpha = SHADE_ALPHA[shade];
      ctx.fillStyle = palette.edges[color];
      ctx.fillRect(x0, y, Math.max(0.6, x1 - x0 - (slices.first[k] === slices.last[k] ? 0.4 : 0)), SLICE_PX);
      ctx.globalAlpha = 1;
    }
  }
}

function drawNames(frame: Frame, y: number, rowOver: number) {
  const { ctx, slices, palette, width, labels, events, rows } = frame;
  ctx.fillStyle = palette.sliceInk;
  ctx.textAlign = "left";
  for (let k = 0; k < slices.n; k++) {
    if (slices.shade[k] !== 0) continue;
    const x0 = Math.max(0, slices.x0[k]);
    let room = Math.min(width, slices.x1[k]) - x0;
    if (room < TEXT_MIN_PX) continue;
    if (rowOver >= 0) room = Math.min(room, roomBefore(frame, rowOver, slices.shown[k], x0));
    if (room < TEXT_MIN_PX) continue;
    const text = labels.fit(ctx, events.name[rows.event[slices.shown[k]]], room - 7);
    if (text !== "") ctx.fillText(text, x0 + 4, y + SLICE_PX / 2 + 0.5);
  }
}

/** Pixels from `x0` to where the row that is drawn over this slice covers it. */
function roomBefore(frame: Frame, rowOver: number, position: number, x0: number): number {
  const { rows, view, width } = frame;
  const time = Math.max(view.t0, rows.start[position]);
  const over = firstVisible(rows, rowOver, time);
  if (over >= rows.offset[rowOver + 1] || rows.start[over] >= rows.end[position]) return Number.POSITIVE_INFINITY;
  return xAt(view, width, rows.start[over]) - x0;
}
