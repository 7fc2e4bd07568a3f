/**
 * The data and the link of a trace as if one host alone had been recorded.
 *
 * Rows of steps, pipelines and allocators are numbered anew, so steps are translated on their way to and from the link.
 */

import { numbers } from "../data/columns";
import type { Link } from "../data/link";
import { CATEGORY_LABELS, type MemoryFailureMeta, type OverviewMeta, type TraceMeta } from "../data/meta";
import { EMPTY_TABLE, type Table, type TypedArray } from "../data/pack";
import type { TraceData } from "../data/store";
import { atEnd, guarded } from "../data/widget";
import { hostsOf, shortHost } from "./hosts";
import { countedSteps, statisticsOf } from "./steps";
import { formatMs, formatPercent } from "./text";

const NONE = -1;

/** The rows to keep, in order. */
function keptRows(n: number, keeps: (row: number) => boolean): Int32Array {
  const rows = new Int32Array(n);
  let kept = 0;
  for (let i = 0; i < n; i++) if (keeps(i)) rows[kept++] = i;
  return rows.slice(0, kept);
}

/** For each old row its new one, -1 for those left out. */
function newRows(kept: Int32Array, n: number): Int32Array {
  const places = new Int32Array(n).fill(NONE);
  for (let i = 0; i < kept.length; i++) places[kept[i]] = i;
  return places;
}

/** Some rows of a table; `maps` gives for a column the new numbers of what its values count. */
function taken(table: Table, kept: Int32Array, maps: Readonly<Record<string, Int32Array>> = {}): Table {
  if (kept.length === table.n && Object.keys(maps).length === 0) return table;
  const columns: Record<string, TypedArray> = {};
  for (const [name, values] of Object.entries(table.columns)) {
    const Kind = values.constructor as new (n: number) => TypedArray;
    const own = new Kind(kept.length);
    const map = maps[name];
    for (let i = 0; i < kept.length; i++) {
      const value = values[kept[i]];
      own[i] = map === undefined ? value : value === NONE ? NONE : (map[value as number] ?? NONE);
    }
    columns[name] = own;
  }
  return { n: kept.length, columns };
}

/** Lists of which a host has some items. */
type List = "hosts" | "lines" | "steps" | "pipelines" | "allocators";

/**
 * Of each table the column that tells whose a row is, and what it counts; and the columns to be numbered anew with what they
 * count, a list or rows of the table itself. A table without its column is that of all hosts; a parent is on the line of its
 * children.
 */
const PARTS: Readonly<
  Record<string, { readonly by: string; readonly of: List; readonly counts?: Readonly<Record<string, List | "rows">> }>
> = {
  steps: { by: "host", of: "hosts" },
  step_pieces: { by: "step", of: "steps", counts: { step: "steps" } },
  occurrences: { by: "line", of: "lines", counts: { parent: "rows" } },
  op_lines: { by: "line", of: "lines" },
  kernel_runs: { by: "host", of: "hosts" },
  copy_runs: { by: "host", of: "hosts" },
  host_totals: { by: "host", of: "hosts" },
  step_totals: { by: "host", of: "hosts" },
  kernel_totals: { by: "host", of: "hosts" },
  kernel_step_totals: { by: "host", of: "hosts" },
  top_ops: { by: "host", of: "hosts" },
  iterator_calls: { by: "pipeline", of: "pipelines", counts: { pipeline: "pipelines", root: "rows" } },
  memory: {
    by: "allocator",
    of: "allocators",
    counts: { allocator: "allocators", freed_at: "rows", step: "steps" },
  },
};

/** The part of a trace that one host recorded. Each table is made when it is first asked for, and again when it grew. */
export class HostTables {
  /** Row of the hosts. */
  readonly host: number;
  readonly #made = new Map<string, { readonly from: Table; readonly with: unknown; readonly table: Table }>();

  constructor(
    readonly meta: TraceMeta,
    readonly whole: (name: string) => Table | undefined,
    readonly name: string,
  ) {
    this.host = hostsOf(meta).indexOf(name);
  }

  /** The totals of units are undefined where they are not known by host, and executions must be added up. */
  table(name: string): Table | undefined {
    const source = name === "unit_totals" ? "host_totals" : name;
    const whole = this.whole(source);
    if (whole === undefined || (name === "unit_totals" && whole.columns.host === undefined)) return undefined;
    const steps = this.whole("steps");
    const known = this.#made.get(source);
    if (known?.from === whole && known.with === steps) return known.table;
    const table = this.#part(source, whole);
    this.#made.set(source, { from: whole, with: steps, table });
    return table;
  }

  #part(name: string, whole: Table): Table {
    const part = PARTS[name];
    if (part === undefined || whole.columns[part.by] === undefined) return whole;
    const owner = numbers(whole, part.by);
    const places = this.#places(part.of);
    const rows = keptRows(whole.n, (i) => (places[owner[i]] ?? NONE) >= 0);
    const maps: Record<string, Int32Array> = {};
    for (const [column, counted] of Object.entries(part.counts ?? {}))
      maps[column] = counted === "rows" ? newRows(rows, whole.n) : this.#places(counted);
    return taken(whole, rows, maps);
  }

  /** For each item of a list its number among this host's, -1 for those of others. */
  #places(list: List): Int32Array {
    const { lines, planes, pipelines = [], allocators = [] } = this.meta;
    switch (list) {
      case "hosts":
        return newRows(Int32Array.of(this.host), hostsOf(this.meta).length);
      case "lines":
        return newRows(
          keptRows(lines.length, (i) => planes[lines[i].plane]?.host === this.name),
          lines.length,
        );
      case "steps":
        return newRows(this.stepRows(), this.whole("steps")?.n ?? 0);
      case "pipelines":
        return newRows(this.pipelineRows(), pipelines.length);
      case "allocators":
        return newRows(this.allocatorRows(), allocators.length);
    }
  }

  /** Rows of all steps that are this host's. */
  stepRows(): Int32Array {
    const host = numbers(this.whole("steps") ?? EMPTY_TABLE, "host");
    return keptRows(host.length, (i) => host[i] === this.host);
  }

  /** Of the list of pipelines those of this host. */
  pipelineRows(): Int32Array {
    const { pipelines = [] } = this.meta;
    return keptRows(pipelines.length, (i) => pipelines[i].host === this.name);
  }

  /** Of the lists of allocators those of this host. Where one host alone recorded memory they bear no host's name. */
  allocatorRows(): Int32Array {
    const { allocators = [], sessions } = this.meta;
    const hosts = hostsOf(this.meta).filter((host) => host !== "");
    if (allocators.length > 0 && allocators.every((name) => hosts.some((host) => name.startsWith(`${host}: `))))
      return keptRows(allocators.length, (i) => allocators[i].startsWith(`${this.name}: `));
    const memory = this.whole("memory") ?? EMPTY_TABLE;
    const session = memory.n > 0 ? numbers(memory, "session")[0] : NONE;
    return keptRows(allocators.length, () => sessions[session]?.host === this.name);
  }
}

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

interface Chosen {
  readonly tables: HostTables;
  readonly meta: TraceMeta;
}

export class OneHost {
  readonly link: Link;
  readonly data: TraceData;
  #chosen: Chosen | null = null;
  /** What a change of the host changes: all tables. */
  readonly #listeners = new Set<() => void>();

  constructor(
    readonly wholeLink: Link,
    readonly whole: TraceData,
    /** Whether a time range means nothing to the view in a reduced profile. */
    readonly ignoresRange: () => boolean,
  ) {
    this.link = linkOf(this);
    this.data = dataOf(this);
    this.choose();
  }

  /** "" for all hosts. */
  get name(): string {
    return this.#chosen?.tables.name ?? "";
  }
  get tables(): HostTables | null {
    return this.#chosen?.tables ?? null;
  }
  get meta(): TraceMeta {
    return this.#chosen?.meta ?? this.whole.meta;
  }

  /** Takes the linked host; one that the trace does not know is none. */
  choose(): void {
    const { meta } = this.whole;
    const name = this.wholeLink.host;
    if (name === "" || hostsOf(meta).length < 2 || !hostsOf(meta).includes(name)) {
      this.#chosen = null;
      return;
    }
    const tables = new HostTables(meta, (table) => this.whole.table(table), name);
    this.#chosen = { tables, meta: hostMeta(tables) };
  }

  /** Lists that came meanwhile are read again. */
  renew(): void {
    if (this.#chosen !== null) this.#chosen = { ...this.#chosen, meta: hostMeta(this.#chosen.tables) };
  }

  tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  onChosen(listener: () => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    const told = guarded(listener, signal);
    this.#listeners.add(told);
    atEnd(signal, () => this.#listeners.delete(told));
  }
}

/** `target`, but for what `own` has of it. */
function over<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      if (name in own) return Reflect.get(own, name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function linkOf(one: OneHost): Link {
  const { wholeLink, whole } = one;
  return over(wholeLink, {
    get timeRange() {
      return one.ignoresRange() ? null : wholeLink.timeRange;
    },
    get host() {
      return one.name;
    },
    get step() {
      const { step } = wholeLink;
      if (one.tables === null || step < 0) return step;
      return newRows(one.tables.stepRows(), whole.table("steps")?.n ?? 0)[step] ?? -1;
    },
    setStep: (step) => wholeLink.setStep(one.tables === null || step < 0 ? step : (one.tables.stepRows()[step] ?? -1)),
  });
}

function dataOf(one: OneHost): TraceData {
  const { whole } = one;
  return over(whole, {
    get meta() {
      return one.meta;
    },
    table: (name) => (one.tables ?? whole).table(name),
    nRows: (name) =>
      one.tables !== null && whole.isWhole(name) ? (one.tables.table(name)?.n ?? 0) : whole.nRows(name),
    onTables(listener, signal, names) {
      const renewed = () => {
        one.renew();
        listener();
      };
      whole.onTables(renewed, signal, names);
      one.onChosen(listener, signal);
    },
  });
}
