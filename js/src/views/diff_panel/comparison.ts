/** What a comparison of two runs shows: its payload, rows, words, and one selection for both runs. */

import type { Link } from "../../data/link";
import { formatBytes, formatCount, formatNumber } from "../../model/text";
import { h, unspoken } from "../../ui/dom";

export type Known = number | null;

export interface StepTimes extends Readonly<Record<"a_ms" | "b_ms" | "ratio", Known>> {
  readonly interval: readonly [Known, Known];
  readonly n_a: number;
  readonly n_b: number;
  readonly is_beyond_noise: boolean;
}

export interface Category extends Readonly<Record<"a_ms" | "b_ms" | "change_ms", number>> {
  readonly category: string;
  readonly ratio: Known;
  readonly noise_ms: Known;
  readonly state: string;
}

interface Columns
  extends Readonly<Record<"name" | "detail" | "where" | "unit" | "state", readonly string[]>>,
    Readonly<Record<"a" | "b" | "change" | "noise" | "ratio", readonly Known[]>> {
  /** `file:line`, "" for none. */
  readonly place: readonly string[];
  /** What the row selects in a and in b. */
  readonly ops: readonly (readonly [readonly string[], readonly string[]])[];
}

type TableId = "ops" | "layers" | "source_lines" | "kernels" | "iterators" | "memory";

export interface DiffTable {
  readonly id: TableId;
  /** Rows of the whole table; `columns` may hold fewer. */
  readonly n_rows: number;
  /** Rows of the whole table that changed beyond noise. */
  readonly n_changed: number;
  readonly is_noise_known: boolean;
  readonly columns: Columns;
}

interface Alignment {
  /** Moment of each run at which both timelines begin. */
  readonly start_ps: readonly [number, number];
  /** What the step there is called, "" for none. */
  readonly step: readonly [string, string];
  readonly span_ps: number;
}

export interface DiffContent {
  readonly titles: readonly [string, string];
  readonly verdict: string;
  readonly notices: readonly string[];
  readonly is_per_step: boolean;
  readonly n_events: readonly [number, number];
  /** null where a run has no steps. */
  readonly step_times: StepTimes | null;
  readonly categories: readonly Category[];
  readonly tables: readonly DiffTable[];
  readonly pairs: readonly (readonly [string, string])[];
  readonly lone: readonly (readonly string[])[];
  readonly alignment: Alignment;
}

const MARKS: Readonly<Record<string, string>> = {
  slower: "▲",
  larger: "▲",
  faster: "▼",
  smaller: "▼",
  added: "+",
  removed: "−",
  same: "=",
  "not sure": "?",
};

const MEANINGS: Readonly<Record<string, string>> = {
  slower: "Takes longer in b, by more than its noise and than what all ops did alike",
  faster: "Takes less in b, by more than its noise and than what all ops did alike",
  larger: "Larger in b, by more than its noise",
  smaller: "Smaller in b, by more than its noise",
  added: "Only b has it",
  removed: "Only a has it",
  same: "The same, but for less than a quarter of it or 2 % of a step, with all that noise may hide",
  "not sure": "It may have changed: the noise is too large, or the steps are too few, to tell",
};

export function isChanged(state: string): boolean {
  return state !== "same" && state !== "not sure";
}

export function stateMark(state: string): HTMLElement {
  const kind = isChanged(state) ? "tfp-state on" : "tfp-state";
  return h("span", { class: kind, title: MEANINGS[state] }, unspoken("i.mark", MARKS[state] ?? ""), state);
}

export function signed(value: Known, text: (value: number) => string = formatNumber): string {
  if (value === null) return "–";
  if (value === 0) return "0";
  return `${value > 0 ? "+" : "−"}${text(Math.abs(value))}`;
}

export function times(ratio: Known): string {
  return ratio === null ? "–" : `×${formatNumber(ratio)}`;
}

export function runBadge(run: 0 | 1): HTMLElement {
  return h("b.tfp-run", run === 0 ? "a" : "b");
}

/** The columns of a table at one place; `rank` is that place, 0 the largest change. */
export type DiffRow = { readonly [K in keyof Columns]: Columns[K][number] } & { readonly rank: number };

export interface TableWords extends Readonly<Record<"title" | "noun" | "detail", string>> {
  /** Heads of the columns that tell a row from the others; "" for a column that there is not. */
  readonly name: string;
}

export const TABLE_WORDS: Readonly<Record<TableId, TableWords>> = {
  ops: { title: "Ops", noun: "ops", name: "Op", detail: "Type" },
  layers: { title: "Layers", noun: "layers", name: "Layer", detail: "Class" },
  source_lines: { title: "Source lines", noun: "lines", name: "Line", detail: "" },
  kernels: { title: "Kernels", noun: "kernels", name: "Kernel", detail: "Op" },
  iterators: { title: "Iterators", noun: "iterators", name: "Iterator", detail: "Long name" },
  memory: { title: "Memory", noun: "figures", name: "Allocator", detail: "Figure" },
};

const METRIC_WORDS: Readonly<Record<string, string>> = {
  peak_bytes: "peak",
  allocated_bytes: "allocated",
  n_allocations: "allocations",
};

export function rowsOf({ columns }: DiffTable): DiffRow[] {
  return columns.name.map((_, rank) => {
    const row = Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[rank]])) as DiffRow;
    return { ...row, rank, detail: METRIC_WORDS[row.detail] ?? row.detail };
  });
}

export function passing(rows: readonly DiffRow[], onlyChanged: boolean, test: (text: string) => boolean): DiffRow[] {
  const isWanted = (row: DiffRow) => test(row.name) || test(row.detail) || test(row.place);
  return rows.filter((row) => (!onlyChanged || isChanged(row.state)) && isWanted(row));
}

/** What the table says of itself: every row that is not shown is counted. */
export function countWords(table: DiffTable, nShown: number, onlyChanged: boolean, isSearched: boolean): string {
  const { noun } = TABLE_WORDS[table.id];
  const parts = [`${formatCount(nShown)} of ${formatCount(table.n_rows)} ${noun}`];
  const nHere = table.columns.name.length;
  if (onlyChanged) {
    const nLess = table.n_rows - table.n_changed;
    parts.push(nLess > 0 ? `${formatCount(nLess)} within noise not shown` : "all beyond noise");
  } else if (table.n_changed === 0 && table.is_noise_known) parts.push("none changed beyond noise");
  const isCut = nHere < table.n_rows && (!onlyChanged || table.n_changed > nHere);
  if (isCut && !isSearched) parts.push(`the first ${formatCount(nHere)} by change are here`);
  else if (isCut) parts.push(`searched in the first ${formatCount(nHere)}`);
  return parts.join(" · ");
}

export function valueText(row: DiffRow, value: number): string {
  if (row.unit === "ms") return formatNumber(value);
  return row.unit.startsWith("bytes") ? formatBytes(value) : formatCount(value);
}

/** The largest change among rows of each unit: what a whole bar stands for. */
export function largestChanges(rows: readonly DiffRow[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { unit, change } of rows) found.set(unit, Math.max(found.get(unit) ?? 0, Math.abs(change ?? 0)));
  return found;
}

export class Partners {
  readonly #to: readonly [ReadonlyMap<string, string>, ReadonlyMap<string, string>];
  readonly #lone: readonly ReadonlySet<string>[];

  /** `pairs`: names in a and in b where those differ; `lone`: names that only a has, and that only b has. */
  constructor(pairs: readonly (readonly [string, string])[], lone: readonly (readonly string[])[]) {
    this.#to = [new Map(pairs), new Map(pairs.map(([a, b]) => [b, a]))];
    this.#lone = lone.map((names) => new Set(names));
  }

  /** What ops of run `from` (0 a, 1 b) are called in the other; those that it does not have are left out. */
  of(names: readonly string[], from: number): string[] {
    return names.flatMap((name) => {
      const partner = this.#to[from].get(name);
      if (partner !== undefined) return partner;
      return this.#lone[from]?.has(name) ? [] : name;
    });
  }
}

/** The axis shows at least this much to both sides, so that a narrow interval is not drawn as a wide one. */
const LEAST_REACH = 1.1;
const MARGIN = 1.15;
const TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 2, 5, 10, 20, 50, 100];
const TICK_APART = 0.2;

/** Null where the interval is not known. */
export function ratioMarks(ratio: number | null, interval: readonly (number | null)[]) {
  const [low, high] = interval;
  if (ratio === null || low === null || high === null || !(low > 0 && high > 0 && ratio > 0)) return null;
  const least = Math.min(low, 1 / LEAST_REACH) / (low < 1 ? MARGIN ** 0.5 : 1);
  const most = Math.max(high, LEAST_REACH) * (high > 1 ? MARGIN ** 0.5 : 1);
  const [from, to] = [Math.log(least), Math.log(most)];
  const at = (value: number) => (Math.log(value) - from) / (to - from);
  return { low: at(low), high: at(high), ratio: at(ratio), one: at(1), ticks: ticksWithin(least, most, at) };
}

/** Round ratios on the axis, 1.0 among them, far enough from each other to be read. */
function ticksWithin(least: number, most: number, at: (value: number) => number) {
  const found = [{ at: at(1), ratio: 1 }];
  const wanted = TICKS.filter((ratio) => ratio !== 1 && ratio >= least && ratio <= most);
  // The farthest from 1 first: they say how long the axis is.
  wanted.sort((a, b) => Math.abs(Math.log(b)) - Math.abs(Math.log(a)));
  for (const ratio of wanted)
    if (found.every((other) => Math.abs(other.at - at(ratio)) >= TICK_APART)) found.push({ at: at(ratio), ratio });
  return found.sort((a, b) => a.at - b.at);
}

export class SharedSelection {
  /** Links that this changes itself, and so must not answer. */
  #isSetting = false;
  readonly #listeners: (() => void)[] = [];

  constructor(
    /** null for a run without a timeline. */
    readonly links: readonly [Link | null, Link | null],
    readonly partners: Partners,
    signal: AbortSignal,
  ) {
    links.forEach((link, run) => {
      link?.on("selection", () => this.#follow(run), signal);
      link?.on("hover", () => this.#followHover(run), signal);
    });
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  of(run: 0 | 1): readonly string[] {
    return this.links[run]?.selection ?? [];
  }

  toggle(names: readonly [readonly string[], readonly string[]]): void {
    const isChosen = this.links.every((link, run) => link === null || isSame(link.selection, names[run]));
    this.#set(isChosen ? [[], []] : names);
  }

  clear(): void {
    this.#set([[], []]);
  }

  #set(names: readonly (readonly string[])[]): void {
    this.#isSetting = true;
    for (const run of [0, 1] as const) this.links[run]?.setSelection(names[run]);
    this.#isSetting = false;
    this.#tell();
  }

  #follow(from: number): void {
    if (this.#isSetting) return;
    this.#isSetting = true;
    const other = this.links[1 - from];
    // Two views of one profile have one selection anyway.
    const names = this.partners.of(this.links[from]?.selection ?? [], from);
    other?.setSelection(names);
    this.#isSetting = false;
    this.#tell();
  }

  #followHover(from: number): void {
    const name = this.links[from]?.hover ?? "";
    const other = this.links[1 - from];
    const [partner] = name === "" ? [""] : this.partners.of([name], from);
    const wanted = partner ?? "";
    // Answers to an answer end here, also where names of a are not those of b.
    if (other && this.partners.of([wanted], 1 - from)[0] !== undefined && other.hover !== wanted)
      other.setHover(wanted);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  const wanted = new Set(b);
  return a.length === wanted.size && a.every((name) => wanted.has(name));
}
