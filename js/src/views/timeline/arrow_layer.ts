/** Turns arrows into a picture of their own over the tracks: heads of planes and folds are elements, which cover the canvas. */

import { drawArrows } from "../../draw/arrows";
import { type Frame, TRACKS_TOP_PX } from "../../draw/frame";
import type { Arrow } from "../../model/events/flows";
import { h } from "../../ui/dom";

export class ArrowLayer {
  readonly canvas = h("canvas.tl-arrows", { "aria-hidden": "true", hidden: true });

  /** `frame`: that of the tracks, whose context this leaves alone. */
  paint(frame: Frame, arrows: readonly Arrow[]) {
    const { canvas } = this;
    canvas.hidden = arrows.length === 0;
    if (canvas.hidden) return;
    const ratio = globalThis.devicePixelRatio || 1;
    const [width, height] = [frame.labelWidth + frame.width, frame.tracksBottom].map((px) => Math.round(px * ratio));
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    canvas.style.width = `${width / ratio}px`;
    canvas.style.height = `${height / ratio}px`;
    const ctx = canvas.getContext("2d");
    if (!ctx) return;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, width, height);
    ctx.setTransform(ratio, 0, 0, ratio, frame.labelWidth * ratio, 0);
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, TRACKS_TOP_PX, frame.width, frame.tracksBottom - TRACKS_TOP_PX);
    ctx.clip();
    drawArrows({ ...frame, ctx }, arrows, frame.palette.ink);
    ctx.restore();
  }
}
