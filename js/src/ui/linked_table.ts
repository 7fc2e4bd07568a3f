/** Rows of the linked time range -> a table to filter, sort, save and select by; what all tables of ops have in common. */

import { hostsOf, shortHost } from "../model/hosts/hosts";
import { formatCount, formatPercent } from "../model/text/format";
import { describeRange, rangeInPs } from "../model/time/span_text";
import type { RangePs } from "../model/time/viewport";
import { FilteredTable, type FilteredTableOptions } from "./filtered_table";
import { follow } from "./following";
import { toggleSelection } from "./selecting";
import type { TraceView } from "./view";

export interface LinkedTableOptions<R>
  extends Omit<FilteredTableOptions<R>, "onPick" | "isMarked" | "passing" | "describe" | "whyEmpty" | "onShown"> {
  /** Plural, such as "kernels". */
  readonly noun: () => string;
  /** What the shares in the count are of, such as "kernel time". */
  readonly weightNoun: string;
  readonly weight: (row: R) => number;
  /** All rows of a range. */
  readonly rows: (range: RangePs) => readonly R[];
  /** What the filter looks at. */
  readonly texts: (row: R) => readonly string[];
  /** Rows under a filter, where that is more than leaving rows out. */
  readonly regroup?: (test: (text: string) => boolean) => readonly R[];
  /** Names of the ops that a row stands for: what a click selects, and whose selection marks the row. */
  readonly opsOf: (row: R) => readonly string[];
  readonly whyEmpty: (range: RangePs) => string;
  /** Called with all rows of the range, also when only the filter changed. */
  readonly onRows?: (all: readonly R[]) => void;
  /** Heads that change with the range, by column. */
  readonly titles?: () => Readonly<Record<string, string>>;
  readonly onSelection?: (chosen: ReadonlySet<string>) => void;
  /** What a click on a row does; selecting its ops when left out. */
  readonly onPick?: (row: R) => void;
  /** What the rows are about, where that is not the linked range. */
  readonly about?: () => string;
  /** Shown instead of everything else, when it gives something. */
  readonly empty?: () => HTMLElement | null;
}

export class LinkedTable<R> {
  /** All rows of the range, before the filter. */
  #all: readonly R[] = [];
  /** Ops that are selected. */
  #chosen: ReadonlySet<string> = new Set();
  readonly #table: FilteredTable<R>;
  readonly compute: () => void;

  constructor(
    readonly view: TraceView,
    readonly options: LinkedTableOptions<R>,
  ) {
    this.#table = new FilteredTable<R>(view, {
      ...options,
      onPick: (row) => (options.onPick ? options.onPick(row) : this.pick(options.opsOf(row))),
      isMarked: (row) => this.#chosen.size > 0 && options.opsOf(row).some((name) => this.#chosen.has(name)),
      passing: (test, isOff) => this.#passing(test, isOff),
      describe: (shown) => this.#describe(shown),
      whyEmpty: () => this.#whyEmpty(),
      onShown: () => this.#tellRows(),
    });
    view.root.append(this.#table.element);
    this.compute = view.guard(() => this.#compute());
    follow(view, { compute: this.compute, select: () => this.#followSelection() }, ["kernel_runs"]);
    this.compute();
    this.#followSelection();
  }

  get range(): RangePs {
    return rangeInPs(this.view.link.timeRange, this.view.data.table("steps"));
  }

  /** Selects ops, or nothing when exactly they are selected. */
  pick(names: readonly string[]): void {
    toggleSelection(this.view.link, names);
  }

  #compute(): void {
    const nothing = this.options.empty?.() ?? null;
    if (nothing !== null) {
      this.view.root.replaceChildren(nothing);
      return;
    }
    this.#all = this.options.rows(this.range);
    this.#table.apply();
    this.options.onSelection?.(this.#chosen);
  }

  #passing(test: (text: string) => boolean, isOff: boolean): readonly R[] {
    const { regroup, texts } = this.options;
    return isOff ? this.#all : (regroup?.(test) ?? this.#all.filter((row) => texts(row).some(test)));
  }

  #tellRows(): void {
    const { onRows, titles } = this.options;
    onRows?.(this.#all);
    for (const [id, title] of Object.entries(titles?.() ?? {})) this.#table.grid.setTitle(id, title);
  }

  #whyEmpty(): string {
    const { host } = this.view.link;
    const noun = this.options.noun();
    if (this.#all.length > 0)
      return `None of the ${noun} matches the filter. Clear it, or write /pattern/i for a regular expression.`;
    if (host === "" || this.range !== null) return this.options.whyEmpty(this.range);
    return `${shortHost(host, hostsOf(this.view.data.meta))} has no ${noun}. Choose another host, or all of them.`;
  }

  #describe(shown: readonly R[]): [string, string] {
    const { data, link } = this.view;
    const { weight, weightNoun, noun, about } = this.options;
    const sum = (rows: readonly R[]) => rows.reduce((total, row) => total + weight(row), 0);
    const all = sum(this.#all);
    const parts = [`${formatCount(shown.length)} of ${formatCount(this.#all.length)} ${noun()}`];
    if (all > 0) parts.push(`${formatPercent(sum(shown) / all)} of ${weightNoun}`);
    const linked = () => (this.range === null ? "" : ` · ${describeRange(data.meta, data.table("steps"), this.range)}`);
    const host = link.host === "" ? "" : ` · ${shortHost(link.host, hostsOf(data.meta))}`;
    return [parts.join(" · "), `${host}${about?.() ?? linked()}`];
  }

  #followSelection(): void {
    this.#chosen = new Set(this.view.link.selection);
    this.#table.followSelection(true);
    this.options.onSelection?.(this.#chosen);
  }
}
