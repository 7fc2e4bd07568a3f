/** The overview of a trace -> named facts with their unit, in groups; what is not known is left out. */

import { formatBytes, formatCount, formatMs, formatPercent, formatTime, plural } from "../text/format";
import { capturedPs } from "../time/sessions";
import type { OverviewMeta, TraceMeta } from "../wire/meta";
import { formatMsSpan } from "./overview";

export interface Fact {
  readonly name: string;
  readonly value: string;
  /** What the figure is of, for who asks. */
  readonly hint: string | undefined;
}

export interface FactGroup {
  readonly title: string;
  readonly facts: readonly Fact[];
  /** Sentences below the facts. */
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

/** Facts whose value is known. */
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

/** The hosts that an overview is about. */
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
