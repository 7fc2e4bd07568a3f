/** Turns the state into one frame on the canvas. */
import { SliceBuffer } from "../core/lod";
import { RunBuffer } from "../core/pieces";
import { describeRange } from "../core/span_text";
import { drawFlows } from "../draw/arrows";
import { drawCounter, drawNoCounter } from "../draw/counter";
import { COUNTER_PX, type Frame, NO_COUNTER_PX, STEPS_TOP_PX, TRACKS_TOP_PX } from "../draw/frame";
import { drawSessionGaps } from "../draw/gaps";
import { busyColumns, drawOverview, drawRangeBracket, drawRangeWash, drawRuler, drawSteps } from "../draw/head";
import { LabelCache } from "../draw/label_cache";
import { markFound, outlineEvent, outlineIds } from "../draw/outlines";
import { drawTracks } from "../draw/slices";
import { type Palette, readPalette } from "../theme";
import type { TimelineState } from "./state";

export class Painter {
  readonly #ctx: CanvasRenderingContext2D;
  readonly #labels: LabelCache;
  #palette: Palette | null = null;
  #slices = new SliceBuffer();
  #runs = new RunBuffer();
  #busy: { key: string; columns: Float32Array } = { key: "", columns: new Float32Array() };
  #width = 0;
  #height = 0;
  labelWidth = 164;

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

  /** Width of the plot, without the label column, in px. */
  get plotWidth() {
    return Math.max(1, this.#width - this.labelWidth);
  }

  /** Where the tracks end in the canvas. */
  get tracksBottom() {
    const { counter, meta } = this.state;
    return this.#height - (counter ? COUNTER_PX : meta.memory_remedy ? NO_COUNTER_PX : 0);
  }

  resize(width: number, height: number) {
    this.#width = width;
    this.#height = height;
    if (this.#slices.capacity < width) {
      this.#slices = new SliceBuffer(width);
      this.#runs = new RunBuffer(width);
    }
  }

  /** Reads the colours again with the next frame. */
  forgetColors() {
    this.#palette = null;
    this.#labels.clear();
  }

  paint() {
    if (this.#width < 50) return;
    this.#fitCanvas();
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
    if (this.state.counter) {
      drawCounter(frame, this.state.counter, this.tracksBottom + 2);
      drawSessionGaps(frame, this.tracksBottom, this.#height);
    } else if (this.state.meta.memory_remedy) {
      drawNoCounter(frame, this.tracksBottom + 2);
    }
    drawRangeBracket(frame, this.#height);
    ctx.restore();
  }

  #paintHead(frame: Frame) {
    const { state } = this;
    const isDevice = state.meta.planes.some((plane) => plane.kind === "device");
    drawOverview(frame, this.#busyColumns(frame, isDevice), isDevice ? "device" : "threads");
    drawRuler(frame, this.#height);
    drawRangeWash(frame, this.#height);
    drawSteps(frame, state.link.step);
    drawSessionGaps(frame, STEPS_TOP_PX, this.tracksBottom);
  }

  #paintTracks(frame: Frame) {
    const { ctx, palette } = frame;
    const { state } = this;
    ctx.save();
    ctx.beginPath();
    ctx.rect(-this.labelWidth, TRACKS_TOP_PX, this.#width, this.tracksBottom - TRACKS_TOP_PX);
    ctx.clip();
    drawTracks(frame);
    ctx.beginPath();
    ctx.rect(0, TRACKS_TOP_PX, frame.width, this.tracksBottom - TRACKS_TOP_PX);
    ctx.clip();
    if (state.foundIds.length > 0) markFound(frame, state.byName, state.foundIds, palette.act);
    if (state.hoveredIds.length > 0) outlineIds(frame, state.byKey, state.hoveredIds, palette.ink, 1);
    if (state.selectedIds.length > 0) outlineIds(frame, state.byKey, state.selectedIds, palette.ink, 1);
    if (state.hover >= 0) outlineEvent(frame, state.hover, palette.ink, 1);
    if (state.focus >= 0) outlineEvent(frame, state.focus, palette.ink, 2);
    for (const event of new Set([state.hover, state.focus])) drawFlows(frame, event, state.flowsOf(event), palette.ink);
    ctx.restore();
  }

  #busyColumns(frame: Frame, isDevice: boolean): Float32Array {
    const { state } = this;
    const key = `${frame.width}|${state.events.n}`;
    if (this.#busy.key !== key) {
      const { lines, planes } = state.meta;
      const kind = isDevice ? "device" : "host";
      const ids = lines.flatMap((l, id) =>
        planes[l.plane].kind === kind && !l.is_derived && l.n_events > 0 ? [id] : [],
      );
      this.#busy = { key, columns: busyColumns(frame, ids) };
    }
    return this.#busy.columns;
  }

  #fitCanvas() {
    const ratio = globalThis.devicePixelRatio || 1;
    const width = Math.round(this.#width * ratio);
    const height = Math.round(this.#height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.#ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  #frame(palette: Palette): Frame {
    const { state } = this;
    const { meta, events, rows, steps, family, layout, view, bounds, uncaptured, scrollTop, range } = state;
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
      rows,
      steps,
      family,
      labels: this.#labels,
      slices: this.#slices,
      runs: this.#runs,
      layout,
      scrollTop,
      tracksBottom: this.tracksBottom,
      range,
      rangeLabel: range ? this.#describe(range.t0, range.t1) : "",
    };
  }

  #describe(t0: number, t1: number): string {
    const { meta, trace } = this.state;
    return describeRange(meta, trace.data.table("steps"), [t0, t1]);
  }
}
