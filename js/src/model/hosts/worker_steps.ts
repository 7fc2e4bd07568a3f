/** The table `worker_steps` -> one row per host for a step or for the mean of several. */

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

/** How many steps the hosts have in common. */
export function alignedSteps(table: Table): number {
  let n = 0;
  for (const step of numbers(table, "step")) n = Math.max(n, step + 1);
  return n;
}

/** Mean of the aligned steps `chosen`, host by host. */
export function workerRows(
  table: Table,
  categories: readonly string[],
  nHosts: number,
  chosen: ReadonlySet<number>,
): WorkerRow[] {
  const [host, step, time] = ["host", "step", "step_time_ms"].map((name) => numbers(table, name));
  const columns = categories.map((category) => numbers(table, `${category}_ms`));
  const count = new Float64Array(nHosts);
  const sum = new Float64Array(nHosts);
  const parts = Array.from({ length: nHosts }, () => categories.map(() => 0));
  for (let i = 0; i < table.n; i++) {
    if (!chosen.has(step[i])) continue;
    count[host[i]] += 1;
    sum[host[i]] += time[i];
    for (let c = 0; c < columns.length; c++) parts[host[i]][c] += columns[c][i];
  }
  const hosts = [...count.keys()].filter((i) => count[i] > 0);
  const means = hosts.map((i) => sum[i] / count[i]);
  const fastest = means.reduce((least, mean) => Math.min(least, mean), Number.POSITIVE_INFINITY);
  const communication = categories.indexOf(COMMUNICATION);
  return hosts.map((i, k) => {
    const own = parts[i].map((ms) => ms / count[i]);
    const most = Math.max(...own);
    const bottleneck = most > 0 ? own.indexOf(most) : -1;
    const ownMs = Math.max(0, means[k] - (own[communication] ?? 0));
    return { host: i, stepTimeMs: means[k], ownMs, parts: own, bottleneck, behindMs: means[k] - fastest };
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

/** Rows of the `steps` table that an aligned step is on the hosts. */
export function rowsOf(table: Table, aligned: number): number[] {
  const [step, row] = ["step", "row"].map((name) => numbers(table, name));
  const found: number[] = [];
  for (let i = 0; i < table.n; i++) if (step[i] === aligned) found.push(row[i]);
  return found;
}

/** The row of the `steps` table that an aligned step is on one host, -1 for none. */
export function rowOn(table: Table, aligned: number, onHost: number): number {
  const [host, step, row] = ["host", "step", "row"].map((name) => numbers(table, name));
  for (let i = 0; i < table.n; i++) if (step[i] === aligned && host[i] === onHost) return row[i];
  return -1;
}

/** Aligned steps that count as usual on every host; all of them where none does. */
export function usualSteps(table: Table, isAveraged: ArrayLike<number>): Set<number> {
  const [step, row] = ["step", "row"].map((name) => numbers(table, name));
  const all = new Set<number>(step);
  const usual = new Set(all);
  for (let i = 0; i < table.n; i++) if (!isAveraged[row[i]]) usual.delete(step[i]);
  return usual.size > 0 ? usual : all;
}
