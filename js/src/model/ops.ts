/**
 * What ops cost in a time range: one row per op, type or layer, as Python's `aggregate_ops` gives them.
 *
 * A unit is an ordinary op, or an HLO op of a compiled program that stands for several framework ops, each with its share.
 */

import { columns, isInRange, numbers, overlapPs, type RangePs, type Scope, STEADY } from "../data/columns";
import type { LayerMeta, TraceMeta } from "../data/meta";
import { EMPTY_TABLE, type Table } from "../data/pack";
import { reasonOf } from "../data/widget";
import { stepsOfScope } from "./range";

/** What the meta object says of ops, by op. */
export type OpNames = Pick<TraceMeta, "names" | "op_name" | "op_type" | "op_device" | "op_eager">;

export interface OpRow extends Readonly<Record<"occurrences" | "totalPs" | "selfPs", number>> {
  /** Unique and stable over ranges, so that a table keeps its place. */
  readonly key: string;
  /** Op id; of a row by type its first op; -1 for an IDLE row. */
  readonly op: number;
  readonly name: string;
  readonly type: string;
  readonly device: 0 | 1;
  readonly isEager: boolean;
  readonly isIdle: boolean;
  /** How many ops the row stands for: 1, or the ops of a type. */
  readonly nOps: number;
  /** Self time over the self time of all rows; of one side (host or device) where only that side is asked for. */
  readonly selfRatio: number;
  /** Running sum of `selfRatio`, largest self time first. */
  readonly cumulativeRatio: number;
}

type OpSums = Readonly<Record<"totalPs" | "selfPs" | "occurrences", Float64Array>>;

export interface OpTotals extends OpSums {
  /** Idle time of host lines and of device lines. */
  readonly idlePs: readonly [number, number];
}

function newSums(n: number): OpSums {
  return { totalPs: new Float64Array(n), selfPs: new Float64Array(n), occurrences: new Float64Array(n) };
}

function mapped<T extends OpSums>(totals: T, change: (value: number, op: number) => number): T {
  const [totalPs, selfPs, occurrences] = [totals.totalPs, totals.selfPs, totals.occurrences].map((one) =>
    one.map(change),
  );
  return { ...totals, totalPs, selfPs, occurrences };
}

/** Total and self time and occurrences per unit; self time is an occurrence's overlap with the range less that of its children. */
export function opTotals(occurrences: Table, lines: Table | undefined, nUnits: number, range: RangePs): OpTotals {
  const { totalPs, selfPs, occurrences: counts } = newSums(nUnits);
  const [op, line, start, duration, span, parent] = columns(
    occurrences,
    "op",
    "line",
    "start_ps",
    "duration_ps",
    "span_ps",
    "parent",
  );
  const busy = new Map<number, number>();
  let lastLine = -1;
  let lastBusy = 0;
  for (let i = 0; i < occurrences.n; i++) {
    const id = op[i];
    if (isInRange(start[i], duration[i], range)) {
      counts[id] += 1;
      totalPs[id] += overlapPs(start[i], duration[i], range);
    }
    const own = overlapPs(start[i], span[i], range);
    selfPs[id] += own;
    if (parent[i] >= 0) selfPs[op[parent[i]]] -= own;
    else {
      // Summed over a line, own - children telescopes to the spans that have no parent.
      if (line[i] !== lastLine) {
        if (lastLine >= 0) busy.set(lastLine, (busy.get(lastLine) ?? 0) + lastBusy);
        lastLine = line[i];
        lastBusy = 0;
      }
      lastBusy += own;
    }
  }
  if (lastLine >= 0) busy.set(lastLine, (busy.get(lastLine) ?? 0) + lastBusy);
  countExecutions(occurrences, counts, range);
  return { totalPs, selfPs, occurrences: counts, idlePs: idle(lines ?? EMPTY_TABLE, busy, range) };
}

/** A device may run several kernels for one execution of an op, which counts where any of them is in the range. */
function countExecutions(occurrences: Table, counts: Float64Array, range: RangePs): void {
  if (occurrences.columns.execution === undefined) return;
  const [op, execution, start, duration] = columns(occurrences, "op", "execution", "start_ps", "duration_ps");
  const counted = new Set<number>();
  for (let i = 0; i < occurrences.n; i++) {
    if (execution[i] < 0 || !isInRange(start[i], duration[i], range)) continue;
    if (counted.has(execution[i])) counts[op[i]] -= 1;
    else counted.add(execution[i]);
  }
}

/** Totals per framework op: of each unit that stands for it its share of the time, and the occurrences of the most frequent one. */
export function shareTotals(totals: OpTotals, shares: Table | undefined, nOps: number): OpTotals {
  if (shares === undefined || shares.n === 0) return totals;
  const { totalPs, selfPs, occurrences } = newSums(nOps);
  const [unit, op, ratio] = columns(shares, "unit", "op", "ratio");
  for (let i = 0; i < shares.n; i++) {
    totalPs[op[i]] += totals.totalPs[unit[i]] * ratio[i];
    selfPs[op[i]] += totals.selfPs[unit[i]] * ratio[i];
    occurrences[op[i]] = Math.max(occurrences[op[i]], totals.occurrences[unit[i]]);
  }
  return { totalPs, selfPs, occurrences, idlePs: totals.idlePs };
}

function idle(lines: Table, busy: ReadonlyMap<number, number>, range: RangePs): [number, number] {
  const idlePs: [number, number] = [0, 0];
  const [line, device, first, last] = columns(lines, "line", "device", "first_ps", "last_ps");
  for (let i = 0; i < lines.n; i++) {
    const spanned = overlapPs(first[i], last[i] - first[i], range);
    idlePs[device[i] === 1 ? 1 : 0] += Math.max(0, spanned - (busy.get(line[i]) ?? 0));
  }
  return idlePs;
}

interface OpRowsOptions {
  readonly byType?: boolean;
  readonly withIdle?: boolean;
  /** Only host (0) or only device (1) rows; both when left out. */
  readonly side?: 0 | 1;
  /** Which ops go into the rows; shares stay shares of all ops of the side. */
  readonly keep?: (name: string, type: string) => boolean;
}

type Draft = Omit<OpRow, "selfRatio" | "cumulativeRatio">;

/** The rows of the op table as in `Profile.ops`, largest self time first, without ops that do not occur in the range. */
export function opRows(names: OpNames, totals: OpTotals, options: OpRowsOptions = {}): OpRow[] {
  const drafts = rowsByOp(names, totals);
  if (options.withIdle) drafts.push(...idleRows(totals));
  const eligible = options.side === undefined ? drafts : drafts.filter((row) => row.device === options.side);
  const sums = [0, 0];
  for (const { device, selfPs } of eligible) sums[device] += selfPs;
  const { keep } = options;
  const kept = keep === undefined ? eligible : eligible.filter((row) => keep(row.name, row.type));
  const rows = options.byType ? groupByType(kept) : kept;
  rows.sort((a, b) => b.selfPs - a.selfPs || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const running = [0, 0];
  return rows.map((row) => {
    const selfRatio = sums[row.device] > 0 ? row.selfPs / sums[row.device] : 0;
    running[row.device] += selfRatio;
    return { ...row, selfRatio, cumulativeRatio: running[row.device] };
  });
}

function idleRows(totals: OpTotals): Draft[] {
  const rows: Draft[] = [];
  for (const device of [1, 0] as const) {
    const ps = totals.idlePs[device];
    if (ps <= 0) continue;
    const key = `idle:${device ? "device" : "host"}`;
    const counts = { nOps: 1, occurrences: 0, totalPs: ps, selfPs: ps };
    rows.push({ key, op: -1, name: "IDLE", type: "IDLE", device, isEager: false, isIdle: true, ...counts });
  }
  return rows;
}

function rowsByOp(names: OpNames, totals: OpTotals): Draft[] {
  const rows: Draft[] = [];
  for (let op = 0; op < totals.occurrences.length; op++) {
    if (totals.occurrences[op] === 0) continue;
    rows.push({
      key: `op:${op}`,
      op,
      name: names.names[names.op_name[op]] ?? "",
      type: names.names[names.op_type[op]] ?? "",
      device: names.op_device[op] === 1 ? 1 : 0,
      isEager: names.op_eager[op] === 1,
      isIdle: false,
      nOps: 1,
      occurrences: totals.occurrences[op],
      totalPs: totals.totalPs[op],
      selfPs: Math.max(0, totals.selfPs[op]),
    });
  }
  return rows;
}

function groupByType(rows: readonly Draft[]): Draft[] {
  const groups = new Map<string, { -readonly [K in keyof Draft]: Draft[K] }>();
  for (const row of rows) {
    if (row.isIdle) {
      groups.set(row.key, row);
      continue;
    }
    const key = `type:${row.device}:${row.type}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { ...row, key, name: "" });
    else {
      group.nOps += 1;
      group.occurrences += row.occurrences;
      group.totalPs += row.totalPs;
      group.selfPs += row.selfPs;
      group.isEager ||= row.isEager;
    }
  }
  return [...groups.values()];
}

/** A predicate for the filter box: `/pattern/` or `/pattern/i`, else every word must occur, any case; `error` says what is wrong. */
export function textFilter(text: string): { readonly test: (value: string) => boolean; readonly error: string } {
  const trimmed = text.trim();
  if (trimmed === "") return { test: () => true, error: "" };
  const pattern = /^\/(.*)\/([imsu]*)$/.exec(trimmed);
  if (pattern) {
    try {
      const regex = new RegExp(pattern[1], pattern[2]);
      return { test: (value) => regex.test(value), error: "" };
    } catch (error) {
      return { test: () => true, error: reasonOf(error) };
    }
  }
  const words = trimmed.toLowerCase().split(/\s+/);
  return {
    test: (value) => {
      const lower = value.toLowerCase();
      return words.every((word) => lower.includes(word));
    },
    error: "",
  };
}

type Tables = (name: string) => Table | undefined;

export function rangedOps(meta: TraceMeta, table: Tables, scope: Scope): OpTotals {
  return shareTotals(unitTotals(meta, table, scope), table("op_shares"), meta.op_name.length);
}

export function unitTotals(meta: TraceMeta, table: Tables, scope: Scope): OpTotals {
  const known = scope === STEADY ? "step_totals" : "unit_totals";
  const whole = scope === STEADY || scope === null ? wholeTotals(table(known), meta) : null;
  if (whole) return scope === STEADY ? { ...whole, idlePs: [0, 0] } : whole;
  const range = scope === STEADY ? null : scope;
  return opTotals(table("occurrences") ?? EMPTY_TABLE, table("op_lines"), meta.n_units ?? meta.op_name.length, range);
}

export interface OpsOfSteps extends OpTotals {
  /** Steps that the totals were divided by; null where they are of a time and not a step. */
  readonly nSteps: number | null;
}

/** Totals per framework op a step, where the scope is of whole steps. */
export function opsOfScope(meta: TraceMeta, table: Tables, scope: Scope): OpsOfSteps {
  const totals = rangedOps(meta, table, scope);
  const nSteps = stepsOfScope(table("steps"), scope);
  return { ...dividedTotals(totals, nSteps ?? 1), nSteps };
}

export function dividedTotals<T extends OpSums>(totals: T, by: number): T {
  return by === 1 ? totals : mapped(totals, (value) => value / by);
}

/** The same without ops whose time is waiting for others: what is left is work. */
export function withoutWaiting<T extends OpTotals>(meta: TraceMeta, totals: T): T {
  return mapped(totals, (value, op) => (meta.op_waits?.[op] === 1 ? 0 : value));
}

/** Totals per unit as they were worked out before, of all hosts in the table; null where they were not. */
export function wholeTotals(table: Table | undefined, meta: TraceMeta): OpTotals | null {
  if (!table) return null;
  const nUnits = meta.n_units ?? meta.op_name.length;
  const unit = numbers(table, "unit");
  const [total, self, count] = columns(table, "total_ps", "self_ps", "occurrences");
  const sums = newSums(nUnits);
  for (let i = 0; i < table.n; i++) {
    sums.totalPs[unit[i]] += total[i];
    sums.selfPs[unit[i]] += self[i];
    sums.occurrences[unit[i]] += count[i];
  }
  return { ...sums, idlePs: meta.idle_ps ?? [0, 0] };
}

interface OpShare {
  readonly op: number;
  /** Of the unit's time. */
  readonly ratio: number;
}

export class Shares {
  /** By unit the first of its rows in the table, which is sorted by unit. */
  readonly #first = new Map<number, number>();
  readonly #unitsOfName = new Map<number, number[]>();
  readonly #unit: ArrayLike<number>;
  readonly #op: ArrayLike<number>;
  readonly #ratio: ArrayLike<number>;

  constructor(
    table: Table | undefined,
    readonly meta: Pick<TraceMeta, "op_name">,
  ) {
    const shares = table ?? EMPTY_TABLE;
    [this.#unit, this.#op, this.#ratio] = columns(shares, "unit", "op", "ratio");
    for (let row = shares.n - 1; row >= 0; row--) {
      this.#first.set(this.#unit[row], row);
      const name = meta.op_name[this.#op[row]];
      const units = this.#unitsOfName.get(name);
      if (units) units.push(this.#unit[row]);
      else this.#unitsOfName.set(name, [this.#unit[row]]);
    }
  }

  get isEmpty(): boolean {
    return this.#unit.length === 0;
  }

  /** What a unit stands for, largest share first; empty for a unit that the table does not name. */
  ofUnit(unit: number): OpShare[] {
    const found: OpShare[] = [];
    const first = this.#first.get(unit) ?? -1;
    for (let row = first; row >= 0 && row < this.#unit.length && this.#unit[row] === unit; row++) {
      found.push({ op: this.#op[row], ratio: this.#ratio[row] });
    }
    return found.sort((a, b) => b.ratio - a.ratio || a.op - b.op);
  }

  /** Name ids under which the units of a framework op are drawn: those of the ops that each of them is most of. */
  drawnAs(name: number): number[] {
    const units = this.#unitsOfName.get(name) ?? [];
    return [...new Set(units.flatMap((unit) => this.ofUnit(unit).slice(0, 1)).map(({ op }) => this.meta.op_name[op]))];
  }
}

export function opName({ names, op_name }: Pick<TraceMeta, "names" | "op_name">, op: number): string {
  return names[op_name[op]] ?? "";
}

export function sideOf({ op_device }: Pick<TraceMeta, "op_device">, op: number): "host" | "device" {
  return op_device[op] === 1 ? "device" : "host";
}

/** What part of a training step an op belongs to, in the order of the ids of `op_places.phase`. */
export const PHASES = ["forward", "backward", "optimizer", "other"] as const;

/** Adds up the ops of each of `n` entries, by the number of its entry; negative for an op that is left out. */
export function sumByEntry(places: ArrayLike<number>, totals: OpSums, n: number, keep?: (op: number) => boolean) {
  const sums = { ...newSums(n), nOps: new Float64Array(n) };
  for (let op = 0; op < places.length; op++) {
    const entry = places[op];
    if (entry < 0 || totals.occurrences[op] === 0 || (keep && !keep(op))) continue;
    sums.totalPs[entry] += totals.totalPs[op];
    sums.selfPs[entry] += Math.max(0, totals.selfPs[op]);
    sums.occurrences[entry] += totals.occurrences[op];
    sums.nOps[entry] += 1;
  }
  return sums;
}

/** Self time per entry, one array for each phase in the order of `PHASES`. */
export function selfByPhase(
  places: ArrayLike<number>,
  phases: ArrayLike<number>,
  totals: Pick<OpTotals, "selfPs">,
  n: number,
): readonly Float64Array[] {
  const sums = PHASES.map(() => new Float64Array(n));
  for (let op = 0; op < places.length; op++) {
    if (places[op] >= 0) sums[phases[op]][places[op]] += Math.max(0, totals.selfPs[op]);
  }
  return sums;
}

export interface LayerRow
  extends LayerMeta,
    Readonly<Record<"rank" | "entry" | "selfPs" | "ratio" | "nOps" | "occurrences", number>> {
  readonly phasePs: readonly number[];
}

/** What ran in the layers on one side, most time first, every op in one row; last what only holds memory, if it is that side's. */
export function layerRows(
  layers: readonly LayerMeta[],
  places: Readonly<Record<"layer" | "phase" | "device", ArrayLike<number>>>,
  totals: OpSums,
  side: 0 | 1,
  withMemory: boolean,
): LayerRow[] {
  const isThere = (op: number) => places.device[op] === side;
  const selfPs = Float64Array.from(totals.selfPs, (ps, op) => (isThere(op) ? ps : 0));
  const phases = selfByPhase(places.layer, places.phase, { selfPs }, layers.length);
  const sums = sumByEntry(places.layer, totals, layers.length, isThere);
  const time = layers.map((_, entry) => phases.reduce((sum, phase) => sum + phase[entry], 0));
  const whole = time.reduce((sum, ps) => sum + ps, 0);
  // Memory that no op explains is a row of its own.
  const holdsMemory = ({ kind, peak_bytes }: LayerMeta) => kind === "other" && (peak_bytes ?? 0) > 0;
  const isShown = (entry: number) => sums.nOps[entry] > 0 || (withMemory && holdsMemory(layers[entry]));
  const shown = layers.map((_, entry) => entry).filter(isShown);
  shown.sort((a, b) => time[b] - time[a] || a - b);
  return shown.map((entry, i) => ({
    ...layers[entry],
    ...{ rank: i + 1, entry, phasePs: PHASES.map((_, phase) => phases[phase][entry]), selfPs: time[entry] },
    ...{ ratio: whole > 0 ? time[entry] / whole : 0, nOps: sums.nOps[entry], occurrences: sums.occurrences[entry] },
  }));
}

interface Share<R> {
  /** One row, or all that are not among the largest. */
  readonly rows: readonly R[];
  readonly value: number;
  readonly ratio: number;
  readonly isRest: boolean;
}

export const N_SHARES = 10;

/** The `n` largest rows and one share for the rest (a single one is shown as that row), without those of no weight. */
export function topShares<R>(rows: readonly R[], value: (row: R) => number, n = N_SHARES): Share<R>[] {
  const weighed = rows.map((row) => ({ row, value: value(row) })).filter((item) => item.value > 0);
  weighed.sort((a, b) => b.value - a.value);
  const sum = weighed.reduce((total, item) => total + item.value, 0);
  const nSingle = weighed.length <= n + 1 ? weighed.length : n;
  const shares: Share<R>[] = weighed
    .slice(0, nSingle)
    .map((item) => ({ rows: [item.row], value: item.value, ratio: item.value / sum, isRest: false }));
  const rest = weighed.slice(nSingle);
  if (rest.length > 0) {
    const value = rest.reduce((total, item) => total + item.value, 0);
    shares.push({ rows: rest.map((item) => item.row), value, ratio: value / sum, isRest: true });
  }
  return shares;
}
