/** Bars of steps -> the Bokeh step chart: stacks, whiskers, broken bars, axes, colours and the words on top. */

import { cutNames } from "../../model/text/cut";
import { formatCount, formatMs, formatNumber } from "../../model/text/format";
import { stepLabel } from "../../model/time/span_text";
import { barOf, MAX_BARS, niceTicks, type StepBars } from "../../model/time/step_bars";
import { numbers } from "../../model/wire/column";
import type { TraceMeta } from "../../model/wire/meta";
import type { Table } from "../../model/wire/wire";
import { bokehColors, type Chart, colorAxes, setTicks } from "../../ui/bokeh";
import type { PlotLabel } from "../../ui/plot";

const PLOT_HEIGHT = 150;
const AXIS_HEIGHT = 18;
const MAX_BAR_PX = 56;
/** Between two step names on the axis, which are cut to fit; about the width of a character of them. */
const TICK_GAP_PX = 8;
const MIN_TICK_PX = 24;
const CHARACTER_PX = 6.2;
/** Thinner bars have no gap between their pieces. */
const MIN_GAP_BAR_PX = 4;

export interface StepScene {
  readonly meta: TraceMeta;
  readonly steps: Table;
  readonly bars: StepBars;
  /** ms at the top of the plot. */
  readonly top: number;
  /** Width of the plot, px. */
  readonly width: number;
}

/** Fills every source, axis and colour of the chart. */
export function paintSteps(chart: Chart, scene: StepScene, root: HTMLElement): void {
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

/** Bars of steps that the mean leaves out and that would leave the chart: a slanted gap says that they go on. */
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
  const avg = meta.overview.step_time?.avg ?? 0;
  chart.get("mean").setv({ location: avg, visible: avg > 0, line_color: color.ink });
  const wash = root.dataset.theme === "dark" ? 0.16 : 0.1;
  chart.get("range").setv({ fill_color: color.act, fill_alpha: wash, line_alpha: 0 });
  chart.get("hover").setv({ fill_color: color.ink, fill_alpha: 0.08, line_alpha: 0 });
  colorAxes(chart, ["x_axis", "y_axis"], color["ink-2"], getComputedStyle(root).fontFamily);
}

/** Room for "mean 30.4 ms". */
const MEAN_LABEL_PX = 84;

/** The words inside the plot; call when Bokeh has laid the plot out. */
export function stepLabels(chart: Chart, scene: StepScene): PlotLabel[] {
  const { meta, steps, bars } = scene;
  const frame = chart.frame();
  const labels: PlotLabel[] = [{ x: 0, y: frame.bottom + 9, text: "step", align: "left", isFaint: true }];
  const [bar, ...others] = broken(scene);
  if (bar !== undefined) {
    const why = numbers(steps, "compile_ms")[bars.first[bar]] > 0 ? "compiles, left out" : "left out of the mean";
    const more = others.length > 0 ? ` · ${formatCount(others.length)} more` : "";
    const text = `${formatMs(bars.high[bar])}: ${why}${more}`;
    labels.push({ x: chart.xToPx(bar + 1) + 4, y: frame.top + 9, text, align: "left" });
  }
  const avg = meta.overview.step_time?.avg ?? 0;
  const meanY = chart.yToPx(avg) - 9;
  const nBars = Math.min(bars.n, Math.ceil(MEAN_LABEL_PX / (chart.xToPx(1) - chart.xToPx(0))));
  const x = Math.min(chart.xToPx(lowestRun(bars.mean, nBars) + nBars), frame.right);
  if (avg > 0) labels.push({ x, y: meanY, text: `mean ${formatMs(avg)}`, align: "right" });
  return labels;
}

/** Where so many bars in a row are lowest, the last of such places: words above the mean hide least there. */
export function lowestRun(heights: ArrayLike<number>, n: number): number {
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  for (let start = 0; start + n <= heights.length; start++) {
    let highest = 0;
    for (let k = start; k < start + n; k++) highest = Math.max(highest, heights[k]);
    if (highest <= least) [best, least] = [start, highest];
  }
  return best;
}
