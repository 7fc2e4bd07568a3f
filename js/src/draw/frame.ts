/** What every drawing function of the timeline is given, and the measures that they share. */
import type { Events, Rows } from "../core/events";
import type { SliceBuffer } from "../core/lod";
import type { TraceMeta } from "../core/meta";
import type { RunBuffer } from "../core/pieces";
import type { Steps } from "../core/steps";
import type { TrackLayout } from "../core/tracks";
import type { Span } from "../core/viewport";
import type { LabelCache } from "./label_cache";
import type { Palette } from "./palette";

export const OVERVIEW_PX = 26;
export const RULER_TOP_PX = 28;
export const RULER_PX = 19;
export const STEPS_TOP_PX = RULER_TOP_PX + RULER_PX;
export const STEPS_PX = 24;
export const TRACKS_TOP_PX = STEPS_TOP_PX + STEPS_PX;
export const COUNTER_PX = 38;
/** The line that says why there is no counter. */
export const NO_COUNTER_PX = 20;

/** One frame: all x are relative to the left edge of the plot (the context is translated there), all times in ps. */
export interface Frame {
  readonly ctx: CanvasRenderingContext2D;
  readonly palette: Palette;
  /** Plot and label column in px. */
  readonly width: number;
  readonly labelWidth: number;
  readonly height: number;
  readonly view: Span;
  readonly bounds: Span;
  /** Time between sessions. */
  readonly uncaptured: readonly Span[];
  readonly meta: TraceMeta;
  readonly events: Events;
  readonly rows: Rows;
  readonly steps: Steps;
  /** Family by name id. */
  readonly family: Uint8Array;
  readonly labels: LabelCache;
  readonly slices: SliceBuffer;
  readonly runs: RunBuffer;
  readonly layout: TrackLayout;
  readonly scrollTop: number;
  /** Where the tracks end: above the counter. */
  readonly tracksBottom: number;
  readonly range: Span | null;
  readonly rangeLabel: string;
}

export function fillText(
  ctx: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  color: string,
  align: CanvasTextAlign = "left",
) {
  ctx.fillStyle = color;
  ctx.textAlign = align;
  ctx.fillText(text, x, y);
}

export function fillRect(ctx: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, color: string) {
  ctx.fillStyle = color;
  ctx.fillRect(x, y, w, h);
}

export function setFont(frame: Frame, weight: 400 | 600 = 400) {
  frame.ctx.font = `${weight} 11px ${frame.palette.font}`;
}
