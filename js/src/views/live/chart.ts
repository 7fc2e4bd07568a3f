/** The chart of a running training: step times and small charts, redrawn at most once a frame and only for something new. */

import { CATEGORIES } from "../../data/meta";
import type { Palette } from "../../model/colors";
import { formatCount, formatMs } from "../../model/text";
import { button, h, inFrame, on, onKeys, readPalette, sized, unspoken, watchSize } from "../../ui/dom";
import { drawLabels, type PlotLabel, TipBox } from "../../ui/plot";
import type { View } from "../../ui/view";
import {
  binOf,
  binTip,
  type LiveHead,
  type LiveState,
  levelTicks,
  type Mark,
  markWords,
  type Run,
  StepAxis,
  type Strip,
  stripsOf,
  stripWords,
  summary,
  type Tick,
  topOf,
} from "./training";

const LABELS_PX = 128;
const RIGHT_PX = 10;
const FLAGS_PX = 22;
const EVENTS_PX = 15;
const MAIN_PX = 208;
const GAP_PX = 10;
const AXIS_PX = 19;
const STRIP_PX = 34;

type Box = Readonly<Record<"top" | "height", number>>;

type StripRow = Box & { readonly strip: Strip };

interface Layout extends Readonly<Record<"top" | "timesY" | "height", number>> {
  readonly axis: StepAxis;
  readonly run: Run;
  readonly levels: readonly Tick[];
  readonly events: Box;
  readonly times: Box;
  /** Middle of the labels of step numbers, and of times. */
  readonly numbersY: number;
  readonly strips: readonly StripRow[];
  /** From the step times to the last chart: lines through all of it. */
  readonly body: Box;
}

function layOut(state: LiveState, strips: readonly Strip[], axis: StepAxis, top: number): Layout {
  const { run, head } = state;
  const above = head.marks.some(({ kind }) => kind === "window") ? FLAGS_PX : 0;
  const hasEvents = head.marks.some(({ kind }) => kind !== "window" && kind !== "anomaly");
  const events = { top: above, height: hasEvents ? EVENTS_PX : 0 };
  let y = above + events.height + 2;
  const times = { top: y, height: MAIN_PX };
  y += MAIN_PX;
  const numbersY = y + AXIS_PX / 2;
  y += AXIS_PX;
  const placed = strips.map((strip, place) => {
    y += place > 0 ? GAP_PX : 3;
    y += STRIP_PX;
    return { strip, top: y - STRIP_PX, height: STRIP_PX };
  });
  const body = { top: times.top, height: y - times.top };
  const levels = levelTicks(top, Math.max(2, Math.floor(MAIN_PX / 40)));
  const ends = { timesY: y + AXIS_PX / 2, height: y + AXIS_PX };
  return { axis, run, top, levels, events, times, numbersY, strips: placed, body, ...ends };
}

const PALE = 0.13;
const STACK_ALPHA = 0.85;
const SHADE_LEAST_PX = 3;
const PEAK_PX = 5;
/** Where every bin has a slow step, marks on all would be a bar. */
const MOST_PEAKS = 20;
/** Epochs closer than this are no lines: one in so many is. */
const EPOCH_PX = 24;
const STRIDES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

interface Scene {
  readonly layout: Layout;
  readonly marks: readonly Mark[];
  readonly palette: Palette;
  /** The step that is pointed at; null for none. */
  readonly cursor: number | null;
}

type Scale = (value: number) => number;

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
      } else if (kind === "validation") {
        this.#fill(palette.categories[CATEGORIES.indexOf("output")], 1, x - 3, events.top + 1, 6, 6);
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

  #upright(color: string, at: number, top: number, dash: number[] = []): void {
    const { body } = this.scene.layout;
    const x = Math.round(at) + 0.5;
    const y = (i: number) => (i ? body.top + body.height : top);
    this.#line(2, () => x, y, color, 1, dash);
  }

  #level(color: string, at: number): void {
    const { axis } = this.scene.layout;
    const y = Math.round(at) + 0.5;
    const x = (i: number) => (i ? axis.right : axis.left);
    this.#line(2, x, () => y, color, 1);
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
  #peak(at: number, top: number): void {
    const half = PEAK_PX / 2 + 1;
    const x = (i: number) => at + (i - 1) * half;
    const y = (i: number) => top + (i === 1 ? 0 : PEAK_PX);
    const ground = () => top + PEAK_PX;
    this.#area(3, x, ground, y, this.scene.palette.ink, 1);
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

const NUMBER_PX = 84;
const EPOCH_LABEL_PX = 58;
const LABEL_GAP_PX = 6;
/** Half the width of a number: closer to an edge it would be cut. */
const EDGE_PX = 26;

function liveLabels(layout: Layout, head: LiveHead): PlotLabel[] {
  const { axis, times, strips, events, numbersY, timesY } = layout;
  const faint = (x: number, y: number, text: string, align: PlotLabel["align"] = "center"): PlotLabel => {
    return { x, y, text, align, isFaint: true };
  };
  const beside = (y: number, text: string) => faint(axis.left - LABEL_GAP_PX, y, text, "right");
  const along = (y: number, title: string, ticks: readonly Tick[]) => [
    beside(y, title),
    ...ticks.map(({ at, text }) => {
      const x = axis.x(at);
      return faint(x, y, text, x < axis.left + EDGE_PX ? "left" : x > axis.right - EDGE_PX ? "right" : "center");
    }),
  ];
  const { top, height } = times;
  const levels = layout.levels.map(({ at, text }, i, { length }) =>
    beside(Math.max(top + 6, top + height - (at / layout.top) * height), i === length - 1 ? `${text} ms` : text),
  );
  const shown = shownEpochs(head.marks, axis.width / axis.nSteps, EPOCH_LABEL_PX);
  const epochs = shown.filter(({ at }) => axis.x(at) < axis.right - EPOCH_LABEL_PX);
  return [
    ...levels,
    ...highest(layout),
    ...along(numbersY, "step", axis.numberTicks(NUMBER_PX)),
    ...along(timesY, "time", axis.timeTicks(NUMBER_PX)),
    ...strips.flatMap(({ strip, top, height }) => [
      ...stripFigures({ strip, top, height }),
      beside(top + 6, strip.say(strip.high)),
      beside(top + height - 6, strip.say(strip.low)),
    ]),
    ...epochs.map(({ at, words }) => faint(axis.x(at) + 6, events.top + 7, words, "left")),
  ];
}

/** The value of the highest of the bins that leave the chart. */
function highest({ axis, run, top, times }: Layout): PlotLabel[] {
  const [first, ...others] = peaks(run, top);
  if (first === undefined) return [];
  const x = axis.x(run.first_ordinal[first] + run.n[first] / 2);
  const more = others.length > 0 ? ` · ${formatCount(others.length)} more above` : "";
  const isLeft = x < axis.left + axis.width * 0.75;
  const text = formatMs(run.max_ms[first]) + more;
  return [{ x: x + (isLeft ? 7 : -7), y: times.top + 8, text, align: isLeft ? "left" : "right" }];
}

function stripFigures({ strip, top, height }: StripRow): PlotLabel[] {
  const last = Array.from(strip.values).findLast(Number.isFinite);
  return [
    { x: 0, y: top + 6, text: strip.title, align: "left" },
    { x: 0, y: top + height - 6, text: strip.say(last ?? Number.NaN), align: "left", isBold: true },
  ];
}

const SHOWN = new WeakMap<HTMLElement, string>();

/** Fills `element` with what `make` gives for `what`; the focus stays on the element of the same `data-key`. */
export function renew(element: HTMLElement, what: unknown, make: () => readonly (Node | string)[]): void {
  const now = JSON.stringify(what);
  if (SHOWN.get(element) === now) return;
  SHOWN.set(element, now);
  const { activeElement } = document;
  const key = element.contains(activeElement) ? (activeElement as HTMLElement).dataset.key : undefined;
  element.replaceChildren(...make());
  if (key) element.querySelector<HTMLElement>(`[data-key="${key}"]`)?.focus();
}

const FLAG_PX = 26;

function drawFlags(
  element: HTMLElement,
  { axis }: Layout,
  head: LiveHead,
  opened: number | null,
  onWindow: (index: number) => void,
  signal: AbortSignal,
): void {
  const own = head.marks.filter(({ kind }) => kind === "window").sort((a, b) => a.at - b.at);
  let free = 0;
  const places = own.map(({ at }) => {
    const left = Math.max(free, Math.min(axis.x(at), axis.right - FLAG_PX));
    free = left + FLAG_PX;
    return left;
  });
  renew(element, [places, own, head.windows, opened], () =>
    own.map((mark, i) => {
      const index = mark.index ?? -1;
      const words = markWords(mark, head);
      const style = { left: `${places[i]}px` };
      const says = { title: words, "aria-label": words, "aria-pressed": String(index === opened) };
      // By keys the chart walks over the windows.
      const rest = { class: "flag", "data-key": index, tabindex: -1, style };
      return button(`⚑${index}`, () => onWindow(index), signal, { ...says, ...rest });
    }),
  );
}

const TIP_PX = 14;

export class LiveChart {
  readonly element: HTMLElement;
  readonly #plot = h("div.tfp-plot", { tabindex: 0, role: "application", "aria-roledescription": "step chart" });
  readonly #canvas = unspoken("canvas");
  readonly #labels = unspoken("div.tfp-labels");
  readonly #flags = h("div.flags");
  readonly #said = h("div.sr", { role: "status" });
  readonly #tip;
  readonly #redraw: () => void;
  #state: LiveState | null = null;
  #layout: Layout | null = null;
  #palette: Palette | null = null;
  #width = 0;
  #opened: number | null = null;
  /** The step that is pointed at, and whether it was clicked or walked to: then it stays. */
  #cursor: number | null = null;
  #isHeld = false;

  constructor(
    readonly view: View,
    readonly onWindow: (index: number) => void,
  ) {
    const { signal } = view;
    this.#plot.append(this.#canvas, this.#labels);
    this.element = h("div.chart", this.#plot, this.#flags, this.#said);
    this.#tip = new TipBox(this.element);
    this.#redraw = inFrame(() => this.#draw(), signal);
    view.onTheme(() => {
      this.#palette = null;
      this.#redraw();
    });
    watchSize(this.element, signal, (width) => {
      this.#width = width;
      this.#redraw();
    });
    on(this.#plot, signal, {
      pointermove: (event) => this.#isHeld || this.#point(this.#at(event)),
      pointerleave: () => this.#isHeld || this.#point(null),
      blur: () => this.#point(null),
      // The first click keeps the words of a bin where they are, so that they can be read; the next one lets go.
      click: (event) => this.#point(this.#at(event), !this.#isHeld),
    });
    onKeys(this.#plot, signal, ({ key, shiftKey }) => this.#key(key, shiftKey));
  }

  show(state: LiveState, opened: number | null): void {
    this.#state = state;
    this.#opened = opened;
    this.#redraw();
  }

  #draw(): void {
    const { signal } = this.view;
    const state = this.#state;
    if (state === null || this.#width === 0) return;
    const axis = new StepAxis(state.run, LABELS_PX, Math.max(1, this.#width - LABELS_PX - RIGHT_PX));
    const layout = layOut(state, stripsOf(state), axis, topOf(state.run));
    this.#layout = layout;
    this.#plot.style.height = `${layout.height}px`;
    this.#plot.setAttribute("aria-label", summary(state));
    drawLabels(this.#labels, liveLabels(layout, state.head));
    drawFlags(this.#flags, layout, state.head, this.#opened, this.onWindow, signal);
    this.#paint(layout, state);
    this.#tell(layout, state);
  }

  #paint(layout: Layout, state: LiveState): void {
    const ctx = sized(this.#canvas, this.#width, layout.height);
    if (ctx === null) return;
    this.#palette ??= readPalette(this.view.root);
    new Painter(ctx, { layout, marks: state.head.marks, palette: this.#palette, cursor: this.#cursor }).paint();
  }

  /** The step under the pointer; null beside the steps. */
  #at(event: MouseEvent): number | null {
    const layout = this.#layout;
    if (layout === null) return null;
    const ordinal = Math.floor(layout.axis.ordinal(event.clientX - this.#plot.getBoundingClientRect().left));
    return ordinal >= 0 && ordinal < layout.run.nSteps ? ordinal : null;
  }

  #point(at: number | null, isHeld = false): boolean {
    this.#isHeld = isHeld && at !== null;
    this.#cursor = at;
    this.#redraw();
    return true;
  }

  #marksAt(ordinal: number): Mark[] {
    const { axis } = this.#layout as Layout;
    const near = (2 * axis.nSteps) / axis.width;
    const end = ({ kind, at, to }: Mark) => to ?? (kind === "anomaly" ? axis.nSteps : at);
    const marks = this.#state?.head.marks ?? [];
    return marks.filter((mark) => ordinal >= mark.at - near && ordinal <= end(mark) + near);
  }

  #tell({ run, times, strips, axis }: Layout, { head }: LiveState) {
    const ordinal = this.#cursor;
    if (ordinal === null) return this.#tip.hide();
    const { title, lines } = binTip(run, binOf(run, ordinal), ordinal);
    const marks = this.#marksAt(ordinal).map((mark) => markWords(mark, head));
    const shown = stripWords(
      strips.map(({ strip }) => strip),
      ordinal,
    );
    const all = [...lines, shown, ...marks].filter(Boolean);
    this.#tip.show(axis.x(ordinal + 0.5), times.top + TIP_PX, { title, lines: all });
    if (this.#isHeld) this.#said.textContent = [title, ...all].join(", ");
  }

  #key(key: string, isShift: boolean): boolean {
    const run = this.#layout?.run;
    if (run === undefined) return false;
    if (key === "Escape") return this.#cursor !== null && this.#point(null);
    if (key === "Enter" || key === " ") return this.#open();
    const marks = (this.#state?.head.marks ?? []).filter(({ kind }) => kind === "window" || kind === "anomaly");
    const isOfBins = isShift || marks.length === 0;
    const places = isOfBins ? [...run.first_ordinal] : marks.map(({ at }) => at).sort((a, b) => a - b);
    const now = this.#cursor ?? Number.POSITIVE_INFINITY;
    const next = {
      ArrowLeft: places.findLast((at) => at < now) ?? places[0],
      ArrowRight: places.find((at) => at > now) ?? places.at(-1),
      Home: places[0],
      End: places.at(-1),
    }[key];
    return next !== undefined && this.#point(next, true);
  }

  #open(): boolean {
    const at = this.#cursor;
    const window = at === null ? undefined : this.#marksAt(at).find(({ kind }) => kind === "window");
    if (window === undefined) return false;
    this.onWindow(window.index ?? -1);
    return true;
  }
}
