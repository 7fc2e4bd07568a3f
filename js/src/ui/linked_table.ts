/** Rows of the linked time range -> a table to filter, sort, save and select by; what all tables of ops have in common. */

import { hostsOf, shortHost } from "../model/hosts/hosts";
import { aStep, type CsvColumns } from "../model/text/csv";
import { formatCount, formatPercent } from "../model/text/format";
import { scopeOf, stepsOfScope } from "../model/time/scope";
import { describeRange } from "../model/time/span_text";
import { type Scope, STEADY } from "../model/time/viewport";
import { FilteredTable, type FilteredTableOptions } from "./filtered_table";
import { follow } from "./following";
import { toggleSelection } from "./selecting";
import type { TraceView } from "./view";

export interface LinkedTableOptions<R>
  extends Omit<
    FilteredTableOptions<R>,
    "onPick" | "isMarked" | "passing" | "describe" | "whyEmpty" | "onShown" | "csv"
  > {
  readonly csv: { readonly file: string; readonly columns: CsvColumns<R> };
  /** Plural, such as "kernels". */
  readonly noun: () => string;
  /** What the shares in the count are of, such as "kernel time". */
  readonly weightNoun: string;
  readonly weight: (row: R) => number;
  /** All rows of a scope; where that is of whole steps times and counts are a step. */
  readonly rows: (scope: Scope) => readonly R[];
  /** What the filter looks at. */
  readonly texts: (row: R) => readonly string[];
  /** Rows under a filter, where that is more than leaving rows out. */
  readonly regroup?: (test: (text: string) => boolean) => readonly R[];
  /** Names of the ops that a row stands for: what a click selects, and whose selection marks the row. */
  readonly opsOf: (row: R) => readonly string[];
  /** Where that is more than that none ran in the range. */
  readonly whyEmpty?: (scope: Scope) => string;
  /** Called with all rows of the scope, also when only the filter changed. */
  readonly onRows?: (all: readonly R[], nSteps: number | null) => void;
  /** Heads that change with the scope, by column; `nSteps` is null where times are not a step. */
  readonly titles?: (nSteps: number | null) => Readonly<Record<string, string>>;
  /** Whether times of a row may be of several threads at once. */
  readonly isOverThreads?: (row: R) => boolean;
  readonly onSelection?: (chosen: ReadonlySet<string>) => void;
  /** What a click on a row does; selecting its ops when left out. */
  readonly onPick?: (row: R) => void;
  /** What the rows are about, in place of words on the scope. */
  readonly about?: () => string;
  /** What the rows are of, where that is not what views are linked to. */
  readonly scope?: (linked: Scope) => Scope;
  /** Shown instead of everything else, when it gives something. */
  readonly empty?: () => HTMLElement | null;
}

/** Several threads do more in a step than it takes. */
export const OVER_THREADS = "host times summed over threads";

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
    const { file, columns } = options.csv;
    const named = () => (this.nSteps === null ? columns : aStep(columns));
    this.#table = new FilteredTable<R>(view, {
      ...options,
      csv: { file, columns: named },
      onPick: (row) => (options.onPick ? options.onPick(row) : this.pick(options.opsOf(row))),
      isMarked: (row) => this.#chosen.size > 0 && options.opsOf(row).some((name) => this.#chosen.has(name)),
      passing: (test, isOff) => this.#passing(test, isOff),
      describe: (shown) => this.#describe(shown),
      whyEmpty: () => this.#whyEmpty(),
      onShown: () => this.#tellRows(),
    });
    view.root.append(this.#table.element);
    this.compute = view.guard(() => this.#compute());
    follow(view, { compute: this.compute, select: () => this.#followSelection() }, ["kernel_runs", "copy_runs"]);
    this.compute();
    this.#followSelection();
  }

  get scope(): Scope {
    const linked = scopeOf(this.view.link, this.view.data.table);
    return this.options.scope?.(linked) ?? linked;
  }
  /** By how many steps times are divided; null where they are not. */
  get nSteps(): number | null {
    return stepsOfScope(this.view.data.table("steps"), this.scope);
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
    this.#all = this.options.rows(this.scope);
    this.#table.apply();
    this.options.onSelection?.(this.#chosen);
  }

  #passing(test: (text: string) => boolean, isOff: boolean): readonly R[] {
    const { regroup, texts } = this.options;
    return isOff ? this.#all : (regroup?.(test) ?? this.#all.filter((row) => texts(row).some(test)));
  }

  #tellRows(): void {
    const { onRows, titles } = this.options;
    onRows?.(this.#all, this.nSteps);
    for (const [id, title] of Object.entries(titles?.(this.nSteps) ?? {})) this.#table.grid.setTitle(id, title);
  }

  #whyEmpty(): string {
    const { host } = this.view.link;
    const noun = this.options.noun();
    if (this.#all.length > 0)
      return `None of the ${noun} matches the filter. Clear it, or write /pattern/i for a regular expression.`;
    const { scope } = this;
    if (host === "" || (scope !== null && scope !== STEADY))
      return this.options.whyEmpty?.(scope) ?? `No ${noun} in this time range. Clear the range to see all.`;
    return `${shortHost(host, hostsOf(this.view.data.meta))} has no ${noun}. Choose another host, or all of them.`;
  }

  #describe(shown: readonly R[]): [string, string] {
    const { data, link } = this.view;
    const { weight, weightNoun, noun, about, isOverThreads } = this.options;
    const sum = (rows: readonly R[]) => rows.reduce((total, row) => total + weight(row), 0);
    const all = sum(this.#all);
    const parts = [`${formatCount(shown.length)} of ${formatCount(this.#all.length)} ${noun()}`];
    if (all > 0) parts.push(`${formatPercent(sum(shown) / all)} of ${weightNoun}`);
    const host = link.host === "" ? "" : ` · ${shortHost(link.host, hostsOf(data.meta))}`;
    const linked = about?.() ?? ` · ${describeRange(data.meta, data.table("steps"), this.scope)}`;
    if (isOverThreads && this.#all.some(isOverThreads)) parts.push(OVER_THREADS);
    return [parts.join(" · "), `${host}${linked}`];
  }

  #followSelection(): void {
    this.#chosen = new Set(this.view.link.selection);
    this.#table.followSelection(true);
    this.options.onSelection?.(this.#chosen);
  }
}
