/**
 * Executions of units and a time range -> one row per framework op (or per op type), as Python's `aggregate_ops` gives them.
 * A unit is an ordinary op, or an HLO op of a compiled program that stands for several framework ops, each with its share.
 */

import { isInRange, overlapPs } from "../time/overlap";
import type { RangePs } from "../time/viewport";
import { columns } from "../wire/column";
import type { TraceMeta } from "../wire/meta";
import { EMPTY_TABLE, type Table } from "../wire/wire";

/** What the meta object says of ops, by op. */
export type OpNames = Pick<TraceMeta, "names" | "op_name" | "op_type" | "op_device" | "op_eager">;

export interface OpRow {
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
  readonly occurrences: number;
  readonly totalPs: number;
  readonly selfPs: number;
  /** Self time over the self time of all rows; of one side (host or device) where only that side is asked for. */
  readonly selfRatio: number;
  /** Running sum of `selfRatio`, largest self time first. */
  readonly cumulativeRatio: number;
}

export interface OpTotals {
  readonly totalPs: Float64Array;
  readonly selfPs: Float64Array;
  readonly occurrences: Float64Array;
  /** Idle time of host lines and of device lines. */
  readonly idlePs: readonly [number, number];
}

/**
 * Total and self time and occurrences per unit.
 * Self time is the overlap of an occurrence's span less that of its direct children's spans, so self times never count an instant twice.
 */
export function opTotals(occurrences: Table, lines: Table | undefined, nUnits: number, range: RangePs): OpTotals {
  const totalPs = new Float64Array(nUnits);
  const selfPs = new Float64Array(nUnits);
  const counts = new Float64Array(nUnits);
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

/**
 * Totals per framework op from those per unit: each gets its share of the time of the units that stand for it, and was
 * executed as often as the most frequent of them. Without a table of shares every unit is a framework op.
 */
export function shareTotals(totals: OpTotals, shares: Table | undefined, nOps: number): OpTotals {
  if (shares === undefined || shares.n === 0) return totals;
  const totalPs = new Float64Array(nOps);
  const selfPs = new Float64Array(nOps);
  const occurrences = new Float64Array(nOps);
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

export interface OpRowsOptions {
  readonly byType?: boolean;
  readonly withIdle?: boolean;
  /** Only host (0) or only device (1) rows; both when left out. */
  readonly side?: 0 | 1;
  /** Which ops go into the rows; shares stay shares of all ops of the side. */
  readonly keep?: (name: string, type: string) => boolean;
}

type Draft = Omit<OpRow, "selfRatio" | "cumulativeRatio">;

/**
 * The rows of the op table, largest self time first, with shares of their own side, as in `Profile.ops`; ops that do not occur
 * in the range are left out.
 */
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

/**
 * A predicate for the filter box: `/pattern/` or `/pattern/i` is a regular expression, else every word must occur, any case.
 * A pattern that does not compile gives its message instead, so that the box can say why nothing is filtered.
 */
export function textFilter(text: string): { readonly test: (value: string) => boolean; readonly error: string } {
  const trimmed = text.trim();
  if (trimmed === "") return { test: () => true, error: "" };
  const pattern = /^\/(.*)\/([imsu]*)$/.exec(trimmed);
  if (pattern) {
    try {
      const regex = new RegExp(pattern[1], pattern[2]);
      return { test: (value) => regex.test(value), error: "" };
    } catch (error) {
      return { test: () => true, error: error instanceof Error ? error.message : String(error) };
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
