/** The tables of a pack and one host -> the same tables of that host alone, rows and what refers to rows numbered anew. */

import { numbers } from "../wire/column";
import type { TraceMeta } from "../wire/meta";
import { EMPTY_TABLE, type Table, type TypedArray } from "../wire/wire";
import { hostsOf } from "./hosts";

const NONE = -1;

/** The rows to keep, in order. */
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
