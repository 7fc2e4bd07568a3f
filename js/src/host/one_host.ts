/**
 * The link and the data of a trace -> the same as if the linked host alone had been recorded, for the views to draw from.
 *
 * Rows of steps, pipelines and allocators are numbered anew, so steps are translated on their way to and from the link.
 */

import { hostMeta } from "../model/hosts/host_meta";
import { HostTables, newRows } from "../model/hosts/host_tables";
import { hostsOf } from "../model/hosts/hosts";
import type { TraceMeta } from "../model/wire/meta";
import type { TraceData } from "./data";
import { atEnd, guarded } from "./failures";
import type { Link } from "./link";

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
