/** Arrows between events: what made an event start, what it made start, and so on in both directions. */

import { type Events, parentOf, subtreeOf } from "../data/events";

/** In the order of the numbers in the tables of flows; `Profile.flows` says what each is. */
export const FLOW_KINDS = ["launch", "producer", "pool", "tf_data", "send_recv"] as const;
export const FLOW_LABELS = ["kernel launch", "runtime hand-over", "thread pool", "tf.data element", "send / receive"];
export const FLOW_SHORT = ["launch", "runtime", "pool", "tf.data", "send/recv"];

export interface Arrow {
  readonly from: number;
  readonly to: number;
  readonly kind: number;
  /** How many hops from the event that was asked about; 1 next to it. */
  readonly hop: number;
}

export interface Chain {
  readonly arrows: readonly Arrow[];
  /** Arrows that the limit left out, at least. */
  readonly nMore: number;
  /** Ends that have not arrived, which nothing can be said of. */
  readonly nAbsent: number;
}

export const NO_CHAIN: Chain = { arrows: [], nMore: 0, nAbsent: 0 };

export type Direction = "up" | "down";

const MAX_INSIDE = 256;
const MAX_FROM_INSIDE = 12;

/**
 * The arrows next to an event of the kinds that are shown, in the order of time.
 *
 * Up: those of the nearest event around it that has any, as a slice is run when what is around it is. Down: its own and
 * a few of the events inside it, as a launch is inside the op that launches.
 */
export function arrowsAt(events: Events, position: number, direction: Direction, shown: ArrayLike<number>): Arrow[] {
  const found = direction === "up" ? arrowsUp(events, position, shown) : arrowsDown(events, position, shown);
  const end = direction === "up" ? ({ from }: Arrow) => from : ({ to }: Arrow) => to;
  const time = (arrow: Arrow) => (events.has(end(arrow)) ? events.start[end(arrow)] : Number.POSITIVE_INFINITY);
  return found.sort((a, b) => time(a) - time(b) || end(a) - end(b));
}

function arrowsUp(events: Events, position: number, shown: ArrayLike<number>): Arrow[] {
  for (let at = position; at >= 0; at = parentOf(events, at)) {
    const flows = events.flowsTo(at).filter(({ kind }) => shown[kind]);
    if (flows.length > 0) return flows.map(({ other, kind }) => ({ from: other, to: at, kind, hop: 1 }));
  }
  return [];
}

function arrowsDown(events: Events, position: number, shown: ArrayLike<number>): Arrow[] {
  const arrowsOf = (from: number) =>
    events.flowsFrom(from).flatMap(({ other, kind }) => (shown[kind] ? [{ from, to: other, kind, hop: 1 }] : []));
  const own = arrowsOf(position);
  const inside: Arrow[] = [];
  let looked = 0;
  for (const { low, high } of subtreeOf(events, position)) {
    for (let p = low; p < high && looked < MAX_INSIDE && inside.length < MAX_FROM_INSIDE; p++, looked++) {
      if (p !== position) inside.push(...arrowsOf(p));
    }
  }
  return [...own, ...inside.slice(0, MAX_FROM_INSIDE)];
}

export function chainOf(events: Events, position: number, shown: ArrayLike<number>, most: number): Chain {
  const up = walk(events, position, "up", shown, most);
  const down = walk(events, position, "down", shown, most);
  const arrows = [...up.arrows, ...down.arrows];
  return { arrows, nMore: up.nMore + down.nMore, nAbsent: up.nAbsent + down.nAbsent };
}

function walk(events: Events, from: number, direction: Direction, shown: ArrayLike<number>, most: number): Chain {
  const arrows: Arrow[] = [];
  const seen = new Set([from]);
  const drawn = new Set<string>();
  let front = [from];
  let [nMore, nAbsent] = [0, 0];
  for (let hop = 1; front.length > 0 && nMore === 0; hop++) {
    const next: number[] = [];
    for (const position of front) {
      for (const arrow of arrowsAt(events, position, direction, shown)) {
        const key = `${arrow.from}>${arrow.to}`;
        const end = direction === "up" ? arrow.from : arrow.to;
        if (drawn.has(key)) continue;
        drawn.add(key);
        if (!events.has(end)) nAbsent += 1;
        else if (arrows.length === most) nMore += 1;
        else {
          arrows.push({ ...arrow, hop });
          if (!seen.has(end)) next.push(end);
          seen.add(end);
        }
      }
    }
    front = next;
  }
  return { arrows, nMore, nAbsent };
}

/** Where a key leads from an event: the first one that made it start, or the first that it made start; -1 for nowhere. */
export function follow(events: Events, position: number, direction: Direction, shown: ArrayLike<number>): number {
  for (const { from, to } of arrowsAt(events, position, direction, shown)) {
    const end = direction === "up" ? from : to;
    if (events.has(end)) return end;
  }
  return -1;
}
