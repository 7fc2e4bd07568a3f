/** The steps of a trace -> one stacked bar a step; a click chooses a step, a drag a range of them. */

import "./step_chart.css";
import { bokehColors, type Chart, colorAxes, createChart, setTicks } from "./bokeh";
import { numbers } from "./core/column";
import { formatCount, formatMs, formatNumber, formatPercent } from "./core/format";
import { CATEGORY_LABELS } from "./core/meta";
import { stepLabel, stepsOfRange } from "./core/span_text";
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
} from "./core/step_bars";
import { EMPTY_TABLE, type Table } from "./core/wire";
import { emptyState, h } from "./draw/dom";
import { inFrame, watchSize } from "./draw/page";
import { createTip, drawLabels, type PlotLabel, watchPlot } from "./draw/plot";
import { mount, type TraceView } from "./view";

const PLOT_HEIGHT = 150;
const AXIS_HEIGHT = 18;
const MAX_BAR_PX = 56;

class StepChart {
  readonly #plot: HTMLElement;
  readonly #labels = h("div", { class: "tfp-labels", "aria-hidden": "true" });
  /** The sides of the range, on top of the bars. */
  readonly #edges = h("div", { class: "tfp-edges", hidden: true });
  #steps: Table;
  #bars: StepBars;
  #top = 1;
  /** Where a keyboard range began. */
  #anchor = -1;
  #chart: Chart | null = null;
  #redraw: () => void = () => undefined;

  constructor(readonly view: TraceView) {
    const { signal, data, link } = view;
    this.#steps = data.table("steps") ?? EMPTY_TABLE;
    this.#bars = stepBars(this.#steps, data.meta.categories, MAX_BARS);
    this.#plot = h("div", {
      class: "tfp-plot",
      tabindex: 0,
      role: "slider",
      "aria-label": this.#summary(),
      "aria-valuemin": 0,
      "aria-valuemax": this.#steps.n - 1,
      "data-lm-suppress-shortcuts": "true",
    });
    const isInferred = this.#steps.n > 0 && numbers(this.#steps, "source")[0] === 1;
    const head = h("span", {}, h("b", {}, "Every step"), isInferred ? ", ms · inferred, not marked" : ", ms");
    view.root.append(
      h("div", { class: "tfp-h" }, head, h("span", {}, "click a bar: that step · drag: a range")),
      this.#plot,
    );
    const update = inFrame(
      view.guard(() => this.#showRange()),
      signal,
    );
    link.on("time_range", update, signal);
    link.on("step", update, signal);
    this.#sayStep();
  }

  async build(): Promise<void> {
    const { view } = this;
    const tip = createTip(this.#plot);
    this.#chart = await createChart(view, this.#plot);
    this.#plot.append(this.#edges, this.#labels);
    this.#redraw = inFrame(
      view.guard(() => this.#draw()),
      view.signal,
    );
    view.onTheme(this.#redraw);
    watchSize(this.#plot, this.#redraw, view.signal);
    watchPlot(
      this.#plot,
      {
        onHover: (x) => this.#hover(x, tip),
        onLeave: () => {
          tip.hide();
          this.#chart?.get("hover").setv({ visible: false });
        },
        onClick: (x) => this.#click(x),
        onDrag: (x0, x1) => this.#choose(this.#rowAt(x0, -1), this.#rowAt(x1, 1)),
        onDragEnd: (x0, x1) => this.#choose(this.#rowAt(x0, -1), this.#rowAt(x1, 1)),
      },
      view.signal,
    );
    this.#plot.addEventListener(
      "keydown",
      view.guard((event: KeyboardEvent) => this.#key(event)),
      { signal: view.signal },
    );
    this.#draw();
  }

  /** Fills every source; runs at the first paint and after a change of size or theme. */
  #draw(): void {
    const chart = this.#chart;
    if (chart === null) return;
    const { meta } = this.view.data;
    const frame = chart.frame();
    const width = Math.max(1, Math.round(frame.right - frame.left));
    this.#bars = stepBars(this.#steps, meta.categories, this.#steps.n > MAX_BARS ? width : MAX_BARS);
    this.#top = chartTop(this.#steps);
    chart.get("x").setv({ start: 0, end: this.#bars.n });
    chart.get("y").setv({ start: 0, end: this.#top });
    chart.setData("bars", this.#barColumns(width));
    this.#drawWhiskers(chart);
    this.#drawBreaks(chart);
    this.#drawAxes(chart);
    this.#drawColors(chart, width / this.#bars.n);
    // Bokeh lays out in a later frame; the words go where its frame is then.
    const words = () => {
      if (this.view.signal.aborted) return;
      const now = chart.frame();
      if (Math.round(now.right - now.left) !== width && this.#steps.n > MAX_BARS) this.#redraw();
      this.#showRange();
      this.#drawLabels(chart);
    };
    requestAnimationFrame(this.view.guard(words));
  }

  #barColumns(width: number): Record<string, ArrayLike<number>> {
    const { n, stack } = this.#bars;
    const columns: Record<string, ArrayLike<number>> = {
      x: Float64Array.from({ length: n }, (_, i) => i + 0.5),
      width: new Float64Array(n).fill(this.#steps.n > MAX_BARS ? 1.3 : Math.min(0.86, (MAX_BAR_PX * n) / width)),
    };
    const edge = new Float64Array(n);
    this.view.data.meta.categories.forEach((category, c) => {
      columns[`bottom_${category}`] = edge.slice();
      for (let i = 0; i < n; i++) edge[i] = Math.min(this.#top, edge[i] + stack[c][i]);
      columns[`top_${category}`] = edge.slice();
    });
    return columns;
  }

  #drawWhiskers(chart: Chart): void {
    const { n, low, high } = this.#bars;
    const hasWhiskers = this.#steps.n > n;
    const x = hasWhiskers ? Array.from({ length: n }, (_, i) => i + 0.5) : [];
    const clip = (ms: number) => Math.min(this.#top, ms);
    chart.setData("whiskers", { x, low: x.map((_, i) => clip(low[i])), high: x.map((_, i) => clip(high[i])) });
  }

  /** Bars of steps that the mean leaves out and that would leave the chart: a slanted gap says that they go on. */
  #broken(): number[] {
    const bars: number[] = [];
    for (let i = 0; i < this.#bars.n; i++) if (this.#bars.mean[i] > this.#top) bars.push(i);
    return bars;
  }

  #drawBreaks(chart: Chart): void {
    const unit = this.#top / (PLOT_HEIGHT - AXIS_HEIGHT);
    const y = this.#top - 13 * unit;
    const xs = this.#broken().map((i) => [i - 0.1, i + 1.1, i + 1.1, i - 0.1]);
    chart.setData("breaks", { xs, ys: xs.map(() => [y, y + 5 * unit, y + 8 * unit, y + 3 * unit]) });
  }

  #drawAxes(chart: Chart): void {
    const { meta } = this.view.data;
    const every = Math.max(1, Math.round(niceTicks(this.#steps.n, Math.max(2, this.#plot.clientWidth / 60))[1] ?? 1));
    const rows: number[] = [];
    for (let row = 0; row < this.#steps.n; row += every) rows.push(row);
    const last = this.#steps.n - 1;
    if (last - rows[rows.length - 1] > every * 0.6) rows.push(last);
    const labels = new Map(rows.map((row) => [barOf(this.#bars, row) + 0.5, stepLabel(meta.step_names, row)]));
    setTicks(chart, "x_axis", [...labels.keys()], (tick) => labels.get(tick) ?? "");
    const levels = niceTicks(this.#top, 4);
    setTicks(chart, "y_axis", levels, (level) => formatAxis(level, levels[1] ?? 1));
  }

  #drawColors(chart: Chart, barPx: number): void {
    const { meta } = this.view.data;
    const tokens = ["ink", "ink-2", "bg", "rule", "act", ...meta.categories.map((category) => `c-${category}`)];
    const color = bokehColors(this.view.root, tokens);
    for (const category of meta.categories) {
      const gap = barPx > 4 ? 1 : 0;
      chart.get(`bar_${category}`).setv({
        fill_color: { value: color[`c-${category}`] },
        line_color: { value: color.bg },
        line_alpha: { value: gap },
      });
    }
    chart.get("whisker").setv({ line_color: { value: color.ink }, line_alpha: { value: 0.55 } });
    chart.get("break").setv({ fill_color: { value: color.bg } });
    chart.get("grid").setv({ grid_line_color: color.rule });
    const { avg } = this.view.data.meta.overview.step_time ?? { avg: 0 };
    chart.get("mean").setv({ location: avg, visible: avg > 0, line_color: color.ink });
    const wash = this.view.root.dataset.theme === "dark" ? 0.16 : 0.1;
    chart.get("range").setv({ fill_color: color.act, fill_alpha: wash, line_alpha: 0 });
    chart.get("hover").setv({ fill_color: color.ink, fill_alpha: 0.08, line_alpha: 0 });
    colorAxes(chart, ["x_axis", "y_axis"], color["ink-2"], getComputedStyle(this.view.root).fontFamily);
  }

  #drawLabels(chart: Chart): void {
    const { meta } = this.view.data;
    const frame = chart.frame();
    const labels: PlotLabel[] = [{ x: 0, y: frame.bottom + 9, text: "step", align: "left", isFaint: true }];
    const broken = this.#broken();
    if (broken.length > 0) {
      const bar = broken[0];
      const row = this.#bars.first[bar];
      const why = (numbers(this.#steps, "compile_ms")[row] ?? 0) > 0 ? "compiles, left out" : "left out of the mean";
      const more = broken.length > 1 ? ` · ${formatCount(broken.length - 1)} more` : "";
      labels.push({
        x: chart.xToPx(bar + 1) + 4,
        y: frame.top + 9,
        text: `${formatMs(this.#bars.high[bar])}: ${why}${more}`,
        align: "left",
      });
    }
    const avg = meta.overview.step_time?.avg ?? 0;
    if (avg > 0)
      labels.push({ x: frame.right, y: chart.yToPx(avg) - 9, text: `mean ${formatMs(avg)}`, align: "right" });
    drawLabels(this.#labels, labels);
  }

  #showRange(): void {
    this.#sayStep();
    const range = this.view.link.timeRange;
    const chart = this.#chart;
    this.#edges.hidden = range === null;
    if (chart === null) return;
    if (range === null) {
      chart.get("range").setv({ visible: false });
      return;
    }
    const [left, right] = range.map((ns) => stepToBarAxis(this.#bars, timeToStepAxis(this.#steps, ns * 1000)));
    chart.get("range").setv({ left, right, visible: true });
    const [x0, x1] = [Math.round(chart.xToPx(left)), Math.round(chart.xToPx(right))];
    this.#edges.style.left = `${x0}px`;
    this.#edges.style.width = `${Math.max(2, x1 - x0)}px`;
    this.#edges.style.height = `${chart.frame().bottom}px`;
  }

  #rowAt(px: number, side: -1 | 0 | 1): number {
    const x = this.#chart?.toX(px) ?? 0;
    const bar = Math.max(0, Math.min(this.#bars.n - 1, Math.floor(x)));
    return side > 0 ? this.#bars.first[bar + 1] - 1 : this.#bars.first[bar];
  }

  #choose(a: number, b: number): void {
    const [first, last] = a <= b ? [a, b] : [b, a];
    this.view.link.setTimeRange(timeOfSteps(this.#steps, first, last));
    this.view.link.setStep(first === last ? first : -1);
  }

  #click(px: number): void {
    const [first, last] = [this.#rowAt(px, -1), this.#rowAt(px, 1)];
    const { link } = this.view;
    const covered = this.#chosen();
    if (covered !== null && covered[0] === first && covered[1] === last) this.#clear();
    else if (first === last || link.timeRange === null) this.#choose(first, last);
    else this.#choose(first, last);
    this.#anchor = first;
  }

  #clear(): void {
    this.view.link.setTimeRange(null);
    this.view.link.setStep(-1);
  }

  #chosen(): readonly [number, number] | null {
    const range = this.view.link.timeRange;
    return range === null ? null : stepsOfRange(this.#steps, [range[0] * 1000, range[1] * 1000]);
  }

  #key(event: KeyboardEvent): void {
    const chosen = this.#chosen();
    if (event.key === "Escape") {
      if (this.view.link.timeRange !== null) this.#clear();
      else this.#plot.blur();
    } else {
      const move = {
        ArrowRight: 1,
        ArrowUp: 1,
        ArrowLeft: -1,
        ArrowDown: -1,
        Home: -this.#steps.n,
        End: this.#steps.n,
      }[event.key];
      if (move === undefined) return;
      const clamp = (row: number) => Math.max(0, Math.min(this.#steps.n - 1, row));
      if (chosen === null) this.#anchor = -1;
      const anchor = this.#anchor >= 0 ? this.#anchor : (chosen?.[0] ?? 0);
      const head = chosen === null ? -1 : chosen[0] === anchor ? chosen[1] : chosen[0];
      const next = clamp(head < 0 ? (move > 0 ? 0 : this.#steps.n - 1) : head + move);
      this.#anchor = event.shiftKey && chosen !== null ? anchor : next;
      this.#choose(this.#anchor, next);
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #hover(px: number, tip: ReturnType<typeof createTip>): void {
    const chart = this.#chart;
    if (chart === null) return;
    const bar = barOf(this.#bars, this.#rowAt(px, 0));
    const [first, last] = [this.#bars.first[bar], this.#bars.first[bar + 1] - 1];
    chart.get("hover").setv({ left: bar, right: bar + 1, visible: true });
    const { meta } = this.view.data;
    const name = (row: number) => stepLabel(meta.step_names, row);
    const mean = formatMs(this.#bars.mean[bar]);
    const title =
      first === last ? `step ${name(first)} · ${mean}` : `steps ${name(first)}–${name(last)} · mean ${mean}`;
    const parts = meta.categories
      .map((category, c) => ({ category, ms: this.#bars.stack[c][bar] }))
      .filter(({ ms }) => ms > 0)
      .sort((a, b) => b.ms - a.ms)
      .slice(0, 4)
      .map(
        ({ category, ms }) =>
          `${CATEGORY_LABELS[category] ?? category} ${formatMs(ms)} (${formatPercent(ms / (this.#bars.mean[bar] || 1))})`,
      );
    if (first !== last) parts.unshift(`${formatMs(this.#bars.low[bar])} to ${formatMs(this.#bars.high[bar])}`);
    tip.show(px, 14, { title, lines: parts });
  }

  #sayStep(): void {
    const chosen = this.#chosen();
    const { meta } = this.view.data;
    const duration = numbers(this.#steps, "duration_ps");
    let text = "no step chosen";
    if (chosen !== null) {
      const [first, last] = chosen.map((row) => stepLabel(meta.step_names, row));
      text = first === last ? `step ${first}, ${formatMs(duration[chosen[0]] / 1e9)}` : `steps ${first} to ${last}`;
    }
    this.#plot.setAttribute("aria-valuenow", String(chosen?.[0] ?? 0));
    this.#plot.setAttribute("aria-valuetext", text);
  }

  #summary(): string {
    const { step_time: time, breakdown } = this.view.data.meta.overview;
    const largest = [...(breakdown ?? [])].sort((a, b) => b.ms - a.ms)[0];
    const parts = [`Step time of ${formatCount(this.#steps.n)} steps, stacked by category`];
    if (time) parts.push(`mean ${formatMs(time.avg)}, from ${formatMs(time.min)} to ${formatMs(time.max)}`);
    if (largest)
      parts.push(
        `largest part ${CATEGORY_LABELS[largest.category] ?? largest.category} ${formatPercent(largest.ratio)}`,
      );
    return `${parts.join("; ")}. Arrow keys choose a step, with Shift a range, Escape clears it.`;
  }
}

function formatAxis(level: number, step: number): string {
  return step >= 1 ? formatNumber(level, 6).replace(/\.0+$/, "") : level.toFixed(Math.ceil(-Math.log10(step)));
}

export default mount("step_chart", async (view) => {
  view.root.classList.add("tfp-step_chart");
  if ((view.data.table("steps") ?? EMPTY_TABLE).n === 0) {
    const reason =
      "Nothing in this capture repeats like a training step: no step marker, no repeated traced function, no iterator call. Mark the steps of your loop:";
    view.root.append(emptyState("No steps in this capture", reason, NO_STEPS_CODE, view.signal));
    return;
  }
  await new StepChart(view).build();
});

const NO_STEPS_CODE = "for batch in tfprof.trace_steps(dataset):\n    train_step(batch)";
