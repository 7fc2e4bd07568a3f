/** A training as Python tells it while it runs: columns of steps and of the machine, their axes, and the words about them. */

import { numbers, partOf, upperBound } from "../../data/columns";
import { EMPTY_TABLE, fromBase64, type Table } from "../../data/pack";
import type { AnyModel } from "../../data/widget";
import { niceTicks } from "../../model/steps";
import {
  formatAny,
  formatBytes,
  formatCount,
  formatFixed,
  formatMs,
  formatNumber,
  formatPercent,
  plural,
} from "../../model/text";
import type { Tip } from "../../ui/plot";

export type Known = number | null;

export interface Mark {
  readonly kind: "epoch" | "validation" | "window" | "anomaly";
  /** Ordinals of steps; null where it is a moment, or goes on. */
  readonly at: number;
  readonly to: Known;
  readonly words: string;
  /** Of a window its number, of an anomaly its place in `anomalies`. */
  readonly index?: Known;
}

export interface Anomaly extends Readonly<Record<"first_step" | "last_step" | "window", Known>> {
  readonly title: string;
  readonly evidence: string;
  readonly severity: "info" | "low" | "medium" | "high";
  readonly goes_on: boolean;
}

export interface ProfileWindow {
  readonly index: number;
  readonly first_step: Known;
  readonly last_step: Known;
  readonly why: string;
  readonly state: "recording" | "reading" | "ready" | "failed";
  readonly words: string;
}

export interface LiveHead
  extends Readonly<Record<"title" | "file" | "budget", string>>,
    Readonly<
      Record<
        "step_ms" | "steps_per_s" | "wait_ratio" | "outside_ratio" | "loss" | "epoch" | "elapsed_s" | "now_ns",
        Known
      >
    > {
  /** Since the last step of any kind ended. */
  readonly quiet_s: Known;
  readonly state: "running" | "ended" | "failed" | "interrupted" | "lost";
  readonly n_steps: number;
  /** "5 batches in one call, 0.961 ms a batch"; "" where a step is one. */
  readonly batches: string;
  /** To touch it profiles the next steps. */
  readonly trigger_file: string;
  readonly marks: readonly Mark[];
  readonly anomalies: readonly Anomaly[];
  readonly windows: readonly ProfileWindow[];
  readonly notices: readonly string[];
  /** Whether a message reaches the training while it runs. */
  readonly can_ask: boolean;
  /** Whether steps are told; a notice says why not. */
  readonly is_recorded: boolean;
}

/** Columns of bins of steps; NaN where not known. */
const COLUMNS = [
  ...(["first_ordinal", "first_number", "start_s", "n", "mean_ms", "min_ms", "max_ms", "p95_ms"] as const),
  ...(["wait_ms", "outside_ms", "loss", "profiled"] as const),
] as const;
type Column = (typeof COLUMNS)[number];

export interface Run extends Readonly<Record<Column, Float32Array>> {
  readonly nBins: number;
  readonly nSteps: number;
}

export interface LiveState {
  readonly head: LiveHead;
  readonly run: Run;
  readonly samples: Table;
}

export function readState(model: AnyModel): LiveState {
  const text = (trait: string) => String(model.get(trait) || "");
  const names = (trait: string) => JSON.parse(text(trait) || "[]") as string[];
  const head = JSON.parse(text("head")) as LiveHead;
  const bins = readColumns(text("bins"), names("columns"));
  return { head, run: runOf(bins), samples: readColumns(text("samples"), names("sample_columns")) };
}

export function readColumns(text: string, names: readonly string[]): Table {
  if (text === "" || names.length === 0) return EMPTY_TABLE;
  const values = new Float32Array(fromBase64(text).buffer as ArrayBuffer);
  const n = values.length / names.length;
  if (!Number.isInteger(n)) throw new Error(`${values.length} values do not fill ${names.length} columns`);
  return { n, columns: Object.fromEntries(names.map((name, i) => [name, values.subarray(i * n, (i + 1) * n)])) };
}

export function runOf({ n, columns }: Table): Run {
  const whole = (name: Column) => (columns[name] as Float32Array) ?? new Float32Array(n).fill(Number.NaN);
  const nSteps = n === 0 ? 0 : whole("n").reduce((sum, count) => sum + count, 0);
  const own = COLUMNS.map((name) => [name, whole(name)] as const);
  return { nBins: n, nSteps, ...(Object.fromEntries(own) as Record<Column, Float32Array>) };
}

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

export function binOf(run: Run, ordinal: number): number {
  return Math.max(0, upperBound(run.first_ordinal, ordinal) - 1);
}

/** How far a column of steps counts on within a bin: steps may have numbers that are more than 1 apart. */
function spanOf(run: Run, column: Float32Array, bin: number): number {
  return Math.max(run.n[bin], (column[bin + 1] ?? 0) - column[bin]);
}

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

function nearest(values: ArrayLike<number>, value: number): number {
  const at = partOf(values, value);
  return values[at + 1] - value < value - values[at] ? at + 1 : at;
}

/** ms at the top, a round value over the slowest usual step: a bin slower than its neighbours does not count, a run of them does. */
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

export function levelTicks(top: number, most: number): Tick[] {
  const levels = niceTicks(top, most).slice(1);
  const decimals = Math.max(0, Math.ceil(-Math.log10(levels[0] ?? 1) - 1e-9));
  return levels.map((at) => ({ at, text: formatFixed(at, decimals) }));
}

export interface Strip {
  readonly title: string;
  /** Ordinals of steps, growing, and what was known there; NaN where nothing was. */
  readonly at: ArrayLike<number>;
  readonly values: ArrayLike<number>;
  readonly low: number;
  readonly high: number;
  readonly say: (value: number) => string;
}

interface Kind {
  readonly title: string;
  readonly column: string;
  readonly say: (value: number) => string;
  /** Of a scale that is not that of the values. */
  readonly most?: number;
  /** A chart of what rests says nothing: from which ratio of its largest change on it is shown. */
  readonly leastChange?: number;
}

const percent = (value: number) => formatPercent(value / 100);
const MACHINE: readonly Kind[] = [
  { title: "CPU", column: "cpu_pct", say: percent, most: 100 },
  { title: "Memory", column: "rss_bytes", say: formatBytes },
  { title: "GPU", column: "gpu_pct", say: percent, most: 100 },
  { title: "GPU memory", column: "gpu_memory_bytes", say: formatBytes },
  { title: "in tensors", column: "tf_bytes", say: formatBytes },
  { title: "GPU clock", column: "gpu_clock_mhz", say: (mhz) => `${formatNumber(mhz, 4)} MHz`, leastChange: 0.03 },
];
/** Memory and loss have no scale from 0, but noise must not fill the chart. */
const LEAST_SPAN = 0.02;

export function stripsOf({ run, samples }: LiveState): Strip[] {
  if (run.nBins === 0) return [];
  const strips: Strip[] = [];
  if (run.loss.some(Number.isFinite)) {
    const at = run.first_ordinal.map((first, i) => first + run.n[i] / 2);
    strips.push({ title: "Loss", at, values: run.loss, say: formatAny, ...lossSpan(run.loss) });
  }
  if (samples.n === 0 || samples.columns.time_s === undefined) return strips;
  const at = numbers(samples, "time_s").map((time) => ordinalAt(run, time));
  for (const { title, column, say, most, leastChange = 0 } of MACHINE) {
    const values = samples.columns[column] as Float32Array | undefined;
    const sorted = values?.filter(Number.isFinite).sort();
    if (values === undefined || !sorted?.length) continue;
    const [least, largest] = [sorted[0], sorted[sorted.length - 1]];
    if (largest - least < leastChange * largest) continue;
    const span = most === undefined ? heightsOf(least, largest) : { low: 0, high: Math.max(most, largest) };
    strips.push({ title, at, values, say, ...span });
  }
  return strips;
}

function heightsOf(low: number, high: number): { readonly low: number; readonly high: number } {
  const missing = Math.max(0, LEAST_SPAN * Math.max(Math.abs(low), Math.abs(high)) - (high - low));
  return { low: low - missing / 2, high: high + missing / 2 || 1 };
}

/** The first losses may be far above all others: what one in twenty bins exceeds is cut. */
function lossSpan(loss: Float32Array): { readonly low: number; readonly high: number } {
  const sorted = loss.filter(Number.isFinite).sort();
  const high = sorted[Math.floor(0.95 * (sorted.length - 1))];
  const low = sorted[0];
  const largest = sorted[sorted.length - 1];
  return heightsOf(low, largest - low < 2 * (high - low) ? largest : high + 0.1 * (high - low));
}

export const known = (value: Known | undefined): value is number => typeof value === "number" && Number.isFinite(value);

/** "step 12", "steps 2,010–2,014"; "since step 2,000" for what goes on, "" where none is known. */
export function stepsText(first: Known, last: Known, goesOn = false): string {
  if (!known(first)) return "";
  if (goesOn) return `since step ${formatCount(first)}`;
  if (!known(last) || last <= first) return `step ${formatCount(first)}`;
  return `steps ${formatCount(first)}–${formatCount(last)}`;
}

export function windowTitle({ index, first_step, last_step }: ProfileWindow): string {
  return [`Window ${formatCount(index)}`, stepsText(first_step, last_step)].filter(Boolean).join(": ");
}

const WINDOW_STATES: Readonly<Record<ProfileWindow["state"], string>> = {
  recording: "recording …",
  reading: "being read …",
  ready: "",
  failed: "could not be recorded",
};

export function windowWords({ why, state, words }: ProfileWindow): string {
  return [why, words || WINDOW_STATES[state]].filter(Boolean).join(" · ");
}

export function binTip(run: Run, bin: number, ordinal: number): Tip {
  const n = run.n[bin];
  const [first, last] = [numberOf(run, run.first_ordinal[bin]), numberOf(run, run.first_ordinal[bin] + n - 1)];
  const steps = n > 1 ? `${stepsText(first, last)} (${formatCount(n)})` : stepsText(first, null);
  const mean = run.mean_ms[bin];
  const spread = [
    `mean ${formatMs(mean)}`,
    `min ${formatMs(run.min_ms[bin])}`,
    Number.isFinite(run.p95_ms[bin]) ? `p95 ${formatMs(run.p95_ms[bin])}` : "p95 not known",
    `max ${formatMs(run.max_ms[bin])}`,
  ];
  const part = (what: string, ms: number) =>
    Number.isFinite(ms) && `${what} ${formatMs(ms)} of it, ${formatPercent(ms / mean)}`;
  const lines = [
    n > 1 ? spread.join(" · ") : formatMs(mean),
    part("waits for data", run.wait_ms[bin]),
    part("outside computing", run.outside_ms[bin]),
    run.profiled[bin] > 0 && (n > 1 ? `${formatPercent(run.profiled[bin])} of them profiled` : "profiled"),
    `${clockText(timeOf(run, ordinal))} after the start`,
  ];
  return { title: steps, lines: lines.filter((line) => line !== false) };
}

export function stripWords(strips: readonly Strip[], ordinal: number): string {
  const said = strips.map(({ title, at, values, say }) => `${title} ${say(values[nearest(at, ordinal)])}`);
  return said.join(" · ");
}

export function markWords(mark: Mark, { anomalies, windows }: LiveHead): string {
  if (mark.kind === "anomaly") return anomalies[mark.index ?? -1]?.title ?? mark.words;
  const shown = windows.find(({ index }) => index === mark.index);
  return mark.kind === "window" && shown ? `${windowTitle(shown)}, ${windowWords(shown)}` : mark.words || mark.kind;
}

export function summary({ head }: LiveState): string {
  const nSteps = plural(head.n_steps, "step");
  const time = known(head.step_ms) ? `, the last ones ${formatMs(head.step_ms)} each` : "";
  const found = head.anomalies.length > 0 ? `, ${anomalyCount(head.anomalies.length)}` : "";
  const keys =
    "Left and right walk over windows and anomalies, with Shift over the steps; Enter opens a window, Esc ends.";
  return `Step times: ${nSteps}${time}${found}. ${keys}`;
}

export function anomalyCount(n: number): string {
  return `${formatCount(n)} ${n === 1 ? "anomaly" : "anomalies"}`;
}

/** Newest first, those that go on in front. */
export function newestFirst(anomalies: readonly Anomaly[]): Anomaly[] {
  return anomalies.toReversed().sort((a, b) => Number(b.goes_on) - Number(a.goes_on));
}
