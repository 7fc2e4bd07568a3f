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
  /** Maximum of each block of 64 values, so that a column over many events costs few looks. */
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
  const blockMax = new Float64Array(Math.ceil(value.length / BLOCK));
  for (let i = 0; i < value.length; i++) {
    const block = Math.floor(i / BLOCK);
    if (value[i] > blockMax[block]) blockMax[block] = value[i];
  }
  return { name, time, value, max: blockMax.reduce((a, b) => Math.max(a, b), 0), blockMax };
}

/** Largest value that the counter has in [t0, t1): what it had before counts as well. */
export function maxInSpan(counter: Counter, t0: number, t1: number): number {
  const from = Math.max(0, upperBound(counter.time, t0) - 1);
  const to = lowerBound(counter.time, t1, from);
  // Before its first event nothing is known; the first value stands for what came before.
  if (to <= from) return counter.value[Math.min(from, counter.value.length - 1)] ?? 0;
  return maxOf(counter, from, to);
}

function maxOf(counter: Counter, from: number, to: number): number {
  let best = 0;
  let i = from;
  while (i < to) {
    if (i % BLOCK === 0 && i + BLOCK <= to) {
      best = Math.max(best, counter.blockMax[i / BLOCK]);
      i += BLOCK;
    } else {
      best = Math.max(best, counter.value[i]);
      i += 1;
    }
  }
  return best;
}
