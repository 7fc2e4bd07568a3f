/** The steps of a trace as stacked Bokeh bars; a click chooses a step, a drag a range of them. */

import { numbers } from "../../data/columns";
import { CATEGORY_LABELS, type TraceMeta } from "../../data/meta";
import { EMPTY_TABLE, type Table } from "../../data/pack";
import { cutNames } from "../../model/names";
import { frameworkOf, MARK_STEPS_CODE, unrecordedWords } from "../../model/overview";
import { stepLabel, stepsOfRange, stepWords } from "../../model/range";
import {
  barOf,
  chartTop,
  MAX_BARS,
  niceTicks,
  type StepBars,
  stepBars,
  stepToBarAxis,
  timeOfSteps,
  timeToStepAxis,
} from "../../model/steps";
import { typicalStep } from "../../model/strip";
import { formatCount, formatMs, formatNumber, formatPercent } from "../../model/text";
import { emptyState, h, inFrame, onKeys, paced, unspoken, watchSize } from "../../ui/dom";
import {
  bokehColors,
  type Chart,
  colorAxes,
  createChart,
  drawLabels,
  type PlotLabel,
  setTicks,
  type Tip,
  TipBox,
  watchPlot,
} from "../../ui/plot";
import { chooseRange, type TraceBuilder, type TraceView } from "../../ui/view";

const N_PARTS = 4;

const labelOf = (category: string) => CATEGORY_LABELS[category] ?? category;

function summary(meta: TraceMeta, nSteps: number): string {
  const { step_time: time, breakdown } = meta.overview;
  const largest = [...(breakdown ?? [])].sort((a, b) => b.ms - a.ms)[0];
  const parts = [`Step time of ${formatCount(nSteps)} steps, stacked by category`];
  if (time) parts.push(`median ${formatMs(time.median)}, from ${formatMs(time.min)} to ${formatMs(time.max)}`);
  if (largest) parts.push(`largest part ${labelOf(largest.category)} ${formatPercent(largest.ratio)}`);
  return `${parts.join("; ")}. Arrow keys choose a step, with Shift a range, Escape clears it.`;
}

function spoken(meta: TraceMeta, steps: Table, chosen: readonly [number, number] | null): string {
  if (chosen === null) return "no step chosen";
  const [first, last] = chosen.map((row) => stepLabel(meta.step_names, row));
  if (first !== last) return `steps ${first} to ${last}`;
  return `${stepWords(meta.step_names, chosen[0])}, ${formatMs(numbers(steps, "duration_ps")[chosen[0]] / 1e9)}`;
}

function barTip(meta: TraceMeta, bars: StepBars, bar: number): Tip {
  const [first, last] = [bars.first[bar], bars.first[bar + 1] - 1];
  const name = (row: number) => stepLabel(meta.step_names, row);
  const mean = bars.mean[bar];
  const lines = meta.categories
    .map((category, c) => ({ category, ms: bars.stack[c][bar] }))
    .filter(({ ms }) => ms > 0)
    .sort((a, b) => b.ms - a.ms)
    .slice(0, N_PARTS)
    .map(({ category, ms }) => `${labelOf(category)} ${formatMs(ms)} (${formatPercent(ms / (mean || 1))})`);
  if (first === last) return { title: `${stepWords(meta.step_names, first)} · ${formatMs(mean)}`, lines };
  const title = `steps ${name(first)}–${name(last)} · mean ${formatMs(mean)}`;
  return { title, lines: [`${formatMs(bars.low[bar])} to ${formatMs(bars.high[bar])}`, ...lines] };
}

const PLOT_HEIGHT = 150;
const AXIS_HEIGHT = 18;
const MAX_BAR_PX = 56;
/** Between two step names on the axis, which are cut to fit; about the width of a character of them. */
const TICK_GAP_PX = 8;
const MIN_TICK_PX = 24;
const CHARACTER_PX = 6.2;
const MIN_GAP_BAR_PX = 4;

interface StepScene {
  readonly meta: TraceMeta;
  readonly steps: Table;
  readonly bars: StepBars;
  /** ms at the top of the plot. */
  readonly top: number;
  readonly width: number;
}

function paintSteps(chart: Chart, scene: StepScene, root: HTMLElement): void {
  chart.get("x").setv({ start: 0, end: scene.bars.n });
  chart.get("y").setv({ start: 0, end: scene.top });
  chart.setData("bars", barColumns(scene));
  chart.setData("whiskers", whiskers(scene));
  chart.setData("breaks", breaks(scene));
  paintAxes(chart, scene);
  paintColors(chart, scene, root);
}

/** A bar that leaves the chart shows its own proportions up to the break, not the bottom of its stack. */
function barColumns({ meta, steps, bars, top, width }: StepScene): Record<string, ArrayLike<number>> {
  const { n, stack } = bars;
  // Columns of one pixel overlap a little, or anti-aliasing would draw a seam between any two.
  const barWidth = steps.n > MAX_BARS ? 1.3 : Math.min(0.86, (MAX_BAR_PX * n) / width);
  const columns: Record<string, ArrayLike<number>> = {
    x: Float64Array.from({ length: n }, (_, i) => i + 0.5),
    width: new Float64Array(n).fill(barWidth),
  };
  const shrink = Array.from(bars.mean, (mean) => Math.min(1, top / (mean || 1)));
  const edge = new Float64Array(n);
  meta.categories.forEach((category, c) => {
    columns[`bottom_${category}`] = edge.slice();
    for (let i = 0; i < n; i++) edge[i] += stack[c][i] * shrink[i];
    columns[`top_${category}`] = edge.slice();
  });
  return columns;
}

function whiskers({ steps, bars, top }: StepScene) {
  const x = steps.n > bars.n ? Array.from({ length: bars.n }, (_, i) => i + 0.5) : [];
  const clip = (ms: number) => Math.min(top, ms);
  return { x, low: x.map((_, i) => clip(bars.low[i])), high: x.map((_, i) => clip(bars.high[i])) };
}

/** Bars of steps that the averages leave out and that would leave the chart: a slanted gap says that they go on. */
function broken({ bars, top }: StepScene): number[] {
  return Array.from({ length: bars.n }, (_, i) => i).filter((i) => bars.mean[i] > top);
}

function breaks(scene: StepScene) {
  const unit = scene.top / (PLOT_HEIGHT - AXIS_HEIGHT);
  const y = scene.top - 13 * unit;
  const xs = broken(scene).map((i) => [i - 0.1, i + 1.1, i + 1.1, i - 0.1]);
  return { xs, ys: xs.map(() => [y, y + 5 * unit, y + 8 * unit, y + 3 * unit]) };
}

function paintAxes(chart: Chart, { meta, steps, bars, top, width }: StepScene): void {
  const every = Math.max(1, Math.round(niceTicks(steps.n, width / 60)[1] ?? 1));
  const rows: number[] = [];
  for (let row = 0; row < steps.n; row += every) rows.push(row);
  const last = steps.n - 1;
  if (last - rows[rows.length - 1] > every * 0.6) rows.push(last);
  const names = rows.map((row) => stepLabel(meta.step_names, row));
  const room = (width * every) / Math.max(1, steps.n) - TICK_GAP_PX;
  const cuts = cutNames(names, (name) => name.length * CHARACTER_PX <= Math.max(MIN_TICK_PX, room));
  const labels = new Map(rows.map((row, i) => [barOf(bars, row) + 0.5, cuts.get(names[i]) ?? names[i]]));
  setTicks(chart, "x_axis", [...labels.keys()], (tick) => labels.get(tick) ?? "");
  const levels = niceTicks(top, 4);
  setTicks(chart, "y_axis", levels, (level) => formatLevel(level, levels[1] ?? 1));
}

function formatLevel(level: number, step: number): string {
  if (level === 0) return "0";
  return step >= 1 ? formatNumber(level, 6).replace(/\.0+$/, "") : level.toFixed(Math.ceil(-Math.log10(step) - 1e-9));
}

function paintColors(chart: Chart, { meta, bars, width }: StepScene, root: HTMLElement): void {
  const tokens = ["ink", "ink-2", "bg", "rule", "act", ...meta.categories.map((category) => `c-${category}`)];
  const color = bokehColors(root, tokens);
  const gap = width / bars.n > MIN_GAP_BAR_PX ? 1 : 0;
  for (const category of meta.categories) {
    const fill = { fill_color: { value: color[`c-${category}`] } };
    chart.get(`bar_${category}`).setv({ ...fill, line_color: { value: color.bg }, line_alpha: { value: gap } });
  }
  chart.get("whisker").setv({ line_color: { value: color.ink }, line_alpha: { value: 0.55 } });
  chart.get("break").setv({ fill_color: { value: color.bg } });
  chart.get("grid").setv({ grid_line_color: color.rule });
  const { median, n_averaged } = meta.overview.step_time ?? { median: 0, n_averaged: 0 };
  chart.get("median").setv({ location: median, visible: n_averaged > 1, line_color: color.ink });
  const wash = root.dataset.theme === "dark" ? 0.16 : 0.1;
  chart.get("range").setv({ fill_color: color.act, fill_alpha: wash, line_alpha: 0 });
  chart.get("hover").setv({ fill_color: color.ink, fill_alpha: 0.08, line_alpha: 0 });
  colorAxes(chart, ["x_axis", "y_axis"], color["ink-2"], getComputedStyle(root).fontFamily);
}

const MEDIAN_LABEL_PX = 92;

/** The words inside the plot; call when Bokeh has laid the plot out. */
function stepLabels(chart: Chart, scene: StepScene): PlotLabel[] {
  const { meta, steps, bars } = scene;
  const frame = chart.frame();
  const labels: PlotLabel[] = [{ x: 0, y: frame.bottom + 9, text: "step", align: "left", isFaint: true }];
  const [bar, ...others] = broken(scene);
  if (bar !== undefined) {
    const why = numbers(steps, "compile_ms")[bars.first[bar]] > 0 ? "compiles, left out" : "left out";
    const more = others.length > 0 ? ` · ${formatCount(others.length)} more` : "";
    const text = `${formatMs(bars.high[bar])}: ${why}${more}`;
    labels.push({ x: chart.xToPx(bar + 1) + 4, y: frame.top + 9, text, align: "left" });
  }
  const { median, n_averaged } = meta.overview.step_time ?? { median: 0, n_averaged: 0 };
  const nBars = Math.min(bars.n, Math.ceil(MEDIAN_LABEL_PX / (chart.xToPx(1) - chart.xToPx(0))));
  const x = Math.min(chart.xToPx(lowestRun(bars.mean, nBars) + nBars), frame.right);
  const y = chart.yToPx(median) - 9;
  if (n_averaged > 1) labels.push({ x, y, text: `median ${formatMs(median)}`, align: "right" });
  return labels;
}

/** Where so many bars in a row are lowest, the last of such places: words above the median hide least there. */
export function lowestRun(heights: ArrayLike<number>, n: number): number {
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  for (let start = 0; start + n <= heights.length; start++) {
    let highest = 0;
    for (let k = start; k < start + n; k++) highest = Math.max(highest, heights[k]);
    if (highest <= least) [best, least] = [start, highest];
  }
  return best;
}

const ALWAYS = () => true;
const NO_STEPS_REASON =
  "Nothing in this capture repeats like a training step: no step marker, no repeated traced function, no iterator call. Mark the steps of your loop:";

class StepChart {
  readonly #plot: HTMLElement;
  readonly #labels = unspoken("div.tfp-labels");
  readonly #edges = h("div.tfp-edges", { hidden: true });
  /** Around the step that the overview draws. */
  readonly #drawn = unspoken("div.tfp-edges.drawn");
  #steps: Table;
  #bars: StepBars;
  #anchor = -1;
  /** The rows that were chosen here, and their time: steps of several hosts overlap, so the time does not tell the rows. */
  #choice: { rows: readonly [number, number]; range: readonly [number, number] } | null = null;
  #chart: Chart | null = null;
  #redraw: () => void = () => undefined;

  constructor(readonly view: TraceView) {
    const { signal, data, link } = view;
    this.#steps = data.table("steps") ?? EMPTY_TABLE;
    this.#bars = stepBars(this.#steps, data.meta.categories, MAX_BARS);
    this.#plot = h("div.tfp-plot", { tabindex: 0, role: "slider", "aria-valuemin": 0 });
    this.#describe();
    const isInferred = this.#steps.n > 0 && numbers(this.#steps, "source")[0] === 1;
    const head = h("span", h("b", "Every step"), isInferred ? ", ms · inferred" : ", ms");
    view.root.append(h("div.tfp-h", head, h("span", "click: draw it · drag: a range")), this.#plot);
    const update = paced(() => this.#showRange(), signal);
    // The chart draws itself anew for the wash, which takes it as long as a frame: that waits until a drag rests.
    const wash = paced(() => this.#showWash(), signal, ALWAYS);
    const onRange = () => {
      update();
      wash();
    };
    link.on("time_range", onRange, signal);
    link.on("step", update, signal);
    data.onTables(() => this.#read(), signal, ["steps"]);
    onKeys(this.#plot, signal, (event) => this.#key(event)); // which can have the focus before its bars are drawn
  }

  #describe(): void {
    this.#plot.setAttribute("aria-label", summary(this.view.data.meta, this.#steps.n));
    this.#plot.setAttribute("aria-valuemax", String(this.#steps.n - 1));
    this.#sayStep();
  }

  #read(): void {
    const { data } = this.view;
    const steps = data.table("steps") ?? EMPTY_TABLE;
    if (steps === this.#steps || steps.n === 0) return;
    this.#steps = steps;
    this.#bars = stepBars(steps, data.meta.categories, MAX_BARS);
    this.#anchor = -1;
    this.#choice = null;
    this.#describe();
    this.#draw();
  }

  async build(): Promise<void> {
    const { view } = this;
    const tip = new TipBox(this.#plot);
    this.#chart = await createChart(view, this.#plot);
    this.#plot.append(this.#drawn, this.#edges, this.#labels);
    this.#redraw = inFrame(() => this.#draw(), view.signal);
    view.onTheme(this.#redraw);
    watchSize(this.#plot, view.signal, this.#redraw);
    const drag = (x0: number, x1: number) => this.#drag(x0, x1);
    watchPlot(this.#plot, view.signal, {
      onHover: (x) => this.#hover(x, tip),
      onLeave: () => {
        tip.hide();
        this.#chart?.get("hover").setv({ visible: false });
      },
      onClick: (x) => this.#click(x),
      onDrag: drag,
      onDragEnd: drag,
    });
    this.#draw();
  }

  #draw(): void {
    const chart = this.#chart;
    if (chart === null) return;
    const { data, root, signal } = this.view;
    const frame = chart.frame();
    const width = Math.max(1, Math.round(frame.right - frame.left));
    this.#bars = stepBars(this.#steps, data.meta.categories, this.#steps.n > MAX_BARS ? width : MAX_BARS);
    const scene = { meta: data.meta, steps: this.#steps, bars: this.#bars, top: chartTop(this.#steps), width };
    paintSteps(chart, scene, root);
    // Bokeh lays out in a later frame; the words go where its frame is then.
    const words = () => {
      if (signal.aborted) return;
      const now = chart.frame();
      if (Math.round(now.right - now.left) !== width) this.#redraw();
      this.#showRange();
      this.#showWash();
      drawLabels(this.#labels, stepLabels(chart, scene));
    };
    requestAnimationFrame(this.view.guard(words));
  }

  get #sides(): readonly [number, number] | null {
    const range = this.view.link.timeRange;
    if (range === null || this.#chart === null) return null;
    const side = (ns: number) => stepToBarAxis(this.#bars, timeToStepAxis(this.#steps, ns * 1000));
    return [side(range[0]), side(range[1])];
  }

  #frame(element: HTMLElement, left: number, right: number): void {
    const [x0, x1] = [left, right].map((side) => Math.round(this.#chart?.xToPx(side) ?? 0));
    element.style.left = `${x0}px`;
    element.style.width = `${Math.max(2, x1 - x0)}px`;
    element.style.height = `${this.#chart?.frame().bottom ?? 0}px`;
  }

  #showDrawn(): void {
    const { link, data } = this.view;
    const row = link.step >= 0 ? link.step : (data.meta.overview.typical_steps?.[0] ?? typicalStep(this.#steps));
    const bar = barOf(this.#bars, row);
    this.#drawn.hidden = row < 0 || row >= this.#steps.n;
    this.#frame(this.#drawn, bar, bar + 1);
  }

  #showRange(): void {
    this.#sayStep();
    this.#showDrawn();
    const sides = this.#sides;
    this.#edges.hidden = this.view.link.timeRange === null;
    if (sides !== null) this.#frame(this.#edges, ...sides);
  }

  #showWash(): void {
    const sides = this.#sides;
    const [left, right] = sides ?? [0, 0];
    this.#chart?.get("range").setv(sides === null ? { visible: false } : { left, right, visible: true });
  }

  #rowAt(px: number, side: -1 | 0 | 1): number {
    const x = this.#chart?.toX(px) ?? 0;
    const bar = Math.max(0, Math.min(this.#bars.n - 1, Math.floor(x)));
    return side > 0 ? this.#bars.first[bar + 1] - 1 : this.#bars.first[bar];
  }

  #drag(x0: number, x1: number): void {
    this.#choose(this.#rowAt(Math.min(x0, x1), -1), this.#rowAt(Math.max(x0, x1), 1));
  }

  #choose(a: number, b: number): void {
    const [first, last] = a <= b ? [a, b] : [b, a];
    const range = timeOfSteps(this.#steps, first, last);
    this.#choice = { rows: [first, last], range };
    chooseRange(this.view.link, range, first === last ? first : -1);
  }

  #click(px: number): void {
    const [first, last] = [this.#rowAt(px, -1), this.#rowAt(px, 1)];
    const chosen = this.#chosen();
    if (chosen !== null && chosen[0] === first && chosen[1] === last) chooseRange(this.view.link, null);
    else this.#choose(first, last);
    this.#anchor = first;
  }

  #chosen(): readonly [number, number] | null {
    const range = this.view.link.timeRange;
    if (range === null) return null;
    const { rows, range: own } = this.#choice ?? {};
    if (rows !== undefined && own?.[0] === range[0] && own[1] === range[1]) return rows;
    return stepsOfRange(this.#steps, [range[0] * 1000, range[1] * 1000]);
  }

  #key(event: KeyboardEvent): boolean {
    const chosen = this.#chosen();
    if (event.key === "Escape") {
      if (this.view.link.timeRange !== null) chooseRange(this.view.link, null);
      else this.#plot.blur();
    } else {
      const { n } = this.#steps;
      const move = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -n, End: n }[event.key];
      if (move === undefined) return false;
      const clamp = (row: number) => Math.max(0, Math.min(n - 1, row));
      if (chosen === null) this.#anchor = -1;
      const anchor = this.#anchor >= 0 ? this.#anchor : (chosen?.[0] ?? 0);
      const head = chosen === null ? -1 : chosen[0] === anchor ? chosen[1] : chosen[0];
      const next = clamp(head < 0 ? (move > 0 ? 0 : n - 1) : head + move);
      this.#anchor = event.shiftKey && chosen !== null ? anchor : next;
      this.#choose(this.#anchor, next);
    }
    return true;
  }

  #hover(px: number, tip: TipBox): void {
    const bar = barOf(this.#bars, this.#rowAt(px, 0));
    this.#chart?.get("hover").setv({ left: bar, right: bar + 1, visible: true });
    tip.show(px, 14, barTip(this.view.data.meta, this.#bars, bar));
  }

  #sayStep(): void {
    const chosen = this.#chosen();
    this.#plot.setAttribute("aria-valuenow", String(chosen?.[0] ?? 0));
    this.#plot.setAttribute("aria-valuetext", spoken(this.view.data.meta, this.#steps, chosen));
  }
}

export const stepChart: TraceBuilder = {
  name: "step_chart",
  async build(view) {
    if ((view.data.table("steps") ?? EMPTY_TABLE).n === 0) {
      const instead = unrecordedWords(view.data.meta);
      const code = instead ? "" : MARK_STEPS_CODE[frameworkOf(view.data.meta)];
      view.root.append(emptyState("No steps in this capture", instead || NO_STEPS_REASON, code, view.signal));
      return;
    }
    await new StepChart(view).build();
  },
  needs: ["steps"],
  about: "steps",
};
