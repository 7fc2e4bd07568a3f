/**
 * The table `worker_steps` -> one row per host for a step or for the mean of several.
 *
 * Each aligned step is there on each host: the table goes by step, then host.
 */

import { numbers } from "../wire/column";
import type { Table } from "../wire/wire";

const SLACK_PS = 1000;

/** Time in which a host may only wait for the others: what is left of a step without it is the host's own time. */
export const COMMUNICATION = "device_collectives";

export interface WorkerRow {
  readonly host: number;
  readonly stepTimeMs: number;
  /** Step time without communication: in a synchronous training only this tells hosts apart. */
  readonly ownMs: number;
  /** Ms per category, in the order asked for. */
  readonly parts: readonly number[];
  /** The category with the most time; -1 where all are 0. */
  readonly bottleneck: number;
  /** Over the fastest host's step time. */
  readonly behindMs: number;
}

/** Mean of the aligned steps `chosen`, host by host; nothing without a step. */
export function workerRows(
  table: Table,
  categories: readonly string[],
  nHosts: number,
  chosen: ReadonlySet<number>,
): WorkerRow[] {
  if (chosen.size === 0) return [];
  const meanOf = (column: string) => {
    const values = numbers(table, column);
    const sums = new Float64Array(nHosts);
    for (const step of chosen) for (let host = 0; host < nHosts; host++) sums[host] += values[step * nHosts + host];
    return sums.map((sum) => sum / chosen.size);
  };
  const means = meanOf("step_time_ms");
  const columns = categories.map((category) => meanOf(`${category}_ms`));
  const fastest = means.reduce((least, mean) => Math.min(least, mean), Number.POSITIVE_INFINITY);
  const communication = categories.indexOf(COMMUNICATION);
  return Array.from(means, (stepTimeMs, host) => {
    const parts = columns.map((column) => column[host]);
    const most = Math.max(...parts);
    const bottleneck = most > 0 ? parts.indexOf(most) : -1;
    const ownMs = Math.max(0, stepTimeMs - (parts[communication] ?? 0));
    return { host, stepTimeMs, ownMs, parts, bottleneck, behindMs: stepTimeMs - fastest };
  });
}

/** Each row's step time without communication. */
export function ownTimes(table: Table): Float64Array {
  const time = numbers(table, "step_time_ms");
  const communication = table.columns[`${COMMUNICATION}_ms`] as Float64Array | undefined;
  return Float64Array.from(time, (ms, i) => Math.max(0, ms - (communication?.[i] ?? 0)));
}

/** The aligned step that a row of the `steps` table is part of, -1 for one that the alignment left out. */
export function alignedOf(table: Table, stepRow: number): number {
  const at = numbers(table, "row").indexOf(stepRow);
  return at < 0 ? -1 : numbers(table, "step")[at];
}

/** Aligned steps that lie within a range (ps) on at least one host, of which the middle does on all. */
export function alignedIn(table: Table, steps: Table, range: readonly [number, number]): Set<number> {
  const [step, row] = ["step", "row"].map((name) => numbers(table, name));
  const start = numbers(steps, "start_ps");
  const duration = numbers(steps, "duration_ps");
  const [whole, outside] = [new Set<number>(), new Set<number>()];
  for (let i = 0; i < table.n; i++) {
    const [from, length] = [start[row[i]], duration[row[i]]];
    // The link rounds to ns.
    if (from >= range[0] - SLACK_PS && from + length <= range[1] + SLACK_PS) whole.add(step[i]);
    const middle = from + length / 2;
    if (middle < range[0] || middle >= range[1]) outside.add(step[i]);
  }
  for (const one of outside) whole.delete(one);
  return whole;
}

/** By host the row of the `steps` table that an aligned step is there. */
export function rowsOf(table: Table, aligned: number, nHosts: number): number[] {
  return [...numbers(table, "row").subarray(aligned * nHosts, (aligned + 1) * nHosts)];
}

/** Aligned steps that count as usual on every host; all of them where none does. */
export function usualSteps(table: Table, isAveraged: ArrayLike<number>): Set<number> {
  const [step, row] = ["step", "row"].map((name) => numbers(table, name));
  const all = new Set<number>(step);
  const usual = new Set(all);
  for (let i = 0; i < table.n; i++) if (!isAveraged[row[i]]) usual.delete(step[i]);
  return usual.size > 0 ? usual : all;
}
