/** Bins of steps -> the axes of the chart: ordinals of steps across, with their numbers and times, and ms up. */

import { formatCount, formatFixed } from "../../model/text/format";
import { niceTicks } from "../../model/time/step_bars";
import { partOf, upperBound } from "../../model/wire/bisect";
import type { Run } from "./payload";

/** Fewer steps than this leave room at the right: the first ones are no walls. */
const LEAST_STEPS = 20;
/** What usual steps leave free above them. */
const HEADROOM = 1.5;
/** A bin that differs from so many neighbours does not count for the height. */
const NEIGHBOURS = 5;

export interface Tick {
  readonly at: number;
  readonly text: string;
}

/** Steps across, in the order they came. */
export class StepAxis {
  readonly nSteps: number;

  constructor(
    readonly run: Run,
    readonly left: number,
    readonly width: number,
  ) {
    this.nSteps = Math.max(LEAST_STEPS, run.nSteps);
  }

  get right(): number {
    return this.left + this.width;
  }

  /** Left edge of a step; whatever lies outside is at the edge. */
  x(ordinal: number): number {
    return this.left + (Math.max(0, Math.min(this.nSteps, ordinal)) / this.nSteps) * this.width;
  }

  ordinal(x: number): number {
    return ((x - this.left) / this.width) * this.nSteps;
  }

  /** Numbers of steps, round ones where the numbers only grow. */
  numberTicks(leastPx: number): Tick[] {
    const { run } = this;
    if (run.nBins === 0) return [];
    const numbers = run.first_number;
    const grows = numbers.every((number, i) => i === 0 || number > numbers[i - 1]);
    const values = grows ? numbers : run.first_ordinal;
    const last = values[run.nBins - 1] + run.n[run.nBins - 1] - 1;
    const every = Math.max(1, niceTicks(last - values[0] + 1, this.width / leastPx)[1] ?? 1);
    const ticks: Tick[] = [];
    for (let value = Math.ceil(values[0] / every) * every; value <= last; value += every) {
      const text = formatCount(grows ? value : numberOf(run, value));
      ticks.push({ at: ordinalOf(run, values, value), text });
    }
    return ticks;
  }

  /** Times since the start, apart by what a clock has. */
  timeTicks(leastPx: number): Tick[] {
    const { run } = this;
    if (run.nBins === 0) return [];
    const end = timeOf(run, run.nSteps);
    const wanted = (end - run.start_s[0]) / Math.max(2, this.width / leastPx);
    const every = CLOCK_S.find((step) => step >= wanted) ?? Math.ceil(wanted / 86_400) * 86_400;
    const ticks: Tick[] = [];
    let free = Number.NEGATIVE_INFINITY;
    for (let time = Math.ceil(run.start_s[0] / every) * every; time <= end; time += every) {
      const at = ordinalAt(run, time);
      if (this.x(at) < free) continue;
      free = this.x(at) + leastPx * 0.8;
      ticks.push({ at, text: clockText(time) });
    }
    return ticks;
  }
}

const MINUTE = 60;
const HOUR = 3600;
const CLOCK_S = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12, 24].map((n) => n * HOUR),
];

/** "0:07", "12:30", "3:05:00". */
export function clockText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (n: number) => String(n).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / HOUR), Math.floor(whole / MINUTE) % 60];
  return `${hours > 0 ? `${formatCount(hours)}:${two(minutes)}` : minutes}:${two(whole % 60)}`;
}

/** The bin that holds a step. */
export function binOf(run: Run, ordinal: number): number {
  return Math.max(0, upperBound(run.first_ordinal, ordinal) - 1);
}

/** How far a column of steps counts on within a bin: steps may have numbers that are more than 1 apart. */
function spanOf(run: Run, column: Float32Array, bin: number): number {
  return Math.max(run.n[bin], (column[bin + 1] ?? 0) - column[bin]);
}

/** The number of a step. */
export function numberOf(run: Run, ordinal: number): number {
  const bin = binOf(run, ordinal);
  const part = (ordinal - run.first_ordinal[bin]) / run.n[bin];
  return run.first_number[bin] + Math.floor(part * spanOf(run, run.first_number, bin) + 1e-6);
}

/** Where a growing column has a value. */
function ordinalOf(run: Run, column: Float32Array, value: number): number {
  const bin = Math.max(0, upperBound(column, value) - 1);
  return run.first_ordinal[bin] + Math.min(1, (value - column[bin]) / spanOf(run, column, bin)) * run.n[bin];
}

/** The step that ran at a time; while none did, as during a validation, the next one. */
export function ordinalAt(run: Run, seconds: number): number {
  const bin = Math.max(0, upperBound(run.start_s, seconds) - 1);
  const stepS = run.mean_ms[bin] / 1000;
  const steps = (seconds - run.start_s[bin]) / stepS;
  return run.first_ordinal[bin] + Math.max(0, Math.min(run.n[bin], Number.isFinite(steps) ? steps : 0));
}

/** When a step began, s after the start; of the step after the last one, when that ended. */
export function timeOf(run: Run, ordinal: number): number {
  const bin = binOf(run, ordinal);
  return run.start_s[bin] + ((ordinal - run.first_ordinal[bin]) * run.mean_ms[bin]) / 1000;
}

/** The one of growing values that is nearest. */
export function nearest(values: ArrayLike<number>, value: number): number {
  const at = partOf(values, value);
  return values[at + 1] - value < value - values[at] ? at + 1 : at;
}

/**
 * ms at the top: over the slowest usual step, on a round value, so that it rests while steps come in.
 *
 * A bin that is slower than its neighbours does not count, a run of slow ones does.
 */
export function topOf(run: Run): number {
  const reach = run.mean_ms.map((mean, i) => (Number.isFinite(run.p95_ms[i]) ? run.p95_ms[i] : mean));
  const usual = calmed(reach).sort((a, b) => a - b);
  const highest = Math.max(0, ...run.max_ms.filter(Number.isFinite));
  const bound = HEADROOM * (usual[Math.floor(0.99 * (usual.length - 1))] ?? 0);
  const top = (bound > 0 ? Math.min(bound, highest * 1.05) : highest) || 1;
  const unit = (niceTicks(top, 4)[1] ?? top) / 2;
  return Math.ceil(top / unit - 1e-9) * unit;
}

/** Of each value and its neighbours the median, the lower of two. */
function calmed(values: Float32Array): number[] {
  const half = NEIGHBOURS >> 1;
  return Array.from(values, (_, i) => {
    const near = values.slice(Math.max(0, i - half), i + half + 1).filter(Number.isFinite);
    return near.length > 0 ? near.sort()[(near.length - 1) >> 1] : 0;
  });
}

/** Ticks above 0, with as many decimals as the largest needs. */
export function levelTicks(top: number, most: number): Tick[] {
  const levels = niceTicks(top, most).slice(1);
  const decimals = Math.max(0, Math.ceil(-Math.log10(levels[0] ?? 1) - 1e-9));
  return levels.map((at) => ({ at, text: formatFixed(at, decimals) }));
}
