/** The times of ops, of XLA's and of the framework's -> the columns that their tables share, on the screen and in a CSV file. */

import type { CsvColumns } from "../model/text/csv";
import { perStep } from "../model/time/scope";
import { msBarColumn, numberColumn } from "./cells";
import type { GridColumn } from "./grid_column";

/** Times in ps, over so many executions. */
export interface OpTimes {
  readonly occurrences: number;
  readonly totalPs: number;
  readonly selfPs: number;
}

function eachUs({ occurrences }: OpTimes, ps: number): number {
  return occurrences > 0 ? ps / occurrences / 1e6 : 0;
}

export function selfColumn<R extends OpTimes>(
  width: number,
  narrowWidth: number,
  color: (row: R) => string,
): GridColumn<R> {
  const tip = "Time in the op itself, without the ops inside it";
  const head = { id: "self", title: "Self time, ms", tip, width, narrowWidth };
  return msBarColumn(head, ({ selfPs }) => selfPs, color);
}

/** Their heads, and that of the count, for the scope shown. */
export function timeTitles(nSteps: number | null): Readonly<Record<string, string>> {
  return { self: perStep("Self time, ms", nSteps), count: perStep("Count", nSteps) };
}

export function totalColumn<R extends OpTimes>(shownFrom = 0): GridColumn<R> {
  const tip = "Time from start to end, with the ops inside it";
  return numberColumn({ id: "total", title: "Total, ms", tip, width: 74, shownFrom }, ({ totalPs }) => totalPs / 1e9);
}

export function averageColumn<R extends OpTimes>(tip: string): GridColumn<R> {
  return numberColumn({ id: "average", title: "Average, µs", tip, width: 84 }, (row) => eachUs(row, row.totalPs));
}

/** As Python's tables have them. */
export const TIMES_CSV: CsvColumns<OpTimes> = {
  occurrences: (row) => row.occurrences,
  total_time_us: (row) => row.totalPs / 1e6,
  avg_time_us: (row) => eachUs(row, row.totalPs),
  total_self_time_us: (row) => row.selfPs / 1e6,
  avg_self_time_us: (row) => eachUs(row, row.selfPs),
};
