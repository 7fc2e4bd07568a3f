/** The tables of a pack and one host -> the same tables of that host alone, rows and what refers to rows numbered anew. */

import { numbers } from "../wire/column";
import type { PipelineMeta, TraceMeta } from "../wire/meta";
import { EMPTY_TABLE, type Table, type TypedArray } from "../wire/wire";
import { hostsOf } from "./hosts";

type Tables = (name: string) => Table | undefined;

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

/** The rows whose value of a column passes. */
function rowsWhere(
  table: Table,
  column: string,
  passes: (value: number) => boolean,
  maps: Readonly<Record<string, Int32Array>> = {},
): Table {
  const values = numbers(table, column);
  return taken(
    table,
    keptRows(table.n, (row) => passes(values[row])),
    maps,
  );
}

/** Numbers of a list's items among those kept. */
function kept(n: number, keeps: (item: number) => boolean): { readonly rows: Int32Array; readonly places: Int32Array } {
  const rows = keptRows(n, keeps);
  return { rows, places: newRows(rows, n) };
}

/** The part of a trace that one host recorded. Each table is made when it is first asked for, and again when it grew. */
export class HostTables {
  /** Row of the hosts. */
  readonly host: number;
  readonly #made = new Map<string, { readonly from: Table; readonly with: unknown; readonly table: Table }>();

  constructor(
    readonly meta: TraceMeta,
    readonly whole: Tables,
    readonly name: string,
  ) {
    this.host = hostsOf(meta).indexOf(name);
  }

  table(name: string): Table | undefined {
    if (name === "unit_totals") return this.#unitTotals();
    const whole = this.whole(name);
    if (whole === undefined) return undefined;
    const make = this.#maker(name);
    return make === undefined ? whole : this.#once(name, whole, this.whole("steps"), () => make(whole));
  }

  #once(name: string, from: Table, other: unknown, make: () => Table): Table {
    const known = this.#made.get(name);
    if (known?.from === from && known.with === other) return known.table;
    const table = make();
    this.#made.set(name, { from, with: other, table });
    return table;
  }

  #maker(name: string): ((whole: Table) => Table) | undefined {
    switch (name) {
      case "steps":
        return (whole) => taken(whole, this.stepRows());
      case "step_pieces":
        return (whole) => this.#ofSteps(whole);
      case "occurrences":
        return (whole) => this.#executions(whole);
      case "op_lines":
        return (whole) => rowsWhere(whole, "line", (line) => this.hasLine(line));
      case "kernel_runs":
        return (whole) => (whole.columns.host === undefined ? whole : this.#ofHost(whole));
      case "iterator_calls":
        return (whole) => this.#calls(whole);
      case "memory":
        return (whole) => this.#memory(whole);
      default:
        return undefined;
    }
  }

  hasLine(line: number): boolean {
    const { lines, planes } = this.meta;
    return planes[lines[line]?.plane]?.host === this.name;
  }

  /** Rows of all steps that are this host's. */
  stepRows(): Int32Array {
    const steps = this.whole("steps") ?? EMPTY_TABLE;
    if (steps.columns.host !== undefined) {
      const host = numbers(steps, "host");
      return keptRows(steps.n, (i) => host[i] === this.host);
    }
    const session = numbers(steps, "session");
    return keptRows(steps.n, (i) => this.meta.sessions[session[i]]?.host === this.name);
  }

  #stepPlaces(): Int32Array {
    return newRows(this.stepRows(), this.whole("steps")?.n ?? 0);
  }

  #ofSteps(whole: Table): Table {
    const places = this.#stepPlaces();
    return rowsWhere(whole, "step", (step) => places[step] >= 0, { step: places });
  }

  /** A parent is on the line of its children. */
  #executions(whole: Table): Table {
    const isOwn = Uint8Array.from(this.meta.lines, (_, line) => Number(this.hasLine(line)));
    const line = numbers(whole, "line");
    const { rows, places } = kept(whole.n, (i) => isOwn[line[i]] === 1);
    return taken(whole, rows, { parent: places });
  }

  #ofHost(whole: Table): Table {
    return rowsWhere(whole, "host", (host) => host === this.host);
  }

  /** Pipelines of this host, and for each pipeline its new number. */
  pipelines(): { readonly list: PipelineMeta[]; readonly places: Int32Array } {
    const all = this.meta.pipelines ?? [];
    const { rows, places } = kept(all.length, (i) => all[i].host === this.name);
    return { list: Array.from(rows, (i) => all[i]), places };
  }

  #calls(whole: Table): Table {
    const pipelines = this.pipelines().places;
    const owner = numbers(whole, "pipeline");
    const { rows, places } = kept(whole.n, (i) => (pipelines[owner[i]] ?? NONE) >= 0);
    return taken(whole, rows, { pipeline: pipelines, root: places });
  }

  /** Of the lists of allocators those of this host, by number. Where one host alone recorded memory they bear no host's name. */
  allocators(): { readonly rows: Int32Array; readonly places: Int32Array } {
    const { allocators = [], sessions } = this.meta;
    const prefix = `${this.name}: `;
    const isNamed = allocators.length > 0 && allocators.every((name) => hostOfAllocator(name, this.meta) !== "");
    if (isNamed) return kept(allocators.length, (i) => allocators[i].startsWith(prefix));
    const memory = this.whole("memory") ?? EMPTY_TABLE;
    const session = memory.n > 0 ? numbers(memory, "session")[0] : NONE;
    const isOwn = sessions[session]?.host === this.name;
    return kept(allocators.length, () => isOwn);
  }

  #memory(whole: Table): Table {
    const allocators = this.allocators().places;
    const owner = numbers(whole, "allocator");
    const { rows, places } = kept(whole.n, (i) => (allocators[owner[i]] ?? NONE) >= 0);
    return taken(whole, rows, { allocator: allocators, freed_at: places, step: this.#stepPlaces() });
  }

  /** Totals of units on this host; undefined where they are not known, and executions must be added up. */
  #unitTotals(): Table | undefined {
    const whole = this.whole("host_totals");
    if (whole === undefined || whole.columns.host === undefined) return undefined;
    return this.#once("unit_totals", whole, null, () => this.#ofHost(whole));
  }
}

/** The host in the name of an allocator, "" where it bears none. */
function hostOfAllocator(name: string, meta: TraceMeta): string {
  return hostsOf(meta).find((host) => host !== "" && name.startsWith(`${host}: `)) ?? "";
}
