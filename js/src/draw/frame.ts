/** What every drawing function of the timeline gets: the frame, measures, text that fits. */

import type { Span } from "../data/columns";
import type { Events } from "../data/events";
import type { TraceMeta } from "../data/meta";
import type { ColorScheme, Palette } from "../model/colors";
import type { HostStrip } from "../model/hosts";
import type { Counter, RowLayouts } from "../model/lod";
import { opLabel, shortName } from "../model/names";
import type { LevelName, Spans } from "../model/rows";
import type { Marks } from "../model/search";
import type { RunBuffer, Steps } from "../model/steps";
import type { TrackLayout } from "../model/tracks";

export const OVERVIEW_PX = 26;
export const RULER_TOP_PX = 28;
export const RULER_PX = 19;
export const STEPS_TOP_PX = RULER_TOP_PX + RULER_PX;
export const STEPS_PX = 24;
export const TRACKS_TOP_PX = STEPS_TOP_PX + STEPS_PX;
export const NO_COUNTER_PX = 20;

interface LevelSource {
  spans(row: number, name: LevelName): Spans;
  nameOf(name: LevelName, position: number): string;
}

/** One frame: all x are relative to the left edge of the plot (the context is translated there), all times in ps. */
export interface Frame
  extends Readonly<Record<"width" | "labelWidth" | "height" | "scrollTop" | "tracksBottom", number>> {
  readonly ctx: CanvasRenderingContext2D;
  readonly palette: Palette;
  readonly view: Span;
  readonly bounds: Span;
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
  /** A height of the content -> in the canvas, pinned or not. */
  readonly yOf: (y: number) => number;
  /** Where the tracks of this pass begin: those that are not pinned under those that are. */
  readonly tracksTop: number;
  readonly range: Span | null;
  readonly rangeLabel: string;
  /** In ns: begin and end of each in turn. */
  readonly stretches: readonly number[];
  readonly flags: readonly Span[];
  /** Time of which only the longest slices are here, and will ever be. */
  readonly sampled: readonly Span[];
  readonly only: Marks | null;
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

const ELLIPSIS = "…";
const ELLIPSIS_PX = 11;

export class LabelCache {
  /** Of each text its width, and its cuts by their length. */
  readonly #texts = new Map<string, { readonly px: number; readonly cuts: string[] }>();
  readonly #short: string[] = [];
  readonly #kernels = new Map<number, { readonly both: string; readonly op: string }>();

  constructor(readonly names: readonly string[]) {}

  clear() {
    this.#texts.clear();
    this.#kernels.clear();
  }

  /** Of a kernel first the op that launched it, by its name id, then the kernel itself where there is room. */
  fitKernel(ctx: CanvasRenderingContext2D, op: number, id: number, px: number): string {
    const key = op * this.names.length + id;
    let label = this.#kernels.get(key);
    if (label === undefined) {
      const own = opLabel(this.names[op]);
      label = { both: `${own} · ${shortName(this.names[id])}`, op: own };
      this.#kernels.set(key, label);
    }
    if (this.#measured(ctx, label.both).px <= px) return label.both;
    return this.#measured(ctx, label.op).px <= px ? label.op : this.fit(ctx, op, px);
  }

  /** The name, its informative part, or a cut of that; "" when not even three characters fit. */
  fit(ctx: CanvasRenderingContext2D, id: number, px: number): string {
    const name = this.names[id];
    if (this.#measured(ctx, name).px <= px) return name;
    this.#short[id] ??= shortName(name);
    return this.#cut(ctx, this.#short[id], px);
  }

  /** A path, its last parts, or a cut of the last one; "" when not even three characters fit. */
  fitPath(ctx: CanvasRenderingContext2D, path: string, px: number): string {
    const slash = path.indexOf("/");
    if (slash < 0) return this.#cut(ctx, path, px);
    return this.#measured(ctx, path).px <= px ? path : this.fitPath(ctx, path.slice(slash + 1), px);
  }

  #cut(ctx: CanvasRenderingContext2D, text: string, px: number): string {
    const { px: whole, cuts } = this.#measured(ctx, text);
    if (whole <= px) return text;
    const n = Math.floor(((px - ELLIPSIS_PX) / whole) * text.length);
    if (n < 3) return "";
    cuts[n] ??= text.slice(0, n) + ELLIPSIS;
    return cuts[n];
  }

  #measured(ctx: CanvasRenderingContext2D, text: string) {
    let found = this.#texts.get(text);
    if (found === undefined) {
      found = { px: ctx.measureText(text).width, cuts: [] };
      this.#texts.set(text, found);
    }
    return found;
  }
}

/** Fills the areas but for those that have all of the height and a width of `widePx`. */
export function fillRuns(
  ctx: CanvasRenderingContext2D,
  runs: RunBuffer,
  y: number,
  height: number,
  colors: readonly string[],
  widePx = Number.POSITIVE_INFINITY,
) {
  const { n, x0, x1, low, high, category } = runs;
  // A change of colour costs more than a rectangle.
  for (let c = 0; c < colors.length; c++) {
    let isSet = false;
    for (let k = 0; k < n; k++) {
      if (category[k] !== c || runs.isWide(k, widePx)) continue;
      if (!isSet) ctx.fillStyle = colors[c];
      isSet = true;
      ctx.fillRect(x0[k], y + height * (1 - high[k]), x1[k] - x0[k], height * (high[k] - low[k]));
    }
  }
}
