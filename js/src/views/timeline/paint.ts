/** The painter: the state as one frame on the canvas, and arrows over it. */

import type { Span } from "../../data/columns";
import { type Frame, fillRect, LabelCache, NO_COUNTER_PX, STEPS_TOP_PX, TRACKS_TOP_PX } from "../../draw/frame";
import {
  drawArrows,
  drawOverview,
  drawRangeBracket,
  drawRangeWash,
  drawRuler,
  drawStepLines,
  drawSteps,
  drawStretches,
  markFound,
  outlineEvent,
  outlineHovered,
  outlineMarked,
  rangeLabelSpan,
} from "../../draw/marks";
import { drawCounterTrack, drawNoCounter, drawSampled, drawSessionGaps, drawTracks } from "../../draw/tracks";
import type { ColorScheme, Palette } from "../../model/colors";
import { RowLayouts } from "../../model/lod";
import { describeRange } from "../../model/range";
import type { Arrow } from "../../model/rows";
import { RunBuffer } from "../../model/steps";
import { pinning, screenY, uncutHeight } from "../../model/tracks";
import { h, readPalette, sized } from "../../ui/dom";
import type { TimelineState } from "./state";

export class Painter {
  readonly #ctx: CanvasRenderingContext2D;
  readonly #labels: LabelCache;
  #palette: Palette | null = null;
  #layouts = new RowLayouts();
  #runs = new RunBuffer();
  #width = 0;
  #height = 0;
  labelWidth = 164;
  #described: Span & { readonly steps: unknown; readonly text: string } = { t0: 0, t1: 0, steps: null, text: "" };
  /** Lies over the tracks. */
  readonly arrows = new ArrowLayer();
  /** Pixels of the plot that the words of the range took on the ruler. */
  rangeLabel: Span | null = null;
  /** Pixels of it that flags of bookmarks take. */
  flags: readonly Span[] = [];

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly root: HTMLElement,
    readonly state: TimelineState,
  ) {
    const ctx = canvas.getContext("2d", { alpha: false });
    if (!ctx) throw new Error("This browser gives no 2D canvas, which the timeline is drawn on.");
    this.#ctx = ctx;
    this.#labels = new LabelCache(state.meta.names);
  }

  get height() {
    return this.#height;
  }

  get width() {
    return this.#width;
  }

  get plotWidth() {
    return Math.max(1, this.#width - this.labelWidth);
  }

  /** Where the tracks end in the canvas. */
  get tracksBottom() {
    const { layout, meta } = this.state;
    const docked = layout.dock.reduce((sum, track) => sum + track.height, 0);
    const isMissing = docked === 0 && meta.memory_remedy && !meta.counters?.some(({ kind }) => kind === "memory");
    const bottom = this.#height - (docked > 0 ? docked + 1 : isMissing ? NO_COUNTER_PX : 0);
    return docked > 0 ? TRACKS_TOP_PX + uncutHeight(layout, bottom - TRACKS_TOP_PX) : bottom;
  }

  resize(width: number, height: number) {
    this.#width = width;
    this.#height = height;
    if (this.#layouts.capacity < width) {
      this.#layouts = new RowLayouts(width);
      this.#runs = new RunBuffer(width);
    }
  }

  forgetColors() {
    this.#palette = null;
    this.#labels.clear();
    this.#layouts.clear();
  }

  paint() {
    if (this.#width < 50) return;
    sized(this.canvas, this.#width, this.#height, false);
    this.#palette ??= readPalette(this.root);
    const frame = this.#frame(this.#palette);
    const { ctx } = frame;
    ctx.fillStyle = frame.palette.bg;
    ctx.fillRect(0, 0, this.#width, this.#height);
    ctx.save();
    ctx.translate(this.labelWidth, 0);
    ctx.textBaseline = "middle";
    this.#paintHead(frame);
    this.#paintTracks(frame);
    this.#paintDock(frame);
    drawRangeBracket(frame, this.#height);
    this.rangeLabel = rangeLabelSpan(frame);
    ctx.restore();
  }

  #paintHead(frame: Frame) {
    const { state } = this;
    const isDevice = state.meta.planes.some((plane) => plane.kind === "device");
    const busy = state.meta.activity?.[isDevice ? "device" : "host"] ?? [];
    drawOverview(frame, busy, isDevice ? "device" : "threads", state.found?.hits ?? null);
    drawRuler(frame, this.#height);
    drawRangeWash(frame, this.#height);
    drawSteps(frame, state.hosted.headOfStep(state.link.step), state.hosted.headHost);
    drawStretches(frame, this.#height);
    drawSampled(frame, TRACKS_TOP_PX, this.tracksBottom);
    drawSessionGaps(frame, STEPS_TOP_PX, this.tracksBottom);
    drawStepLines(frame, TRACKS_TOP_PX, this.#height);
  }

  #paintDock(frame: Frame) {
    const { dock } = this.state.layout;
    const top = this.tracksBottom;
    if (dock.length > 0) {
      fillRect(frame.ctx, -this.labelWidth, top - 1, this.#width, 1, frame.palette.rule2);
      for (const track of dock) drawCounterTrack(frame, track, top + 1 + track.y);
      drawSessionGaps(frame, top, this.#height);
    } else if (top < this.#height) drawNoCounter(frame, top + 2);
  }

  /** Those that scroll, then the pinned ones over them. */
  #paintTracks(frame: Frame) {
    const { ctx, palette } = frame;
    const { state } = this;
    const { shown, scroll } = pinning(state.layout, state.scrollTop, state.tracksHeight);
    const border = TRACKS_TOP_PX + shown;
    this.#paintPart({ ...frame, tracksTop: border });
    if (shown > 0) {
      this.#paintPart({ ...frame, tracksBottom: border, scrollTop: scroll });
      fillRect(ctx, -this.labelWidth, border - 1, this.#width, 1, palette.ink2);
    }
    const near = state.hover === state.focus ? [] : state.finding.arrowsOf(state.hover);
    this.arrows.paint(frame, [...state.finding.chainOf(state.focus).arrows, ...near]);
  }

  #paintPart(frame: Frame) {
    const { ctx, palette } = frame;
    const { state } = this;
    ctx.save();
    clipTo(ctx, -this.labelWidth, frame.tracksTop, this.#width, frame.tracksBottom);
    drawTracks(frame);
    clipTo(ctx, 0, frame.tracksTop, frame.width, frame.tracksBottom);
    if (state.found) markFound(frame, state.found, palette.act);
    outlineHovered(frame, palette.ink);
    if (state.selected) outlineMarked(frame, state.selected, palette.ink);
    if (state.hover >= 0) outlineEvent(frame, state.hover, palette.ink, 1);
    if (state.focus >= 0) outlineEvent(frame, state.focus, palette.ink, 2);
    frame.hovered.length = 0;
    ctx.restore();
  }

  #frame(palette: Palette): Frame {
    const { state } = this;
    const { meta, events, hosted, steps, layout, view, bounds, uncaptured, scrollTop, range, board } = state;
    state.shownCategories.fill(0);
    const colors = board.colors(state.family);
    board.shownColors.fill(0);
    return {
      ctx: this.#ctx,
      palette,
      width: this.plotWidth,
      labelWidth: this.labelWidth,
      height: this.#height,
      view,
      bounds,
      uncaptured,
      meta,
      events,
      steps: hosted.head,
      allSteps: steps,
      strips: hosted.strips,
      shownCategories: state.shownCategories,
      colors,
      fills: colorsOf(colors, palette.fills, palette.categoryFills),
      edges: colorsOf(colors, palette.edges, palette.categories),
      shownColors: board.shownColors,
      counters: board.counters,
      labels: this.#labels,
      levels: state.levels,
      layouts: this.#layouts,
      runs: this.#runs,
      layout,
      scrollTop,
      yOf: (y) => TRACKS_TOP_PX + screenY(layout, scrollTop, state.tracksHeight, y),
      tracksTop: TRACKS_TOP_PX,
      tracksBottom: this.tracksBottom,
      range,
      stretches: state.link.stretches,
      rangeLabel: range ? this.#describe(range) : "",
      flags: this.flags,
      sampled: state.sampled,
      hoveredIds: state.hoveredIds,
      only: state.finding.isOnlyFound ? state.found : null,
      hovered: [],
    };
  }

  /** To find the steps of a range takes a look at all of them: once a range. */
  #describe({ t0, t1 }: Span): string {
    const { meta, trace, steps } = this.state;
    const last = this.#described;
    if (last.t0 === t0 && last.t1 === t1 && last.steps === steps) return last.text;
    const text = describeRange(meta, trace.data.table("steps"), [t0, t1]);
    this.#described = { t0, t1, steps, text };
    return text;
  }
}

/** By number of the colour; those behind the families are of categories. */
function colorsOf({ source, isCategory }: ColorScheme, families: readonly string[], categories: readonly string[]) {
  const all = isCategory ? categories : [...families, ...categories];
  return source.map((id) => all[id]);
}

/** From `top` to `bottom`; inside what is clipped already. */
function clipTo(ctx: CanvasRenderingContext2D, x: number, top: number, width: number, bottom: number) {
  ctx.beginPath();
  ctx.rect(x, top, width, Math.max(0, bottom - top));
  ctx.clip();
}

/** A canvas of their own over the tracks: heads of planes and folds are elements, which cover the other one. */
class ArrowLayer {
  readonly canvas = h("canvas.tl-arrows", { "aria-hidden": "true", hidden: true });

  /** `frame`: that of the tracks, whose context this leaves alone. */
  paint(frame: Frame, arrows: readonly Arrow[]) {
    const { canvas } = this;
    canvas.hidden = arrows.length === 0;
    if (canvas.hidden) return;
    const [width, height] = [frame.labelWidth + frame.width, frame.tracksBottom];
    const ctx = sized(canvas, width, height);
    if (!ctx) return;
    const ratio = globalThis.devicePixelRatio || 1;
    Object.assign(canvas.style, { width: `${canvas.width / ratio}px`, height: `${canvas.height / ratio}px` });
    ctx.clearRect(0, 0, width, height);
    ctx.translate(frame.labelWidth, 0);
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, TRACKS_TOP_PX, frame.width, frame.tracksBottom - TRACKS_TOP_PX);
    ctx.clip();
    drawArrows({ ...frame, ctx }, arrows, frame.palette.ink);
    ctx.restore();
  }
}
