/**
 * A trace and its link as a view has them: tables, lists and steps are of the chosen host, all hosts where none of its is
 * chosen; and what of that there is not, in words.
 */

import { isWithin, rangeInPs } from "./columns";
import type { Link } from "./link";
import type { TraceMeta } from "./meta";
import { HostTables, hostMeta, newRows, type OverviewOf } from "./one_host";
import type { TraceData } from "./store";
import { Listeners } from "./widget";

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
    readonly overviewOf: OverviewOf,
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
    this.#meta = this.#tables === null ? this.whole.data.meta : hostMeta(this.#tables, this.overviewOf);
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
    const rows = () => (this.#tables as HostTables).stepRows();
    const isOwn = (step: number) => this.#tables === null || step < 0;
    const nSteps = () => this.whole.data.table("steps")?.n ?? 0;
    const [host, range] = [() => this.host, () => (this.#ignoresRange ? null : link.timeRange)];
    const step = () => (isOwn(link.step) ? link.step : (newRows(rows(), nSteps())[link.step] ?? -1));
    return over(link, {
      get timeRange() {
        return range();
      },
      get host() {
        return host();
      },
      get step() {
        return step();
      },
      setStep: (step) => link.setStep(isOwn(step) ? step : (rows()[step] ?? -1)),
    });
  }

  #dataOf(whole: TraceData): TraceData {
    const meta = () => this.#meta;
    return over(whole, {
      get meta() {
        return meta();
      },
      table: (name) => (this.#tables ?? whole).table(name),
      nRows: (name) =>
        this.#tables !== null && whole.isWhole(name) ? (this.#tables.table(name)?.n ?? 0) : whole.nRows(name),
      onTables: (listener, signal, names) => {
        const renewed = () => {
          this.#renew();
          listener();
        };
        whole.onTables(renewed, signal, names);
        this.#listeners.add(listener, signal);
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

/** What a reduced profile, which has no single executions, cannot give. */
export const REDUCED = {
  range:
    "A reduced profile has no op times of a range; those without one are shown here. Open a host in full for a range.",
  kernels: "These are the kernels of all hosts: a reduced profile has only their sums.",
  roofline:
    "A reduced profile has no single kernels. Open one of its hosts in full: the roofline is of that host then.",
  memory: "A reduced profile has the peaks of memory without single allocations: open a host in full for its timeline.",
  counters: "Not over time in a reduced profile. The memory view has the peak of each host that recorded it.",
} as const;

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
