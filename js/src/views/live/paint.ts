/** A layout of step times and small charts -> the canvas: bands, stacks, lines, marks; words are laid over it. */

import type { Palette } from "../../colors/palette";
import { CATEGORIES } from "../../model/wire/categories";
import type { Layout, StripRow } from "./layout";
import type { Mark, Run } from "./payload";

const PALE = 0.13;
const STACK_ALPHA = 0.85;
const SHADE_LEAST_PX = 3;
const PEAK_PX = 5;
/** Where every bin has a slow step, marks on all would be a bar. */
const MOST_PEAKS = 20;
/** Epochs closer than this are no lines: one in so many is. */
const EPOCH_PX = 24;
const STRIDES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

export interface Scene {
  readonly layout: Layout;
  readonly marks: readonly Mark[];
  readonly palette: Palette;
  /** The step that is pointed at; null for none. */
  readonly cursor: number | null;
}

type Scale = (value: number) => number;

/** Paints one scene. */
class Painter {
  constructor(
    readonly ctx: CanvasRenderingContext2D,
    readonly scene: Scene,
  ) {}

  paint(): void {
    const { layout, palette, cursor, marks } = this.scene;
    const { axis, strips, events, body } = layout;
    this.ctx.clearRect(0, 0, axis.right + 100, layout.height);
    for (const mark of marks) if (mark.kind === "anomaly") this.#shade(mark);
    this.#times(layout);
    for (const row of strips) this.#strip(row);
    for (const { at } of shownEpochs(marks, axis.width / axis.nSteps, EPOCH_PX))
      this.#upright(palette.rule2, axis.x(at), events.top + 2, [2, 2]);
    for (const { kind, at, to } of marks) {
      const x = axis.x(at);
      if (kind === "window") {
        this.#fill(palette.act, 0.2, x, body.top, Math.max(1, axis.x((to ?? at) + 1) - x), body.height);
        this.#upright(palette.act, x, events.top - 3);
      } else if (kind === "validation" || kind === "checkpoint") {
        const color = palette.categories[CATEGORIES.indexOf(kind === "checkpoint" ? kind : "output")];
        this.#fill(color, 1, x - 3, events.top + (kind === "checkpoint" ? 8 : 1), 6, 6);
      }
    }
    if (cursor !== null) this.#upright(palette.ink, axis.x(cursor + 0.5), body.top);
  }

  #fill(color: string, alpha: number, x: number, y: number, width: number, height: number): void {
    this.ctx.globalAlpha = alpha;
    this.ctx.fillStyle = color;
    this.ctx.fillRect(x, y, width, height);
    this.ctx.globalAlpha = 1;
  }

  /** A line through all charts. */
  #upright(color: string, at: number, top: number, dash: number[] = []): void {
    const { body } = this.scene.layout;
    const x = Math.round(at) + 0.5;
    this.#line(
      2,
      () => x,
      (i) => (i ? body.top + body.height : top),
      color,
      1,
      dash,
    );
  }

  #level(color: string, at: number): void {
    const { axis } = this.scene.layout;
    const y = Math.round(at) + 0.5;
    this.#line(
      2,
      (i) => (i ? axis.right : axis.left),
      () => y,
      color,
      1,
    );
  }

  /** A line through `n` points, broken where one is not known. */
  #line(n: number, x: Scale, y: Scale, color: string, px: number, dash: number[] = []): void {
    const { ctx } = this;
    ctx.strokeStyle = color;
    ctx.lineWidth = px;
    ctx.lineJoin = "round";
    ctx.setLineDash(dash);
    ctx.beginPath();
    let isDown = false;
    for (let i = 0; i < n; i++) {
      const at = y(i);
      if (isDown) ctx.lineTo(x(i), at);
      else ctx.moveTo(x(i), at);
      isDown = Number.isFinite(at);
    }
    ctx.stroke();
  }

  #shade({ at, to }: Mark): void {
    const { layout, palette } = this.scene;
    const { axis } = layout;
    const x = axis.x(at);
    const wide = Math.max(SHADE_LEAST_PX, axis.x(to === null ? axis.nSteps : to + 1) - x);
    for (const { top, height } of [layout.times, ...layout.strips])
      this.#fill(palette.warn, PALE, x, top, wide, height);
    this.#fill(palette.warn, 1, x, layout.body.top, wide, 2);
  }

  #times({ axis, run, levels, times: { top, height }, top: most }: Layout): void {
    const { palette } = this.scene;
    const bottom = top + height;
    const y = (ms: number) => bottom - (Math.min(most, ms) / most) * height;
    const { mean_ms, nBins } = run;
    const wait = run.wait_ms.map((ms) => ms || 0);
    const beside = run.outside_ms.map((ms, i) => wait[i] + (ms || 0));
    const [input, other] = [palette.categories[CATEGORIES.indexOf("input")], palette.categories.at(-1) as string];
    // Two points a bin: its time lasts over its whole width.
    const x = (i: number) => axis.x(run.first_ordinal[i >> 1] + (i & 1 ? run.n[i >> 1] : 0));
    const of = (values: Float32Array) => (i: number) => y(values[i >> 1]);
    const area = (color: string, alpha: number, low: Scale, high: Scale) =>
      this.#area(2 * nBins, x, low, high, color, alpha);
    area(palette.ink, PALE, of(run.min_ms), of(run.max_ms));
    area(palette.ink, PALE, of(beside), of(mean_ms));
    area(other, STACK_ALPHA, of(wait), of(beside));
    area(input, STACK_ALPHA, () => bottom, of(wait));
    for (const { at } of levels) this.#level(palette.rule, y(at));
    this.#level(palette.rule2, bottom);
    this.#line(2 * nBins, x, of(run.p95_ms), palette.ink2, 1);
    this.#line(2 * nBins, x, of(mean_ms), palette.ink, 1.6);
    for (const bin of peaks(run, most).slice(0, MOST_PEAKS)) this.#peak((x(2 * bin) + x(2 * bin + 1)) / 2, top);
  }

  #area(n: number, x: Scale, low: Scale, high: Scale, color: string, alpha: number): void {
    const { ctx } = this;
    ctx.globalAlpha = alpha;
    ctx.fillStyle = color;
    ctx.beginPath();
    for (let i = 0; i < n; i++) ctx.lineTo(x(i), high(i));
    for (let i = n - 1; i >= 0; i--) ctx.lineTo(x(i), low(i));
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  /** It goes on above the chart. */
  #peak(x: number, top: number): void {
    const half = PEAK_PX / 2 + 1;
    this.#area(
      3,
      (i) => x + (i - 1) * half,
      () => top + PEAK_PX,
      (i) => top + (i === 1 ? 0 : PEAK_PX),
      this.scene.palette.ink,
      1,
    );
  }

  #strip({ strip, top, height }: StripRow): void {
    const { layout, palette } = this.scene;
    const { at, values, low, high } = strip;
    const bottom = top + height;
    const y = (i: number) => bottom - 1 - ((Math.min(high, values[i]) - low) / (high - low)) * (height - 2);
    this.#level(palette.rule, bottom);
    this.#line(at.length, (i) => layout.axis.x(at[i]), y, palette.ink2, 1.25);
  }
}

export function paintLive(ctx: CanvasRenderingContext2D, scene: Scene): void {
  new Painter(ctx, scene).paint();
}

/** Bins that reach above the chart, the highest first. */
export function peaks({ max_ms }: Run, top: number): number[] {
  const above = Array.from(max_ms.keys()).filter((i) => max_ms[i] > top);
  return above.sort((a, b) => max_ms[b] - max_ms[a]);
}

/** So many epochs that they are `px` apart. */
export function shownEpochs(marks: readonly Mark[], stepPx: number, px: number): Mark[] {
  const epochs = marks.filter(({ kind }) => kind === "epoch");
  const span = stepPx * ((epochs.at(-1)?.at ?? 0) - (epochs[0]?.at ?? 0));
  const every = STRIDES.find((n) => (n * span) / epochs.length >= px) ?? epochs.length;
  return epochs.filter((_, i) => i % every === 0);
}
