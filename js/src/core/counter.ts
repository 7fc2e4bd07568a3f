/** Turns the `memory` table into one counter, bytes in use over time, that a frame can read per pixel column. */
import { lowerBound, upperBound } from "./bisect";
import type { TraceMeta } from "./meta";
import type { Table } from "./wire";

const BLOCK = 64;

export interface Counter {
  readonly name: string;
  readonly time: Float64Array;
  readonly value: Float64Array;
  readonly max: number;
  /** Extremes of each block of 64 values, so that a column over many events costs few looks. */
  readonly blockMin: Float64Array;
  readonly blockMax: Float64Array;
}

/** Bytes in use of the allocator with the most events; null when no memory was recorded. */
export function busiestAllocator(memory: Table | undefined, meta: TraceMeta): Counter | null {
  const { allocator, time_ps: time, in_use_bytes: value } = memory?.columns ?? {};
  if (!memory || memory.n === 0 || !(time instanceof Float64Array) || !(value instanceof Float64Array)) return null;
  const ids = allocator as Uint8Array;
  let best = { id: 0, low: 0, high: 0 };
  for (let low = 0; low < memory.n; ) {
    const high = upperBound(ids, ids[low], low);
    if (high - low > best.high - best.low) best = { id: ids[low], low, high };
    low = high;
  }
  return newCounter(
    meta.allocators[best.id] ?? "memory",
    time.subarray(best.low, best.high),
    value.subarray(best.low, best.high),
  );
}

export function newCounter(name: string, time: Float64Array, value: Float64Array): Counter {
  const nBlocks = Math.ceil(value.length / BLOCK);
  const blockMin = new Float64Array(nBlocks).fill(Number.POSITIVE_INFINITY);
  const blockMax = new Float64Array(nBlocks);
  for (let i = 0; i < value.length; i++) {
    const block = Math.floor(i / BLOCK);
    blockMin[block] = Math.min(blockMin[block], value[i]);
    blockMax[block] = Math.max(blockMax[block], value[i]);
  }
  return { name, time, value, max: blockMax.reduce((a, b) => Math.max(a, b), 0), blockMin, blockMax };
}

/** Smallest or largest value that the counter has in [t0, t1): what it had before counts as well. */
export function extremeInSpan(counter: Counter, which: "min" | "max", t0: number, t1: number): number {
  const { time, value } = counter;
  const from = Math.max(0, upperBound(time, t0) - 1);
  const to = lowerBound(time, t1, from);
  // Before its first event nothing is known; the first value stands for what came before.
  if (to <= from) return value[Math.min(from, value.length - 1)] ?? 0;
  const better = which === "min" ? Math.min : Math.max;
  const blocks = which === "min" ? counter.blockMin : counter.blockMax;
  let best = value[from];
  for (let i = from + 1; i < to; ) {
    const isWholeBlock = i % BLOCK === 0 && i + BLOCK <= to;
    best = better(best, isWholeBlock ? blocks[i / BLOCK] : value[i]);
    i += isWholeBlock ? BLOCK : 1;
  }
  return best;
}
