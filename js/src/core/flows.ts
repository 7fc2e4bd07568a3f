/**
 * Turns the ids in events' stats into arrows: which event made another one start.
 *
 * A host call and the kernel it launched share a `correlation_id`; a producer's `_p` is its consumer's `_c`, of the same
 * type `_pt` = `_ct`. Looked up by one pass over the stats when an event is chosen: no index to build or keep.
 */
import { upperBound } from "./bisect";
import type { Events } from "./events";
import type { TraceMeta } from "./meta";
import type { Table } from "./wire";

export interface Flows {
  /** Events that made the event start, and those that it made start; in the order of time. */
  readonly from: readonly number[];
  readonly to: readonly number[];
}

export const NO_FLOWS: Flows = { from: [], to: [] };
/** One call may wake a whole pool; more arrows than this say nothing. */
const MAX_PARTNERS = 16;

/** Ids are only unique within one session of one host. */
export function flowsOf(meta: TraceMeta, stats: Table | undefined, events: Events, event: number): Flows {
  const { key, bits } = stats?.columns ?? {};
  if (!stats || !key || !(bits instanceof BigUint64Array)) return NO_FLOWS;
  const lookup = new Lookup(meta, key as ArrayLike<number>, bits, events, stats.n);
  const same = lookup.partners(event, "correlation_id", "correlation_id", null);
  const isLater = (other: number) => events.start[other] >= events.start[event];
  const from = [...same.filter((other) => !isLater(other)), ...lookup.partners(event, "_c", "_p", ["_ct", "_pt"])];
  const to = [...same.filter(isLater), ...lookup.partners(event, "_p", "_c", ["_pt", "_ct"])];
  const inTime = (list: number[]) => list.sort((a, b) => events.start[a] - events.start[b]).slice(0, MAX_PARTNERS);
  return { from: inTime(from), to: inTime(to) };
}

class Lookup {
  /** Two 32-bit halves per value: comparing them makes no BigInt per row. */
  readonly #halves: Uint32Array;

  constructor(
    readonly meta: TraceMeta,
    readonly key: ArrayLike<number>,
    bits: BigUint64Array,
    readonly events: Events,
    readonly n: number,
  ) {
    this.#halves = new Uint32Array(bits.buffer, bits.byteOffset, bits.length * 2);
  }

  /** Other events of the session whose stat `theirs` equals this event's `own`, and likewise for the types. */
  partners(event: number, own: string, theirs: string, types: readonly [string, string] | null): number[] {
    const row = this.#statOf(event, own);
    const theirKey = this.meta.names.indexOf(theirs);
    if (row < 0 || theirKey < 0) return [];
    const low = this.#halves[2 * row];
    const high = this.#halves[2 * row + 1];
    const found: number[] = [];
    for (let r = 0; r < this.n && found.length < MAX_PARTNERS; r++) {
      if (this.#halves[2 * r] !== low || this.#halves[2 * r + 1] !== high || this.key[r] !== theirKey) continue;
      const other = upperBound(this.events.statOffset, r) - 1;
      if (other === event || this.#session(other) !== this.#session(event)) continue;
      if (!types || this.#isSame(event, types[0], other, types[1])) found.push(other);
    }
    return found;
  }

  #isSame(a: number, keyOfA: string, b: number, keyOfB: string): boolean {
    const [rowA, rowB] = [this.#statOf(a, keyOfA), this.#statOf(b, keyOfB)];
    if (rowA < 0 || rowB < 0) return rowA === rowB;
    const half = this.#halves;
    return half[2 * rowA] === half[2 * rowB] && half[2 * rowA + 1] === half[2 * rowB + 1];
  }

  /** Row of an event's stat, -1 without it. */
  #statOf(event: number, name: string): number {
    const id = this.meta.names.indexOf(name);
    const stop = Math.min(this.n, this.events.statOffset[event + 1]);
    for (let r = this.events.statOffset[event]; r < stop; r++) if (this.key[r] === id) return r;
    return -1;
  }

  #session(event: number): number {
    const { sessions, planes, lines } = this.meta;
    const host = planes[lines[this.events.line[event]].plane].host;
    const start = this.events.start[event];
    return sessions.findIndex((s) => s.host === host && start >= s.start_ps && start <= s.stop_ps);
  }
}
