/** What is said of a whole trace and the tables of one host -> what is said of that host. */

import { formatMs, formatPercent } from "../text/format";
import { countedSteps, statisticsOf } from "../time/statistics";
import { CATEGORY_LABELS } from "../wire/categories";
import { numbers } from "../wire/column";
import type { MemoryFailureMeta } from "../wire/memory_failure_meta";
import type { OverviewMeta, TraceMeta } from "../wire/meta";
import { EMPTY_TABLE, type Table } from "../wire/wire";
import type { HostTables } from "./host_tables";
import { hostsOf, shortHost } from "./hosts";

/** The meta object of one host: what is not known host by host is the whole trace's, and lists that come later are followed. */
export function hostMeta(tables: HostTables): TraceMeta {
  const { meta } = tables;
  const prefix = `${tables.name}: `;
  const bare = (name: string) => (name.startsWith(prefix) ? name.slice(prefix.length) : name);
  const own = <T>(all: readonly T[] | undefined, rows: Int32Array) => Array.from(rows, (row) => (all ?? [])[row]);
  const getters: { readonly [K in keyof TraceMeta]?: () => unknown } = {
    about_host: () => tables.name,
    step_names: () => own(meta.step_names, tables.stepRows()),
    overview: () => hostOverview(meta, tables.table("steps") ?? EMPTY_TABLE, tables.name),
    pipelines: () => own(meta.pipelines, tables.pipelineRows()),
    allocators: () => own(meta.allocators, tables.allocatorRows()).map(bare),
    memory_summary: () =>
      own(meta.memory_summary, tables.allocatorRows()).map((row) => ({ ...row, allocator: bare(row.allocator) })),
    memory_failure: () => hostFailure(meta.memory_failure, prefix),
    input: () => meta.input && { ...meta.input, verdict: allHosts(meta.input.verdict) },
    idle_ps: () => hostIdle(tables),
  };
  const made = Object.create(meta) as TraceMeta;
  for (const [name, get] of Object.entries(getters)) Object.defineProperty(made, name, { get: once(get) });
  return made;
}

/** A value that is worked out when it is first asked for. */
function once(make: () => unknown): () => unknown {
  let value: unknown;
  let isMade = false;
  return () => {
    if (!isMade) [value, isMade] = [make(), true];
    return value;
  };
}

function allHosts(sentence: string): string {
  return sentence && `All hosts: ${sentence}`;
}

/** A failure of another host is none of this one's. */
function hostFailure(failure: MemoryFailureMeta | null | undefined, prefix: string): MemoryFailureMeta | null {
  if (!failure) return null;
  if (!failure.allocator.startsWith(prefix)) return null;
  return { ...failure, allocator: failure.allocator.slice(prefix.length) };
}

/** Idle time of host lines and of device lines: what they were observed for, less what ran. */
function hostIdle(tables: HostTables): readonly [number, number] {
  const lines = tables.table("op_lines") ?? EMPTY_TABLE;
  const totals = tables.table("unit_totals") ?? EMPTY_TABLE;
  if (lines.n === 0 || totals.n === 0) return [0, 0];
  const idle: [number, number] = [0, 0];
  const [device, first, last] = ["device", "first_ps", "last_ps"].map((name) => numbers(lines, name));
  for (let i = 0; i < lines.n; i++) idle[device[i] === 1 ? 1 : 0] += last[i] - first[i];
  const ran = runPs(tables, totals);
  return [Math.max(0, idle[0] - ran[0]), Math.max(0, idle[1] - ran[1])];
}

function runPs({ meta }: HostTables, totals: Table): readonly [number, number] {
  const ran: [number, number] = [0, 0];
  const [unit, self] = [numbers(totals, "unit"), numbers(totals, "self_ps")];
  // A unit beyond the ops is of a compiled program, which runs on devices where there are any.
  const beyond = meta.op_device.includes(1) ? 1 : 0;
  for (let i = 0; i < totals.n; i++) ran[(meta.op_device[unit[i]] ?? beyond) === 1 ? 1 : 0] += self[i];
  return ran;
}

/** Step time, its parts and a sentence on one host, from its steps; the rest that the overview says is of all hosts. */
function hostOverview(meta: TraceMeta, steps: Table, host: string): OverviewMeta {
  const { environment = {} } = meta.overview;
  const counted = countedSteps(steps, null);
  const time = stepTime(steps, counted);
  const breakdown = counted.length > 0 ? partsOf(meta, steps, counted, time.avg) : [];
  const largest = breakdown.reduce<(typeof breakdown)[number] | null>((a, b) => (a && a.ms >= b.ms ? a : b), null);
  const devices = meta.planes.filter((plane) => plane.host === host && plane.kind === "device");
  return {
    step_time: time,
    breakdown,
    verdict: sentence(shortHost(host, hostsOf(meta)), time.avg, largest),
    verdict_detail: allHosts(meta.overview.verdict ?? ""),
    limiter: largest?.category ?? null,
    environment: {
      ...environment,
      ...{ hosts: [host], n_devices: devices.length, n_active_devices: devices.length, n_threads: 0 },
    },
    has_device: devices.length > 0,
  };
}

function stepTime(steps: Table, counted: readonly number[]) {
  if (counted.length === 0) return { avg: 0, std: 0, min: 0, max: 0, n: 0, n_averaged: 0 };
  const duration = numbers(steps, "duration_ps");
  const { n, avg, sd, min, max } = statisticsOf(counted.map((row) => duration[row] / 1e9));
  return { avg, std: sd, min, max, n: steps.n, n_averaged: n };
}

/** In the order of the whole trace's breakdown. */
function partsOf(meta: TraceMeta, steps: Table, counted: readonly number[], avg: number) {
  const known = meta.overview.breakdown?.map(({ category }) => category) ?? meta.categories;
  return known.map((category) => {
    const column = steps.columns[`${category}_ms`] === undefined ? [] : numbers(steps, `${category}_ms`);
    const ms = counted.reduce((sum, row) => sum + (column[row] ?? 0), 0) / counted.length;
    return { category, ms, ratio: avg > 0 ? ms / avg : 0 };
  });
}

function sentence(host: string, avg: number, largest: { category: string; ratio: number } | null): string {
  if (largest === null) return `No step was found on ${host}, so nothing can be said about a step there.`;
  const label = (CATEGORY_LABELS[largest.category] ?? largest.category).toLowerCase();
  return `On ${host} a step takes ${formatMs(avg)}; its largest part is ${label} (${formatPercent(largest.ratio)}).`;
}
