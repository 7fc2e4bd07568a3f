/**
 * The part of a trace that one host recorded, as if it alone had been: its tables and its meta object.
 *
 * Rows of steps, pipelines and allocators are numbered anew.
 */

import { numbers } from "./columns";
import type { MemoryFailureMeta, OverviewMeta, TraceMeta } from "./meta";
import { EMPTY_TABLE, type Table, type TypedArray } from "./pack";

const NONE = -1;

function keptRows(n: number, keeps: (row: number) => boolean): Int32Array {
  const rows = new Int32Array(n);
  let kept = 0;
  for (let i = 0; i < n; i++) if (keeps(i)) rows[kept++] = i;
  return rows.slice(0, kept);
}

/** For each old row its new one, -1 for those left out. */
export function newRows(kept: Int32Array, n: number): Int32Array {
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

type List = "hosts" | "lines" | "steps" | "pipelines" | "allocators";

/**
 * By table the column that tells whose a row is and what it counts (a parent is on the line of its children), and the columns
 * to be numbered anew with the list or table that they count. A table without its column is that of all hosts.
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
  memory: { by: "allocator", of: "allocators", counts: { allocator: "allocators", freed_at: "rows", step: "steps" } },
};

/** The part of a trace that one host recorded. Each table is made when it is first asked for, and again when it grew. */
export class HostTables {
  readonly host: number;
  readonly #made = new Map<string, { readonly from: Table; readonly with: unknown; readonly table: Table }>();

  constructor(
    readonly meta: TraceMeta,
    readonly whole: (name: string) => Table | undefined,
    readonly name: string,
  ) {
    this.host = (meta.hosts ?? []).indexOf(name);
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
        return newRows(Int32Array.of(this.host), (this.meta.hosts ?? []).length);
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

  stepRows(): Int32Array {
    const host = numbers(this.whole("steps") ?? EMPTY_TABLE, "host");
    return keptRows(host.length, (i) => host[i] === this.host);
  }

  pipelineRows(): Int32Array {
    const { pipelines = [] } = this.meta;
    return keptRows(pipelines.length, (i) => pipelines[i].host === this.name);
  }

  /** Of the lists of allocators those of this host. Where one host alone recorded memory they bear no host's name. */
  allocatorRows(): Int32Array {
    const { allocators = [], sessions } = this.meta;
    const hosts = (this.meta.hosts ?? []).filter((host) => host !== "");
    if (allocators.length > 0 && allocators.every((name) => hosts.some((host) => name.startsWith(`${host}: `))))
      return keptRows(allocators.length, (i) => allocators[i].startsWith(`${this.name}: `));
    const memory = this.whole("memory") ?? EMPTY_TABLE;
    const session = memory.n > 0 ? numbers(memory, "session")[0] : NONE;
    return keptRows(allocators.length, () => sessions[session]?.host === this.name);
  }
}

export type OverviewOf = (meta: TraceMeta, steps: Table, host: string) => OverviewMeta;

/** The meta object of one host: what is not known host by host is the whole trace's, and lists that come later are followed. */
export function hostMeta(tables: HostTables, overviewOf: OverviewOf): TraceMeta {
  const { meta } = tables;
  const prefix = `${tables.name}: `;
  const bare = (name: string) => (name.startsWith(prefix) ? name.slice(prefix.length) : name);
  const own = <T>(all: readonly T[] | undefined, rows: Int32Array) => Array.from(rows, (row) => (all ?? [])[row]);
  const getters: { readonly [K in keyof TraceMeta]?: () => unknown } = {
    step_names: () => own(meta.step_names, tables.stepRows()),
    overview: () => overviewOf(meta, tables.table("steps") ?? EMPTY_TABLE, tables.name),
    pipelines: () => own(meta.pipelines, tables.pipelineRows()),
    allocators: () => own(meta.allocators, tables.allocatorRows()).map(bare),
    memory_summary: () =>
      own(meta.memory_summary, tables.allocatorRows()).map((row) => ({ ...row, allocator: bare(row.allocator) })),
    memory_failure: () => hostFailure(meta.memory_failure, prefix),
    input: () => meta.input && { ...meta.input, verdict: allHosts(meta.input.verdict) },
    roofline: () =>
      meta.roofline?.map((one) => {
        const [step_flops, step_mfu] = [one.step_flops, one.step_mfu].map((list) => own(list, tables.stepRows()));
        return { ...one, step_flops, step_mfu };
      }),
    idle_ps: () => hostIdle(tables),
  };
  const made = Object.create(meta) as TraceMeta;
  for (const [name, get] of Object.entries(getters)) Object.defineProperty(made, name, { get: once(get) });
  return made;
}

function once(make: () => unknown): () => unknown {
  let value: unknown;
  let isMade = false;
  return () => {
    if (!isMade) [value, isMade] = [make(), true];
    return value;
  };
}

export function allHosts(sentence: string): string {
  return sentence && `All hosts: ${sentence}`;
}

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
