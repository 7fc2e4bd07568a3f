/** Memory events of an allocator -> the allocations that lived longest or are largest, each with how long it lived. */

import type { RangePs } from "../time/viewport";
import { type MemoryEvents, rowsIn } from "./memory";

export interface Lifetimes {
  /** Rows of allocations: those that lived longest (not given back counts as longest), and the largest; no row twice. */
  readonly rows: Int32Array;
  /** Allocations in the range, of which `rows` are some. */
  readonly nAllocations: number;
}

/** ps from the allocation at `row` until it is given back; Infinity where that is not in its session. */
export function lifetimePs(events: MemoryEvents, row: number): number {
  const freedAt = events.freedAt[row];
  return freedAt < 0 ? Number.POSITIVE_INFINITY : events.time[freedAt] - events.time[row];
}

/** Of the allocations made in the range the `limit` longest-lived and the `limit` largest. */
export function topLifetimes(events: MemoryEvents, range: RangePs, limit: number): Lifetimes {
  const [from, to] = rowsIn(events, range);
  const all: number[] = [];
  for (let i = from; i < to; i++) if (!events.isFree[i]) all.push(i);
  const bytes = (row: number) => events.allocated[row];
  const life = (row: number) => lifetimePs(events, row);
  const byLife = (a: number, b: number) => compare(life(b), life(a)) || bytes(b) - bytes(a) || a - b;
  const bySize = (a: number, b: number) => bytes(b) - bytes(a) || compare(life(b), life(a)) || a - b;
  if (all.length <= limit) return { rows: Int32Array.from(all.sort(byLife)), nAllocations: all.length };
  const longest = [...all].sort(byLife).slice(0, limit);
  const largest = all.sort(bySize).slice(0, limit);
  return { rows: Int32Array.from(new Set([...longest, ...largest])), nAllocations: all.length };
}

/** Infinity minus Infinity is no number. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
