/** The overview of a trace: the words and figures of its header, its facts, and the cards of advice. */

import { numbers } from "../data/columns";
import { type AdviceMeta, CATEGORY_LABELS, type OverviewMeta, type TraceMeta } from "../data/meta";
import type { Table } from "../data/pack";
import { hostsOf, shortHost } from "./hosts";
import { capturedPs } from "./range";
import { countedSteps, median, statisticsOf } from "./steps";
import { formatBytes, formatCount, formatMs, formatNumber, formatPercent, formatTime, plural } from "./text";

export type Framework = "TensorFlow" | "JAX" | "PyTorch/XLA" | "PyTorch";

type Words = Readonly<Record<Framework, string>>;

export function frameworkOf({ overview }: TraceMeta): Framework {
  const told = overview?.environment?.framework;
  return told === "JAX" || told === "PyTorch/XLA" || told === "PyTorch" ? told : "TensorFlow";
}

/** That what computed the steps is not in the capture, and what records it; "" where it is. */
export function unrecordedWords({ overview }: TraceMeta): string {
  return overview?.environment?.unrecorded ? `${overview.verdict ?? ""} ${overview.verdict_detail ?? ""}`.trim() : "";
}

export const CAPTURE_CODE: Words = {
  TensorFlow: "%%tfprofile\nmodel.fit(dataset, epochs=1)",
  JAX: 'jax.profiler.start_trace("logs")\n# some steps\njax.profiler.stop_trace()',
  "PyTorch/XLA":
    'import torch_xla.debug.profiler as profiler\n\nprofiler.start_trace("logs")\n# some steps\nprofiler.stop_trace()',
  PyTorch: "",
};

export const MARK_STEPS_CODE: Words = {
  TensorFlow: "for batch in tfprof.trace_steps(dataset):\n    train_step(batch)",
  JAX: 'with jax.profiler.StepTraceAnnotation("train", step_num=i):\n    train_step(batch)',
  "PyTorch/XLA": 'with torch_xla.debug.profiler.StepTrace("train", step_num=i):\n    train_step(batch)',
  PyTorch:
    "with torch.profiler.profile() as recorded:\n    for batch in loader:\n        train_step(batch)\n        recorded.step()",
};

export const DEVICES_CODE: Words = {
  TensorFlow: 'tf.config.list_physical_devices("GPU")',
  JAX: "jax.devices()",
  "PyTorch/XLA": "torch_xla.devices()",
  PyTorch: "torch.cuda.device_count()",
};

export const COMPILE_CODE: Words = {
  TensorFlow: 'model.compile(optimizer="adam", loss=loss, jit_compile=True)',
  JAX: "train_step = jax.jit(train_step)",
  "PyTorch/XLA": "",
  PyTorch: "",
};

/** "19.9 to 22.2 ms", the unit once where it is the same. */
export function formatMsSpan(fromMs: number, toMs: number, word = "to"): string {
  const [from, to] = [formatMs(fromMs), formatMs(toMs)];
  const unit = to.slice(to.lastIndexOf(" "));
  return `${from.endsWith(unit) ? from.slice(0, -unit.length) : from} ${word} ${to}`;
}

/** Decimals that give a value three significant digits. */
export function decimalsOf(value: number): number {
  return value > 0 ? Math.max(0, 2 - Math.floor(Math.log10(Number(value.toPrecision(3))))) : 0;
}

/** A part of a whole to the whole's decimals: "0.6"; never "0.0" for something that is there. */
export function formatPart(value: number, decimals: number): string {
  if (value === 0) return "0";
  const least = 10 ** -decimals;
  return value < least / 2 ? `<${least.toFixed(decimals)}` : value.toFixed(decimals);
}

/** Per cent without the sign: "62", "<1". */
export function formatShare(ratio: number): string {
  if (ratio === 0) return "0";
  return ratio < 0.005 ? "<1" : String(Math.round(ratio * 100));
}

/** The side whose ops limit a step, 1 a device's and 0 the host's; null where something else than ops does. */
export function limitingSide({ limiter }: TraceMeta["overview"]): 0 | 1 | null {
  return limiter === "device_compute" ? 1 : limiter === "host_compute" ? 0 : null;
}

/** The first step that compiled but is left out of the averages, or -1. */
export function compilingStep(steps: Table): number {
  const compile = steps.columns.compile_ms === undefined ? [] : numbers(steps, "compile_ms");
  const isAveraged = numbers(steps, "is_averaged");
  for (let i = 0; i < steps.n; i++) if (compile[i] > 0 && !isAveraged[i]) return i;
  return -1;
}

interface Fact {
  readonly name: string;
  readonly value: string;
  readonly hint: string | undefined;
}

export interface FactGroup {
  readonly title: string;
  readonly facts: readonly Fact[];
  readonly notes: readonly string[];
}

export function overviewFacts(meta: TraceMeta): FactGroup[] {
  const { overview } = meta;
  const groups = [
    { title: "Step time", facts: stepFacts(overview), notes: overview.left_out ? [overview.left_out] : [] },
    { title: "Device", facts: deviceFacts(overview), notes: overview.findings ?? [] },
    { title: "Host", facts: hostFacts(overview), notes: [] },
    { title: "Capture", facts: captureFacts(meta), notes: [] },
  ];
  return groups.filter(({ facts, notes }) => facts.length + notes.length > 0);
}

function known(...facts: readonly [name: string, value: string | null, hint?: string][]): Fact[] {
  return facts.flatMap(([name, value, hint]) => (value === null ? [] : [{ name, value, hint }]));
}

function share(value: unknown): string | null {
  return typeof value === "number" && Number.isFinite(value) ? formatPercent(value) : null;
}

function stepFacts({ step_time: time }: OverviewMeta): Fact[] {
  if (time === undefined || time.n === 0) return [];
  const averaged = `${formatCount(time.n_averaged)} of ${plural(time.n, "step")}`;
  return known(
    ["median", formatMs(time.median)],
    ["average", formatMs(time.avg)],
    ["standard deviation", time.n_averaged > 1 ? formatMs(time.std) : null],
    ["range", time.n_averaged > 1 ? formatMsSpan(time.min, time.max) : null],
    ["steps averaged", averaged],
  );
}

function deviceFacts(overview: OverviewMeta): Fact[] {
  const count = counter(overview);
  if (count("n_devices") === 0) return [];
  const memory = count("device_memory_bytes");
  return known(
    ["type", String(overview.environment?.device_type ?? "unknown")],
    ["devices", `${formatCount(count("n_active_devices"))} of ${formatCount(count("n_devices"))} ran anything`],
    ["memory each", memory > 0 ? formatBytes(memory) : null],
    ["16-bit compute", share(overview.compute_16bit_ratio), "Share of 16-bit kernels in the time of device compute"],
    ["32-bit compute", share(overview.compute_32bit_ratio), "Share of other kernels in the time of device compute"],
    [
      "idle in the capture",
      share(overview.device_idle_ratio),
      "Share of the time from first to last event in which nothing ran on them",
    ],
    ["duty cycle", share(overview.device_duty_cycle_ratio), "Share of the time not spent waiting for the host"],
    ["op time", share(overview.device_time_ratio), "Share of all op time, host and device"],
    ["eager ops", share(overview.device_eager_ratio), "Share of eager ops in the op time of devices"],
  );
}

export function hostsOfOverview({ environment = {} }: OverviewMeta): string[] {
  return Array.isArray(environment.hosts) ? environment.hosts.map(String).filter(Boolean) : [];
}

function hostFacts(overview: OverviewMeta): Fact[] {
  const { environment = {} } = overview;
  const count = counter(overview);
  const hosts = hostsOfOverview(overview);
  const named = hosts.length > 3 ? `${hosts.slice(0, 3).join(", ")} and ${hosts.length - 3} more` : hosts.join(", ");
  const tasks = count("n_tasks_per_host");
  const version = (key: string) => (environment[key] ? String(environment[key]) : null);
  return known(
    [hosts.length === 1 ? "host" : "hosts", hosts.length ? named : null],
    ["tasks per host", tasks > 1 ? formatCount(tasks) : null],
    ["threads with events", formatCount(count("n_threads"))],
    [
      "idle threads",
      share(overview.host_idle_ratio),
      "Share of the time in which threads that run ops ran none, summed",
    ],
    ["op time", share(overview.host_time_ratio), "Share of all op time, host and device"],
    ["eager ops", share(overview.host_eager_ratio), "Share of eager ops in the op time of the host"],
    ["memory", count("host_memory_bytes") > 0 ? formatBytes(count("host_memory_bytes")) : null],
    ["CPUs", count("n_cpus") > 0 ? formatCount(count("n_cpus")) : null],
    ["TensorFlow", version("tensorflow_version")],
    ["JAX", version("jax_version")],
    ["Keras", version("keras_version")],
    ["Python", version("python_version")],
  );
}

function captureFacts(meta: TraceMeta): Fact[] {
  const windows = counter(meta.overview)("n_sessions");
  return known(
    ["captured", formatTime(capturedPs(meta))],
    ["windows", windows > 1 ? formatCount(windows) : null],
    ["events", formatCount(meta.n_events)],
  );
}

function counter({ environment = {} }: OverviewMeta): (key: string) => number {
  return (key) => (typeof environment[key] === "number" ? (environment[key] as number) : 0);
}

/** What the fix of a card wins of the mean step: "saves up to", "33 %", "246 → 165 ms", or "about" of an estimate; the times only where they are of steps. */
export function gainWords({ gain_ratio, evidence, fix, share_of = "step" }: AdviceMeta, { step_time }: OverviewMeta) {
  if (gain_ratio <= 0) return { saves: fix.words ? "no speed-up" : "gain not known", share: "", of: "", left: null };
  const isEstimate = evidence.some(([name]) => name === "estimate");
  const [saves, share] = [isEstimate ? "saves about" : "saves up to", `${formatShare(gain_ratio)} %`];
  if (share_of !== "step" || !step_time?.avg)
    return { saves, share, of: share_of === "step" ? "" : OF[share_of], left: null };
  const [ms, factor] = [(1 - gain_ratio) * step_time.avg, 1 / (1 - gain_ratio)];
  const times = `${isEstimate ? "about" : "up to"} ${formatNumber(factor, factor < 10 ? 2 : 1)} times faster`;
  const mean = step_time.n_averaged > 1 ? "on average" : "a step";
  const left = gain_ratio > 0.995 ? null : { ms, bound: isEstimate ? "≈" : "≥", mean, times };
  return { saves, share, of: `${formatMsSpan(step_time.avg, ms, "→")} ${mean}`, left };
}

const OF = { "all steps": "of all steps", sample: "of a sample's time", "time captured": "of all captured" };

/** A statement and what stands in its place, line by line: lines of both are the same. */
export function diffLines(before: string, code: string): { readonly sign: "+" | "-" | " "; readonly text: string }[] {
  const [old, now] = [before === "" ? [] : before.split("\n"), code.split("\n")];
  const same = new Set(old.filter((line) => now.includes(line)));
  const removed = old.filter((line) => !same.has(line)).map((text) => ({ sign: "-" as const, text }));
  const at = Math.max(
    0,
    now.findIndex((line) => !same.has(line) && !line.startsWith("#")),
  );
  const isNew = (text: string) => old.length > 0 && !same.has(text) && !text.startsWith("#");
  const added = now.map((text) => ({ sign: isNew(text) ? ("+" as const) : (" " as const), text }));
  return [...added.slice(0, at), ...removed, ...added.slice(at)];
}

interface Selected {
  readonly timeRange: readonly [number, number] | null;
  readonly selection: readonly string[];
  readonly step: number;
}

export function timeRangeOf({ time_range_ns }: AdviceMeta): readonly [number, number] | null {
  return time_range_ns.length === 2 ? [time_range_ns[0], time_range_ns[1]] : null;
}

/** Whether an advice is about the whole capture, and about no op of it. */
export function selectsNothing({ op_names, time_range_ns, step }: AdviceMeta): boolean {
  return time_range_ns.length !== 2 && op_names.length === 0 && step < 0;
}

/** Whether the views show what an advice is about, and nothing else. One that selects nothing is never shown. */
export function isShown(advice: AdviceMeta, selected: Selected): boolean {
  const range = timeRangeOf(advice);
  if (selectsNothing(advice)) return false;
  return (
    selected.step === advice.step &&
    selected.timeRange?.[0] === range?.[0] &&
    selected.timeRange?.[1] === range?.[1] &&
    selected.selection.length === advice.op_names.length &&
    selected.selection.every((name, i) => name === advice.op_names[i])
  );
}

/** Of a run for which there is no advice: what takes most of a step; "" without steps. */
export function largestPart({ breakdown, step_time }: OverviewMeta): string {
  const [first, ...others] = breakdown ?? [];
  if (!first || !step_time?.n) return "";
  const most = others.reduce((a, b) => (b.ms > a.ms ? b : a), first);
  const label = (CATEGORY_LABELS[most.category] ?? most.category).toLowerCase();
  return `The largest part of a step is ${label}: ${formatMs(most.ms)}, ${formatPercent(most.ratio)}.`;
}

/** Step time, its parts and a sentence on one host, from its steps; the rest that the overview says is of all hosts. */
export function hostOverview(meta: TraceMeta, steps: Table, host: string): OverviewMeta {
  const { environment = {} } = meta.overview;
  const counted = countedSteps(steps, null);
  const time = stepTime(steps, counted);
  const breakdown = counted.length > 0 ? stepParts(meta, steps, counted, time.avg) : [];
  const largest = breakdown.reduce<(typeof breakdown)[number] | null>((a, b) => (a && a.ms >= b.ms ? a : b), null);
  const devices = meta.planes.filter((plane) => plane.host === host && plane.kind === "device");
  return {
    step_time: time,
    breakdown,
    headline: hostSentence(shortHost(host, hostsOf(meta)), time.avg, largest),
    limiter: largest?.category ?? "",
    environment: {
      ...environment,
      ...{ hosts: [host], n_devices: devices.length, n_active_devices: devices.length, n_threads: 0 },
    },
    has_device: devices.length > 0,
  };
}

function stepTime(steps: Table, counted: readonly number[]) {
  if (counted.length === 0) return { avg: 0, std: 0, min: 0, max: 0, median: 0, n: 0, n_averaged: 0 };
  const duration = numbers(steps, "duration_ps");
  const times = counted.map((row) => duration[row] / 1e9);
  const { n, avg, sd, min, max } = statisticsOf(times);
  return { avg, std: sd, min, max, median: median(times), n: steps.n, n_averaged: n };
}

function stepParts(meta: TraceMeta, steps: Table, counted: readonly number[], avg: number) {
  const known = meta.overview.breakdown?.map(({ category }) => category) ?? meta.categories;
  return known.map((category) => {
    const column = steps.columns[`${category}_ms`] === undefined ? [] : numbers(steps, `${category}_ms`);
    const ms = counted.reduce((sum, row) => sum + (column[row] ?? 0), 0) / counted.length;
    return { category, ms, ratio: avg > 0 ? ms / avg : 0 };
  });
}

function hostSentence(host: string, avg: number, largest: { category: string; ratio: number } | null): string {
  if (largest === null) return `No step was found on ${host}, so nothing can be said about a step there.`;
  const label = (CATEGORY_LABELS[largest.category] ?? largest.category).toLowerCase();
  return `On ${host} a step takes ${formatMs(avg)}; its largest part is ${label} (${formatPercent(largest.ratio)}).`;
}
