/** The `steps` table -> the bars of the step chart: one a step, or one a pixel column with mean stack and min-max. */

import { partOf } from "../wire/bisect";
import { columns, numbers } from "../wire/column";
import type { Table } from "../wire/wire";

/** More steps than this are drawn one column a pixel. */
export const MAX_BARS = 200;

export interface StepBars {
  readonly n: number;
  /** First step row of each bar; `first[n]` is the number of steps, so bar i holds rows [first[i], first[i + 1]). */
  readonly first: Int32Array;
  /** Mean ms of a step of the bar, per category. */
  readonly stack: readonly Float64Array[];
  readonly mean: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
}

/** Spreads the steps evenly over at most `maxBars` bars, in order, none empty. */
export function stepBars(steps: Table, categories: readonly string[], maxBars: number): StepBars {
  const n = Math.min(steps.n, Math.max(1, Math.floor(maxBars)));
  const first = new Int32Array(n + 1);
  for (let i = 0; i <= n; i++) first[i] = Math.floor((i * steps.n) / Math.max(1, n));
  const columns = categories.map((category) => numbers(steps, `${category}_ms`));
  const duration = numbers(steps, "duration_ps");
  const stack = columns.map(() => new Float64Array(n));
  const mean = new Float64Array(n);
  const low = new Float64Array(n).fill(Infinity);
  const high = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const count = first[i + 1] - first[i];
    for (let row = first[i]; row < first[i + 1]; row++) {
      const ms = duration[row] / 1e9;
      mean[i] += ms / count;
      low[i] = Math.min(low[i], ms);
      high[i] = Math.max(high[i], ms);
      for (let c = 0; c < columns.length; c++) stack[c][i] += columns[c][row] / count;
    }
  }
  return { n, first, stack, mean, low, high };
}

/** The bar that holds a step row. */
export function barOf(bars: StepBars, row: number): number {
  return partOf(bars.first, row);
}

/** A position among steps as a position among bars, where bar i spans [i, i + 1). */
export function stepToBarAxis(bars: StepBars, position: number): number {
  const total = bars.first[bars.n] ?? 0;
  if (position >= total) return bars.n;
  const bar = barOf(bars, Math.max(0, Math.floor(position)));
  return bar + Math.max(0, position - bars.first[bar]) / (bars.first[bar + 1] - bars.first[bar]);
}

/** From this many times the usual on, a step that the mean leaves out is drawn broken. */
const OUTLIER_FACTOR = 1.25;

/**
 * The ms at the top of the chart: room over the slowest usual step.
 * Steps that the mean leaves out (the first one, which compiles) do not stretch it: their bars are broken and labelled.
 */
export function chartTop(steps: Table): number {
  const [duration, isAveraged] = columns(steps, "duration_ps", "is_averaged");
  let usual = 0;
  let all = 0;
  for (let i = 0; i < steps.n; i++) {
    all = Math.max(all, duration[i] / 1e9);
    if (isAveraged[i]) usual = Math.max(usual, duration[i] / 1e9);
  }
  if (usual === 0 || all <= usual * OUTLIER_FACTOR) return (all || 1) * 1.16;
  return usual * 1.2;
}

/** Round tick values from 0 to `top`, some `most` of them above 0 (three at least, since fewer may be none). */
export function niceTicks(top: number, most: number): number[] {
  if (!(top > 0)) return [0];
  const wanted = Math.max(3, most);
  const power = 10 ** Math.floor(Math.log10(top / wanted));
  const step = [1, 2, 5, 10].map((k) => k * power).find((candidate) => top / candidate <= wanted) ?? 10 * power;
  const ticks: number[] = [];
  for (let i = 0; i * step <= top * (1 + 1e-9); i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** A moment as a position on the axis of steps, where step i spans [i, i + 1); between two steps it is their border. */
export function timeToStepAxis(steps: Table, timePs: number): number {
  const [start, duration] = columns(steps, "start_ps", "duration_ps");
  let position = 0;
  for (let i = 0; i < steps.n; i++) {
    if (timePs < start[i]) return position;
    position = i + Math.min(1, duration[i] > 0 ? (timePs - start[i]) / duration[i] : 1);
  }
  return position;
}

/** The time that steps [first, last] span, in whole ns inside them, so that no neighbour's event counts. */
export function timeOfSteps(steps: Table, first: number, last: number): [number, number] {
  const [start, duration] = columns(steps, "start_ps", "duration_ps");
  let from = Infinity;
  let to = -Infinity;
  for (let i = first; i <= last; i++) {
    from = Math.min(from, start[i]);
    to = Math.max(to, start[i] + duration[i]);
  }
  return [Math.ceil(from / 1000), Math.floor(to / 1000)];
}
