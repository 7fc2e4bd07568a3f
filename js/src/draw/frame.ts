/** What every drawing function of the timeline is given, and the measures that they share. */

import type { Palette } from "../colors/palette";
import type { ColorScheme } from "../colors/schemes";
import type { Events } from "../model/events/events";
import type { Marks } from "../model/events/marks";
import type { RowLayouts } from "../model/events/row_layouts";
import type { HostStrip } from "../model/hosts/host_strips";
import type { RunBuffer } from "../model/time/pieces";
import type { Steps } from "../model/time/steps";
import type { Span } from "../model/time/viewport";
import type { Counter } from "../model/tracks/counters";
import type { TrackLayout } from "../model/tracks/tracks";
import type { TraceMeta } from "../model/wire/meta";
import type { LabelCache } from "./label_cache";
import type { LevelSource } from "./levels";

export const OVERVIEW_PX = 26;
export const RULER_TOP_PX = 28;
export const RULER_PX = 19;
export const STEPS_TOP_PX = RULER_TOP_PX + RULER_PX;
export const STEPS_PX = 24;
export const TRACKS_TOP_PX = STEPS_TOP_PX + STEPS_PX;
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
  /** Those of the head of the timeline: of several hosts those of one. */
  readonly steps: Steps;
  /** Of all hosts, and by host its own; no strips for a capture of one. */
  readonly allSteps: Steps;
  readonly strips: readonly HostStrip[];
  /** By category whether a strip showed it. */
  readonly shownCategories: Uint8Array;
  /** What the colours mean, and by number of the colour what is drawn and that it was. */
  readonly colors: ColorScheme;
  readonly fills: readonly string[];
  readonly edges: readonly string[];
  readonly shownColors: Uint8Array;
  readonly counters: readonly Counter[];
  readonly labels: LabelCache;
  readonly levels: LevelSource;
  readonly layouts: RowLayouts;
  readonly runs: RunBuffer;
  readonly layout: TrackLayout;
  readonly scrollTop: number;
  /** A height of the content -> in the canvas, pinned or not. */
  readonly yOf: (y: number) => number;
  /** Where the tracks of this pass begin: those that are not pinned under those that are. */
  readonly tracksTop: number;
  /** Where the tracks end: above the counter. */
  readonly tracksBottom: number;
  readonly range: Span | null;
  readonly rangeLabel: string;
  /** Pixels of the ruler that flags of bookmarks take. */
  readonly flags: readonly Span[];
  /** Time of which only the longest slices are here, and will ever be. */
  readonly sampled: readonly Span[];
  /** What is not among these is dimmed; null dims nothing. */
  readonly only: Marks | null;
  /** Key ids that are hovered, here or in another view. */
  readonly hoveredIds: Int32Array;
  /** Filled while slices are drawn: x0, x1, y of the wide ones among them that are hovered. */
  readonly hovered: number[];
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
