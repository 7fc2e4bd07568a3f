/** Steps that count, and numbers of them -> mean, deviation, median. */

import { columns } from "../wire/column";
import type { Table } from "../wire/wire";
import type { RangePs } from "./viewport";

/** Slack for a range that was rounded to ns on its way through the link. */
const SLACK_PS = 2000;

export interface Statistics {
  readonly n: number;
  readonly avg: number;
  /** Of a sample (n - 1), as in the overview; 0 for fewer than two. */
  readonly sd: number;
  readonly min: number;
  readonly max: number;
}

export function statisticsOf(values: readonly number[]): Statistics {
  const n = values.length;
  const avg = values.reduce((sum, value) => sum + value, 0) / n;
  const squares = values.reduce((sum, value) => sum + (value - avg) ** 2, 0);
  return {
    n,
    avg,
    sd: n > 1 ? Math.sqrt(squares / (n - 1)) : 0,
    min: values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    max: values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
  };
}

/** 0 of nothing. */
export function median(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return 0;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Rows of the steps that lie in the range and count as usual; where none does, of all that lie in it. */
export function countedSteps(steps: Table, range: RangePs): number[] {
  const [start, duration, isAveraged] = columns(steps, "start_ps", "duration_ps", "is_averaged");
  const inside: number[] = [];
  for (let i = 0; i < steps.n; i++) {
    const isIn = range === null || (start[i] >= range[0] - SLACK_PS && start[i] + duration[i] <= range[1] + SLACK_PS);
    if (isIn) inside.push(i);
  }
  const usual = inside.filter((i) => isAveraged[i]);
  return usual.length > 0 ? usual : inside;
}
