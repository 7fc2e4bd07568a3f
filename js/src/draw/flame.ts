/** Turns the rectangles of a flame into a picture on a canvas, and a point of it into a rectangle. */

import type { Palette } from "../colors/palette";
import type { FlameRect } from "../model/events/flame_layout";

export const FLAME_ROW_PX = 18;
const BOX_PX = FLAME_ROW_PX - 1;
/** A name needs this width; a narrower rectangle is drawn in its edge colour. */
const TEXT_MIN_PX = 26;
const FILL_MIN_PX = 3;
const PADDING_PX = 4;
const DIM_ALPHA = 0.4;

export interface FlamePicture {
  readonly ctx: CanvasRenderingContext2D;
  readonly palette: Palette;
  readonly width: number;
  readonly height: number;
  readonly scrollTop: number;
  readonly rects: readonly FlameRect[];
  readonly fills: readonly string[];
  readonly edges: readonly string[];
  /** Index into `fills` and `edges`, -1 for what is no slice. */
  readonly colorOf: (rect: FlameRect) => number;
  /** The text of a rectangle that fits into a width. */
  readonly textOf: (rect: FlameRect, px: number) => string;
  /** Beside the name where there is room. */
  readonly figureOf: (rect: FlameRect) => string;
  readonly isDim: (rect: FlameRect) => boolean;
  /** Rectangles under the pointer and of the keyboard; -1 for none. */
  readonly hover: number;
  readonly cursor: number;
}

export function drawFlame(picture: FlamePicture) {
  const { ctx, palette, width, height, rects, hover, cursor } = picture;
  ctx.fillStyle = palette.bg;
  ctx.fillRect(0, 0, width, height);
  ctx.font = `400 11px ${palette.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const rect of rects) drawRect(picture, rect);
  if (hover >= 0 && rects[hover]) outline(picture, rects[hover], 1);
  if (cursor >= 0 && rects[cursor]) outline(picture, rects[cursor], 2);
}

function drawRect(picture: FlamePicture, rect: FlameRect) {
  const { ctx, palette, width, height, scrollTop } = picture;
  const y = rect.level * FLAME_ROW_PX - scrollTop;
  if (y + FLAME_ROW_PX < 0 || y > height) return;
  const x0 = rect.x0 * width;
  const px = (rect.x1 - rect.x0) * width;
  const color = picture.colorOf(rect);
  const [fill, edge] = color < 0 ? [palette.bg2, palette.rule2] : [picture.fills[color], picture.edges[color]];
  ctx.globalAlpha = picture.isDim(rect) ? DIM_ALPHA : 1;
  ctx.fillStyle = px < FILL_MIN_PX ? edge : fill;
  ctx.fillRect(x0, y, Math.max(0.6, px - (px < FILL_MIN_PX ? 0.3 : 1)), BOX_PX);
  if (px >= FILL_MIN_PX) {
    ctx.fillStyle = edge;
    ctx.fillRect(x0, y, 1, BOX_PX);
  }
  if (px >= TEXT_MIN_PX) drawText(picture, rect, x0, y, px, color < 0 ? palette.ink : palette.sliceInk);
  ctx.globalAlpha = 1;
}

function drawText(picture: FlamePicture, rect: FlameRect, x0: number, y: number, px: number, ink: string) {
  const { ctx } = picture;
  const room = px - 2 * PADDING_PX;
  const middle = y + BOX_PX / 2 + 0.5;
  const text = picture.textOf(rect, room);
  if (text === "") return;
  ctx.fillStyle = ink;
  ctx.fillText(text, x0 + PADDING_PX, middle);
  const figure = picture.figureOf(rect);
  const figurePx = ctx.measureText(figure).width;
  if (ctx.measureText(text).width + figurePx + 12 > room) return;
  ctx.fillText(figure, x0 + px - PADDING_PX - figurePx, middle);
}

function outline({ ctx, palette, width, scrollTop }: FlamePicture, rect: FlameRect, lineWidth: number) {
  const half = lineWidth / 2;
  const left = rect.x0 * width;
  const right = Math.max(left + 3, rect.x1 * width - 1);
  ctx.strokeStyle = palette.ink;
  ctx.lineWidth = lineWidth;
  const y = rect.level * FLAME_ROW_PX - scrollTop;
  ctx.strokeRect(left + half, y + half, right - left - lineWidth, BOX_PX - lineWidth);
}

/** Index of the rectangle at a point of the flame's whole picture, -1 for none. */
export function flameRectAt(rects: readonly FlameRect[], width: number, x: number, y: number): number {
  const level = Math.floor(y / FLAME_ROW_PX);
  const at = x / width;
  return rects.findIndex((rect) => rect.level === level && rect.x0 <= at && at < rect.x1);
}
