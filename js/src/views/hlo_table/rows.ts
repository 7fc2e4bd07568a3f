/** Executions of HLO ops and a time range -> one row per HLO op, or per category or program. */

import type { OpTotals } from "../../model/ops/ops";
import { dividedTotals, unitTotals } from "../../model/ops/ranged_ops";
import { isInRange, overlapPs } from "../../model/time/overlap";
import { stepsOfScope } from "../../model/time/scope";
import { type RangePs, type Scope, STEADY } from "../../model/time/viewport";
import { columns, numbers } from "../../model/wire/column";
import type { HloMeta, TraceMeta } from "../../model/wire/meta";
import { EMPTY_TABLE, type Table } from "../../model/wire/wire";

export type Grouping = "op" | "category" | "program";

export interface HloOp extends HloMeta {
  /** The name of its program, unique. */
  readonly program: string;
}

export interface HloRow {
  readonly key: string;
  readonly rank: number;
  /** Rows of the meta object's `hlo_ops`: one, or those of a group. */
  readonly hlos: readonly number[];
  /** What the row is of: the only one, or the first of a group. */
  readonly meta: HloOp;
  readonly occurrences: number;
  readonly totalPs: number;
  readonly selfPs: number;
  /** Of the self time of all HLO ops. */
  readonly ratio: number;
  /** Over total time; NaN where nothing is known of the op. */
  readonly gflops: number;
  readonly gibps: number;
}

interface Totals extends Pick<OpTotals, "totalPs" | "selfPs" | "occurrences"> {
  /** Occurrences; of one that the range cuts the part within it, since as much of its work counts. */
  readonly done: Float64Array;
}

/** Totals per row of `hlo_ops` from those of its units; a step, where the scope is of whole steps. */
export function hloTotals(
  meta: TraceMeta,
  tables: (name: string) => Table | undefined,
  nHlos: number,
  scope: Scope,
): Totals {
  const units = tables("hlo_units") ?? EMPTY_TABLE;
  const row = numbers(units, "hlo");
  const totals = unitTotals({ ...meta, n_units: units.n }, tables, scope);
  const isWhole = scope === null || scope === STEADY;
  const done = isWhole ? totals.occurrences : doneParts(tables("occurrences") ?? EMPTY_TABLE, units.n, scope);
  const sums = {
    totalPs: new Float64Array(nHlos),
    selfPs: new Float64Array(nHlos),
    occurrences: new Float64Array(nHlos),
    done: new Float64Array(nHlos),
  };
  for (let unit = 0; unit < units.n; unit++) {
    if (row[unit] < 0) continue;
    sums.totalPs[row[unit]] += totals.totalPs[unit];
    sums.selfPs[row[unit]] += Math.max(0, totals.selfPs[unit]);
    sums.occurrences[row[unit]] += totals.occurrences[unit];
    sums.done[row[unit]] += done[unit];
  }
  const nSteps = stepsOfScope(tables("steps"), scope) ?? 1;
  return { ...dividedTotals(sums, nSteps), done: sums.done.map((n) => n / nSteps) };
}

/** Occurrences per unit, of each the part within the range. */
function doneParts(occurrences: Table, nUnits: number, range: RangePs): Float64Array {
  const done = new Float64Array(nUnits);
  const [op, start, duration] = columns(occurrences, "op", "start_ps", "duration_ps");
  for (let i = 0; i < occurrences.n; i++) {
    if (!isInRange(start[i], duration[i], range)) continue;
    done[op[i]] += duration[i] > 0 ? overlapPs(start[i], duration[i], range) / duration[i] : 1;
  }
  return done;
}

/** The HLO ops that ran, or their groups, most self time first. */
export function hloRows(hlos: readonly HloOp[], totals: Totals, grouping: Grouping | "family"): HloRow[] {
  const groups = new Map<string, number[]>();
  hlos.forEach((hlo, i) => {
    if (totals.occurrences[i] === 0) return;
    const key = grouping === "op" ? `op:${i}` : String(hlo[grouping]);
    const group = groups.get(key);
    if (group) group.push(i);
    else groups.set(key, [i]);
  });
  const sum = (rows: readonly number[], value: (i: number) => number) => rows.reduce((total, i) => total + value(i), 0);
  const drafts = [...groups].map(([key, rows]) => {
    const totalPs = sum(rows, (i) => totals.totalPs[i]);
    // What of a group is unknown would make its rate too low: it has none.
    const work = (of: "flops" | "bytes_accessed") => sum(rows, (i) => (hlos[i][of] ?? Number.NaN) * totals.done[i]);
    return {
      ...{ key, hlos: rows, meta: hlos[rows[0]], totalPs },
      occurrences: sum(rows, (i) => totals.occurrences[i]),
      selfPs: sum(rows, (i) => totals.selfPs[i]),
      gflops: totalPs > 0 ? (work("flops") / totalPs) * 1e3 : Number.NaN,
      gibps: totalPs > 0 ? (work("bytes_accessed") / totalPs) * (1e12 / 2 ** 30) : Number.NaN,
    };
  });
  drafts.sort((a, b) => b.selfPs - a.selfPs || a.hlos[0] - b.hlos[0]);
  const whole = drafts.reduce((total, row) => total + row.selfPs, 0);
  return drafts.map((row, i) => ({ ...row, rank: i + 1, ratio: whole > 0 ? row.selfPs / whole : 0 }));
}

/** Each HLO op with the name of its program: its module, with the id where several programs have modules of that name. */
export function withPrograms(hlos: readonly HloMeta[]): HloOp[] {
  const ids = new Map<string, Set<string>>();
  for (const { module, program_id } of hlos) ids.set(module, (ids.get(module) ?? new Set()).add(program_id));
  return hlos.map((hlo) => {
    const isAlone = (ids.get(hlo.module)?.size ?? 0) < 2;
    const name = hlo.module || "program";
    return { ...hlo, program: isAlone ? name : `${name} (${hlo.program_id})` };
  });
}

/** A framework op that an HLO op stands for, and in which proportion. */
export type OpShare = readonly [op: number, ratio: number];

/** For each row of `hlo_ops` the framework ops that it stands for, largest share first. */
export function opsOfHlos(tables: (name: string) => Table | undefined, nHlos: number): readonly (readonly OpShare[])[] {
  const row = numbers(tables("hlo_units") ?? EMPTY_TABLE, "hlo");
  const shares = tables("op_shares") ?? EMPTY_TABLE;
  const [unit, op, ratio] = [numbers(shares, "unit"), numbers(shares, "op"), numbers(shares, "ratio")];
  const found: OpShare[][] = Array.from({ length: nHlos }, () => []);
  for (let i = 0; i < shares.n; i++) if (row[unit[i]] >= 0) found[row[unit[i]]].push([op[i], ratio[i]]);
  return found.map((list) => list.sort((a, b) => b[1] - a[1]));
}
