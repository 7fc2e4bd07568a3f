/** Turns what the reader typed into the names it matches, and walks the matching events in the order of time. */
import { lowerBoundIn } from "./bisect";
import type { Events, Postings } from "./events";

export interface Query {
  readonly text: string;
  readonly isRegex: boolean;
}

/** One flag per name id. Throws a SyntaxError for a regular expression that is none. */
export function matchNames(names: readonly string[], query: Query): Uint8Array {
  const flags = new Uint8Array(names.length);
  if (query.text === "") return flags;
  if (query.isRegex) {
    const pattern = new RegExp(query.text, "i");
    for (let k = 0; k < names.length; k++) if (pattern.test(names[k])) flags[k] = 1;
    return flags;
  }
  const text = query.text.toLowerCase();
  for (let k = 0; k < names.length; k++) if (names[k].toLowerCase().includes(text)) flags[k] = 1;
  return flags;
}

/** Ids whose flag is set. */
export function flagged(flags: Uint8Array): Int32Array {
  const ids: number[] = [];
  for (let k = flags.indexOf(1); k >= 0; k = flags.indexOf(1, k + 1)) ids.push(k);
  return Int32Array.from(ids);
}

/** Events of some ids in the order of time (by line where two start together). */
export function eventsByTime(events: Events, postings: Postings, ids: ArrayLike<number>): Uint32Array {
  let n = 0;
  for (let k = 0; k < ids.length; k++) n += postings.offset[ids[k] + 1] - postings.offset[ids[k]];
  const found = new Uint32Array(n);
  let at = 0;
  for (let k = 0; k < ids.length; k++) {
    const part = postings.order.subarray(postings.offset[ids[k]], postings.offset[ids[k] + 1]);
    found.set(part, at);
    at += part.length;
  }
  return found.sort((a, b) => events.start[a] - events.start[b] || a - b);
}

/** Place of the event after (1) or before (-1) event `from` among events in the order of time; wraps around. */
export function neighbour(
  events: Events,
  ordered: Uint32Array,
  from: number,
  direction: 1 | -1,
  /** Where to begin when `from` is -1 (none). */
  time = 0,
): number {
  if (ordered.length === 0) return -1;
  const own = from < 0 ? -1 : ordered.indexOf(from);
  if (own >= 0) return (own + direction + ordered.length) % ordered.length;
  return nearestPlace(events, ordered, from < 0 ? time : events.start[from], direction);
}

/** First place at or after `time` (direction 1) or the last before it (-1); wraps around. */
function nearestPlace(events: Events, ordered: Uint32Array, time: number, direction: 1 | -1): number {
  const low = lowerBoundIn(events.start, ordered, time, 0, ordered.length);
  const place = direction === 1 ? low : low - 1;
  return (place + ordered.length) % ordered.length;
}
