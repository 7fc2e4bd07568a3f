/**
 * A trace and its link as a view has them: tables, lists and steps are of the chosen host, as if it alone had been, all hosts
 * where none of its is chosen; and what of that there is not, in words. Of a host steps, pipelines and allocators are numbered
 * anew.
 */

import { columns, isWithin, numbers, rangeInPs } from "./columns";
import type { Link } from "./link";
import type { OverviewMeta, TraceMeta } from "./meta";
import { EMPTY_TABLE, type Table, type TypedArray } from "./pack";
import type { TraceData } from "./store";
import { Listeners } from "./widget";

const NONE = -1;

function keptRows(n: number, keeps: (row: number) => boolean): Int32Array {
  const rows = new Int32Array(n);
  let kept = 0;
  for (let i = 0; i < n; i++) if (keeps(i)) rows[kept++] = i;
  return rows.slice(0, kept);
}

/** For each old row up to the last that is kept its new one, -1 for those left out. */
function newRows(kept: Int32Array): Int32Array {
  const places = new Int32Array((kept.at(-1) ?? NONE) + 1).fill(NONE);
  kept.forEach((row, i) => {
    places[row] = i;
  });
  return places;
}

/** Some rows of a table; `maps` gives for a column the new numbers of what its values count. */
function taken(table: Table, kept: Int32Array, maps: Readonly<Record<string, Int32Array>>): Table {
  if (kept.length === table.n && Object.keys(maps).length === 0) return table;
  const columns: Record<string, TypedArray> = {};
  for (const [name, values] of Object.entries(table.columns)) {
    const Kind = values.constructor as new (n: number) => TypedArray;
    const own = new Kind(kept.length);
    const map = maps[name];
    for (let i = 0; i < kept.length; i++) {
      const value = values[kept[i]];
      own[i] = map === undefined ? value : (map[value as number] ?? NONE);
    }
    columns[name] = own;
  }
  return { n: kept.length, columns };
}

type List = "hosts" | "lines" | "steps" | "pipelines" | "allocators";

interface Owned {
  /** The column that tells whose a row is (a parent is on the line of its children), and what it counts. */
  readonly by: string;
  readonly of: List;
  /** The columns to be numbered anew, with the list or table that they count. */
  readonly counts?: Readonly<Record<string, List | "rows">>;
}

const BY_HOST: Owned = { by: "host", of: "hosts" };

/** A table that is not here, or without its column, is that of all hosts. */
const OWNED: Readonly<Record<string, Owned>> = {
  ...{ steps: BY_HOST, kernel_runs: BY_HOST, copy_runs: BY_HOST, host_totals: BY_HOST, step_totals: BY_HOST },
  ...{ kernel_totals: BY_HOST, kernel_step_totals: BY_HOST },
  step_pieces: { by: "step", of: "steps", counts: { step: "steps" } },
  occurrences: { by: "line", of: "lines", counts: { parent: "rows" } },
  op_lines: { by: "line", of: "lines" },
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
    const { by, of, counts = {} } = OWNED[name] ?? {};
    if (by === undefined || of === undefined || whole.columns[by] === undefined) return whole;
    const owner = numbers(whole, by);
    const places = newRows(this.rows(of));
    const rows = keptRows(whole.n, (i) => (places[owner[i]] ?? NONE) >= 0);
    const maps = Object.entries(counts).map(([column, counted]) => [
      column,
      newRows(counted === "rows" ? rows : this.rows(counted)),
    ]);
    return taken(whole, rows, Object.fromEntries(maps));
  }

  /** The rows of a list that are of this host. Where one host alone recorded memory the allocators bear no host's name. */
  rows(list: List): Int32Array {
    const { lines, planes, pipelines = [], allocators = [], sessions, hosts = [] } = this.meta;
    switch (list) {
      case "hosts":
        return Int32Array.of(this.host);
      case "lines":
        return keptRows(lines.length, (i) => planes[lines[i].plane]?.host === this.name);
      case "steps": {
        const host = numbers(this.whole("steps") ?? EMPTY_TABLE, "host");
        return keptRows(host.length, (i) => host[i] === this.host);
      }
      case "pipelines":
        return keptRows(pipelines.length, (i) => pipelines[i].host === this.name);
      case "allocators": {
        const isNamed = (name: string) => hosts.some((host) => host !== "" && name.startsWith(`${host}: `));
        if (allocators.length > 0 && allocators.every(isNamed))
          return keptRows(allocators.length, (i) => allocators[i].startsWith(`${this.name}: `));
        const [session] = numbers(this.whole("memory") ?? EMPTY_TABLE, "session");
        return keptRows(allocators.length, () => sessions[session ?? NONE]?.host === this.name);
      }
    }
  }
}

/** What is worked out of a host, and how it is called in a sentence. */
export interface HostModel {
  readonly overview: (meta: TraceMeta, steps: Table, host: string) => OverviewMeta;
  readonly shortName: (name: string, hosts: readonly string[]) => string;
}

/** The meta object of one host: what is not known host by host is the whole trace's, and lists that come later are followed. */
export function hostMeta(tables: HostTables, overviewOf: HostModel["overview"]): TraceMeta {
  const { meta } = tables;
  const prefix = `${tables.name}: `;
  const bare = (name: string) => (name.startsWith(prefix) ? name.slice(prefix.length) : name);
  const own = <T>(all: readonly T[] | undefined, rows: Int32Array) => Array.from(rows, (row) => (all ?? [])[row]);
  const getters: { readonly [K in keyof TraceMeta]?: () => unknown } = {
    step_names: () => own(meta.step_names, tables.rows("steps")),
    overview: () => {
      const own = overviewOf(meta, tables.table("steps") ?? EMPTY_TABLE, tables.name);
      return { ...own, verdict_detail: allHosts(meta.overview.verdict ?? "") };
    },
    pipelines: () => own(meta.pipelines, tables.rows("pipelines")),
    allocators: () => own(meta.allocators, tables.rows("allocators")).map(bare),
    memory_summary: () =>
      own(meta.memory_summary, tables.rows("allocators")).map((row) => ({ ...row, allocator: bare(row.allocator) })),
    memory_failure: () => {
      const { memory_failure: failure } = meta;
      return failure?.allocator.startsWith(prefix) ? { ...failure, allocator: bare(failure.allocator) } : null;
    },
    input: () => meta.input && { ...meta.input, verdict: allHosts(meta.input.verdict) },
    roofline: () =>
      meta.roofline?.map((one) => {
        const [step_flops, step_mfu] = [one.step_flops, one.step_mfu].map((list) => own(list, tables.rows("steps")));
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

function allHosts(sentence: string): string {
  return sentence && `All hosts: ${sentence}`;
}

/** Idle time of host lines and of device lines: what they were observed for, less what ran. */
function hostIdle(tables: HostTables): readonly number[] {
  const [lines, totals] = ["op_lines", "unit_totals"].map((name) => tables.table(name) ?? EMPTY_TABLE);
  const idle = [0, 0];
  if (lines.n === 0 || totals.n === 0) return idle;
  const [device, first, last] = columns(lines, "device", "first_ps", "last_ps");
  for (let i = 0; i < lines.n; i++) idle[device[i] === 1 ? 1 : 0] += last[i] - first[i];
  const { op_device } = tables.meta;
  const [unit, self] = columns(totals, "unit", "self_ps");
  // A unit beyond the ops is of a compiled program, which runs on devices where there are any.
  const beyond = op_device.includes(1) ? 1 : 0;
  for (let i = 0; i < totals.n; i++) idle[(op_device[unit[i]] ?? beyond) === 1 ? 1 : 0] -= self[i];
  return idle.map((ps) => Math.max(0, ps));
}

export interface Needs {
  /** Tables and lists without which the view cannot be built. */
  readonly needs?: readonly string[];
  /** Of these such as it shows, without a range, for the steps that a page keeps. */
  readonly ofWindow?: readonly string[];
  /** Those that it reads only where a time range is set. */
  readonly forRange?: readonly string[];
  /** Those that a view of executions reads for one of several hosts and no range, where that is not `host_totals`. */
  readonly forHost?: readonly string[];
  /** What it is about, where a host may have none of it. */
  readonly about?: keyof typeof SUBJECTS;
}

export class Chosen {
  /** "" for all hosts. */
  host = "";
  readonly link: Link;
  readonly data: TraceData;
  #tables: HostTables | null = null;
  #meta: TraceMeta;
  /** Whether a time range means nothing, as in a reduced profile. */
  readonly #ignoresRange: boolean;
  readonly #listeners = new Listeners();

  constructor(
    readonly whole: { readonly link: Link; readonly data: TraceData },
    readonly model: HostModel,
    readonly needs: Needs,
  ) {
    this.#meta = whole.data.meta;
    this.#ignoresRange = needs.forRange !== undefined && this.#meta.is_summed === true;
    this.link = this.#linkOf(whole.link);
    this.data = this.#dataOf(whole.data);
    this.choose();
  }

  /** Takes the linked host; whether it is another one than before. */
  choose(): boolean {
    const { link, data } = this.whole;
    const { hosts = [] } = data.meta;
    const host = hosts.length > 1 && hosts.includes(link.host) ? link.host : "";
    if (host === this.host) return false;
    this.host = host;
    this.#tables = host === "" ? null : new HostTables(data.meta, data.table, host);
    this.#renew();
    return true;
  }

  #renew(): void {
    this.#meta = this.#tables === null ? this.whole.data.meta : hostMeta(this.#tables, this.model.overview);
  }

  tell(): void {
    this.#listeners.tell();
  }

  /** What the view reads now and is not here. A window of the capture is enough for a range inside, or where the view says so. */
  get missing(): string[] {
    const { link, data, needs } = this;
    const { window, isOffline } = data;
    const range = rangeInPs(link.timeRange, data.table("steps"));
    const isInside = isWithin(range, window);
    const isOfWindow = window !== null && isOffline && range === null;
    const isKept = (name: string) =>
      (isInside && data.table(name) !== undefined) || (isOfWindow && needs.ofWindow?.includes(name));
    return this.#read.filter((name) => !data.isWhole(name) && !isKept(name));
  }

  /** Without a range views of executions read their totals. */
  get #read(): readonly string[] {
    const { needs = [], forRange = [], forHost = ["host_totals"] } = this.needs;
    if (this.link.timeRange) return [...needs, ...forRange];
    if (!forRange.includes("occurrences")) return needs;
    return [...needs, ...(this.host === "" ? ["unit_totals"] : forHost)];
  }

  /** What is said of the chosen host where others have what the view is about and it has none; "" else. */
  get nothing(): string {
    const { about } = this.needs;
    if (about === undefined || this.host === "") return "";
    const [isEmpty, words] = SUBJECTS[about];
    return isEmpty(this.data) && !isEmpty(this.whole.data) ? words : "";
  }

  /** What the figures are not of; "" where they are of what is chosen. */
  get caveats(): string {
    const isRanged = this.#ignoresRange && this.whole.link.timeRange !== null;
    const lists = this.host === "" || this.nothing ? [] : (this.needs.needs ?? []);
    const ofAll = lists.flatMap((name) => (OF_ALL[name]?.[0](this.data) ? OF_ALL[name][1] : []));
    return [...(isRanged ? [REDUCED.range] : []), ...ofAll].join(" ");
  }

  /** Rows of steps are translated on their way to and from the link. */
  #linkOf(link: Link): Link {
    const chosen = this;
    const steps = () => chosen.#tables?.rows("steps");
    return over(link, {
      get timeRange() {
        return chosen.#ignoresRange ? null : link.timeRange;
      },
      get host() {
        return chosen.host;
      },
      get step() {
        const own = link.step < 0 ? undefined : steps();
        return own === undefined ? link.step : (newRows(own)[link.step] ?? NONE);
      },
      setStep: (step) => link.setStep(step < 0 ? step : ((steps() ?? { [step]: step })[step] ?? NONE)),
    });
  }

  #dataOf(whole: TraceData): TraceData {
    const chosen = this;
    const table = (name: string) => {
      return chosen.#tables === null ? whole.table(name) : chosen.#tables.table(name);
    };
    return over(whole, {
      get of() {
        return chosen.host === "" ? "" : chosen.model.shortName(chosen.host, whole.meta.hosts ?? []);
      },
      get meta() {
        return chosen.#meta;
      },
      table,
      nRows: (name) => (chosen.#tables !== null && whole.isWhole(name) ? (table(name)?.n ?? 0) : whole.nRows(name)),
      onTables: (listener, signal, names) => {
        const renewed = () => {
          chosen.#renew();
          listener();
        };
        whole.onTables(renewed, signal, names);
        chosen.#listeners.add(listener, signal);
      },
    });
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

/** Whether any op was executed: a reduced profile has the totals without the executions. */
export function ranOps(table: TraceData["table"]): boolean {
  return (table("unit_totals")?.n ?? 0) > 0 || (table("occurrences")?.n ?? 0) > 0;
}

/** Whether the memory of any layer is known: a compiled program allocates as a whole. */
export function holdsMemory({ layers = [] }: TraceMeta): boolean {
  return layers.some(
    ({ kind, allocated_bytes, peak_bytes }) => kind !== "other" && (allocated_bytes ?? 0) + (peak_bytes ?? 0) > 0,
  );
}

/** Whether kernels are known without their executions. */
const isSummed = ({ kernels = [] }: TraceMeta) => kernels[0]?.occurrences !== undefined;

/** What a view may be about: whether there is none of it, and what is said of a host that has none. */
export const SUBJECTS = {
  ops: [({ table }: TraceData) => !ranOps(table), "ran no op"],
  kernels: [(data: TraceData) => data.nRows("kernel_totals") === 0 && !isSummed(data.meta), "ran no kernel"],
  steps: [(data: TraceData) => data.nRows("steps") === 0, "has no steps"],
  memory: [
    (data: TraceData) => data.nRows("memory") === 0 && data.meta.memory_summary.length === 0,
    "recorded no memory",
  ],
  pipelines: [({ meta }: TraceData) => (meta.pipelines ?? []).length === 0, "ran no tf.data pipeline"],
} as const;

const REDUCED = {
  range:
    "A reduced profile has no op times of a range; those without one are shown here. Open a host in full for a range.",
  kernels: "These are the kernels of all hosts: a reduced profile has only their sums.",
  roofline:
    "A reduced profile has no single kernels. Open one of its hosts in full: the roofline is of that host then.",
  memory: "A reduced profile has the peaks of memory without single allocations: open a host in full for its timeline.",
  counters: "Not over time in a reduced profile. The memory view has the peak of each host that recorded it.",
} as const;

/** What a reduced profile, which has no single executions, cannot give; "" of another one. */
export function notReduced({ is_summed }: TraceMeta, what: keyof typeof REDUCED): string {
  return is_summed ? REDUCED[what] : "";
}

/** Lists that are of all hosts, though one is chosen, and what is said of them. */
const OF_ALL: Readonly<Record<string, readonly [isSo: (data: TraceData) => boolean, words: string]>> = {
  kernels: [({ meta }) => isSummed(meta), REDUCED.kernels],
  copies: [({ table }) => !table("copy_runs"), "These are the copies of all hosts."],
  layers: [({ meta }) => holdsMemory(meta), "The memory of layers is that of all hosts."],
  source_samples: [
    ({ meta }) => (meta.source_samples ?? []).length > 0,
    "The samples of your thread are of all hosts.",
  ],
};
