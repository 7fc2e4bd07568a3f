/** Turns the `memory` table into one counter, bytes in use over time, that a frame can read per pixel column. */
import { lowerBound, upperBound } from "./bisect";
import { numbers } from "./column";
import type { TraceMeta } from "./meta";
import type { Table } from "./wire";

const BLOCK = 64;

export interface Counter {
  readonly name: string;
  readonly time: Float64Array;
  readonly value: Float64Array;
  /** What was in use before the first event. */
  readonly before: number;
  readonly max: number;
  /** Extremes of each block of 64 values, so that a column over many events costs few looks. */
  readonly blockMin: Float64Array;
  readonly blockMax: Float64Array;
}

/** Bytes in use of the allocator with the highest peak, as in the memory view; null when no memory was recorded. */
export function fullestAllocator(memory: Table | undefined, meta: TraceMeta): Counter | null {
  const { time_ps: time, in_use_bytes: value } = memory?.columns ?? {};
  if (!memory || memory.n === 0 || !(time instanceof Float64Array) || !(value instanceof Float64Array)) return null;
  const [ids, isFree, bytes] = ["allocator", "is_free", "allocation_bytes"].map((name) => numbers(memory, name));
  let best: Counter | null = null;
  for (let low = 0; low < memory.n; ) {
    const high = upperBound(ids, ids[low], low);
    const name = meta.allocators[ids[low]] ?? "memory";
    // The first event reports the state after it, so it is undone.
    const before = value[low] + (isFree[low] ? bytes[low] : -bytes[low]);
    const counter = newCounter(name, time.subarray(low, high), value.subarray(low, high), before);
    if (best === null || counter.max > best.max) best = counter;
    low = high;
  }
  return best;
}

export function newCounter(name: string, time: Float64Array, value: Float64Array, before: number): Counter {
  const nBlocks = Math.ceil(value.length / BLOCK);
  const blockMin = new Float64Array(nBlocks).fill(Number.POSITIVE_INFINITY);
  const blockMax = new Float64Array(nBlocks);
  for (let i = 0; i < value.length; i++) {
    const block = Math.floor(i / BLOCK);
    blockMin[block] = Math.min(blockMin[block], value[i]);
    blockMax[block] = Math.max(blockMax[block], value[i]);
  }
  return { name, time, value, before, max: blockMax.reduce((a, b) => Math.max(a, b), 0), blockMin, blockMax };
}

/** Smallest or largest value that the counter has in [t0, t1): what it had before counts as well. */
export function extremeInSpan(counter: Counter, which: "min" | "max", t0: number, t1: number): number {
  const { time, value } = counter;
  const from = Math.max(0, upperBound(time, t0) - 1);
  const to = lowerBound(time, t1, from);
  if (to <= from) return counter.before;
  const better = which === "min" ? Math.min : Math.max;
  const blocks = which === "min" ? counter.blockMin : counter.blockMax;
  let best = time[from] > t0 ? better(counter.before, value[from]) : value[from];
  for (let i = from + 1; i < to; ) {
    const isWholeBlock = i % BLOCK === 0 && i + BLOCK <= to;
    best = better(best, isWholeBlock ? blocks[i / BLOCK] : value[i]);
    i += isWholeBlock ? BLOCK : 1;
  }
  return best;
}
