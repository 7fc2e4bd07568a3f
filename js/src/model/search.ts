/**
 * Events that a search or a selection marks: which names match, and whether any stretch of a row holds one.
 *
 * One bit per event, and how many are set before every block of them. Tiles are marked one by one as they arrive, with a
 * clock to stop at, so that no frame waits for it.
 */

import { lowerBound, type Span, upperBound } from "../data/columns";
import type { Events, Run } from "../data/events";

export interface Query {
  readonly text: string;
  readonly isRegex: boolean;
  /** Names must be the text as a whole. */
  readonly isWhole?: boolean;
}

export const NO_QUERY: Query = { text: "", isRegex: false };

/** One flag per name id. Throws a SyntaxError for a regular expression that is none. */
export function matchNames(names: readonly string[], query: Query): Uint8Array {
  const flags = new Uint8Array(names.length);
  if (query.text === "") return flags;
  if (query.isRegex) {
    const pattern = new RegExp(query.text, "i");
    for (let k = 0; k < names.length; k++) if (pattern.test(names[k])) flags[k] = 1;
    return flags;
  }
  if (query.isWhole) {
    for (let k = 0; k < names.length; k++) if (names[k] === query.text) flags[k] = 1;
    return flags;
  }
  const text = query.text.toLowerCase();
  for (let k = 0; k < names.length; k++) if (names[k].toLowerCase().includes(text)) flags[k] = 1;
  return flags;
}

export function flagged(flags: Uint8Array): Int32Array {
  const ids: number[] = [];
  for (let k = flags.indexOf(1); k >= 0; k = flags.indexOf(1, k + 1)) ids.push(k);
  return Int32Array.from(ids);
}

/** Sum of the counts of flagged names: how many events of the whole capture match, here or not. */
export function countFlagged(flags: Uint8Array, counts: ArrayLike<number>): number {
  let n = 0;
  for (let k = 0; k < flags.length; k++) if (flags[k] === 1) n += counts[k] ?? 0;
  return n;
}

/** A place in the order of time: events that start together follow each other by position. */
type Moment = Readonly<Record<"time" | "position", number>>;

/** The next (1) or previous (-1) marked event after a moment, in the order of time over all rows; wraps around; -1 for none. */
export function nextMarked(events: Events, marks: Marks, from: Moment, direction: 1 | -1): number {
  const { runs } = events;
  const start = Math.min(runs.length - 1, events.runAt(from.time));
  // The run of the moment comes once more at the end, for what lies on the other side of the moment.
  for (let k = 0; k <= runs.length; k++) {
    const run = runs[(((start + direction * k) % runs.length) + runs.length) % runs.length];
    const edge = direction === 1 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    const found = firstOfRun(marks, run, k === 0 ? from : { time: edge, position: -1 }, direction);
    if (found >= 0) return found;
  }
  return -1;
}

function firstOfRun(marks: Marks, run: Run, from: Moment, direction: 1 | -1): number {
  let best = -1;
  let bestTime = direction * Number.POSITIVE_INFINITY;
  for (let row = 0; row < run.low.length; row++) {
    if (run.high[row] === run.low[row]) continue;
    const [low, high] = direction === 1 ? after(run, row, from, bestTime) : before(run, row, from, bestTime);
    const index = markedIndex(marks, run, low, high, direction);
    if (index < 0) continue;
    const time = run.times.start[index];
    // Of those that start together the first row comes first, and the last row last.
    if (best >= 0 && (direction === 1 ? time >= bestTime : time < bestTime)) continue;
    best = run.positionOf(index);
    bestTime = time;
  }
  return best;
}

function after(run: Run, row: number, from: Moment, limit: number): readonly [low: number, high: number] {
  const { start } = run.times;
  const high = upperBound(start, limit, run.low[row], run.high[row]);
  let low = lowerBound(start, from.time, run.low[row], high);
  while (low < high && start[low] === from.time && run.positionOf(low) <= from.position) low += 1;
  return [low, high];
}

function before(run: Run, row: number, from: Moment, limit: number): readonly [low: number, high: number] {
  const { start } = run.times;
  const low = lowerBound(start, limit, run.low[row], run.high[row]);
  let high = upperBound(start, from.time, low, run.high[row]);
  while (high > low && start[high - 1] === from.time && run.positionOf(high - 1) >= from.position) high -= 1;
  return [low, high];
}

function markedIndex(marks: Marks, run: Run, low: number, high: number, direction: 1 | -1): number {
  if (high <= low) return -1;
  if (!run.isSample) return direction === 1 ? marks.next(low, high) : marks.previous(low, high);
  if (direction === 1) {
    for (let i = low; i < high; i++) if (marks.has(run.positionOf(i))) return i;
  } else {
    for (let i = high - 1; i >= low; i--) if (marks.has(run.positionOf(i))) return i;
  }
  return -1;
}

/** How many marked events come before an event in the order of time; only where everything is here. */
export function placeOf(events: Events, marks: Marks, position: number): number {
  let n = 0;
  const from = { time: events.start[position], position };
  for (const run of events.runs) {
    if (run.span.t0 > from.time) break;
    for (let row = 0; row < run.low.length; row++) {
      if (run.high[row] === run.low[row]) continue;
      n += marks.count(run.low[row], before(run, row, from, Number.NEGATIVE_INFINITY)[1]);
    }
  }
  return n;
}

const BITS = 32;
const WORDS_PER_BLOCK = 8;
const POSITIONS_PER_BLOCK = BITS * WORDS_PER_BLOCK;

/** Which events are marked: by what they are named, or by what they are selected by (their op's name, else their own). */
export interface Flags {
  /** 1 by name id. */
  readonly names: Uint8Array;
  /** 1 by op, for events that have one; without it the name decides for all. */
  readonly ops: Uint8Array | null;
  /** 1 by unit whose events are marked whatever they are named. */
  readonly units?: Uint8Array | null;
}

export class Marks {
  readonly #bits: Uint32Array;
  readonly #before: Uint32Array;
  readonly #isDone: Uint8Array;
  #nDone = 0;

  constructor(
    readonly events: Events,
    readonly flags: Flags,
    /** Told when the marked events are, as they are found. */
    readonly hits: Hits | null = null,
  ) {
    const nBlocks = Math.ceil(events.n / POSITIONS_PER_BLOCK) + 1;
    this.#bits = new Uint32Array(nBlocks * WORDS_PER_BLOCK);
    this.#before = new Uint32Array(nBlocks + 1);
    this.#isDone = new Uint8Array(events.tiles.n);
    this.#markSample();
    this.#sum();
  }

  /** Marks what arrived since, until it is done or `isOver` says stop; whether there is something new. */
  advance(isOver: () => boolean = () => false): boolean {
    if (this.isUpToDate) return false;
    const before = this.#nDone;
    for (let tile = 0; tile < this.#isDone.length; tile++) {
      if (this.#isDone[tile] || !this.events.isLoaded(tile)) continue;
      this.#markTile(tile);
      this.#isDone[tile] = 1;
      this.#nDone += 1;
      if (isOver()) break;
    }
    if (this.#nDone > before) this.#sum();
    return this.#nDone > before;
  }

  get isUpToDate(): boolean {
    return this.#nDone === this.events.generation;
  }
  get n(): number {
    return this.#before[this.#before.length - 1];
  }
  has(position: number): boolean {
    return ((this.#bits[position >>> 5] >>> (position & 31)) & 1) === 1;
  }
  count(low: number, high: number): number {
    return high > low ? this.#rank(high) - this.#rank(low) : 0;
  }
  any(first: number, last: number): boolean {
    return first === last ? this.has(first) : this.#rank(last + 1) > this.#rank(first);
  }

  /** The first marked position in [low, high), -1 for none. */
  next(low: number, high: number): number {
    for (let p = low; p < high; ) {
      const word = this.#bits[p >>> 5] >>> (p & 31);
      if (word !== 0) {
        const found = p + (31 - Math.clz32(word & -word));
        return found < high ? found : -1;
      }
      p = this.#skip((p | 31) + 1, high);
    }
    return -1;
  }

  /** The last marked position in [low, high), -1 for none. */
  previous(low: number, high: number): number {
    for (let p = high - 1; p >= low; ) {
      const word = this.#bits[p >>> 5] << (31 - (p & 31));
      if (word !== 0) {
        const found = p - Math.clz32(word);
        return found >= low ? found : -1;
      }
      p = this.#skipBack((p & ~31) - 1, low);
    }
    return -1;
  }

  /** From the start of a word on: past the blocks that have no mark. */
  #skip(from: number, high: number): number {
    let p = from;
    while (p < high && p % POSITIONS_PER_BLOCK === 0 && this.#inBlock(p / POSITIONS_PER_BLOCK) === 0) {
      p += POSITIONS_PER_BLOCK;
    }
    return p;
  }
  #skipBack(from: number, low: number): number {
    let p = from;
    while (
      p >= low &&
      (p + 1) % POSITIONS_PER_BLOCK === 0 &&
      this.#inBlock(Math.floor(p / POSITIONS_PER_BLOCK)) === 0
    ) {
      p -= POSITIONS_PER_BLOCK;
    }
    return p;
  }
  #inBlock(block: number): number {
    return this.#before[block + 1] - this.#before[block];
  }

  #rank(position: number): number {
    const word = position >>> 5;
    let n = this.#before[Math.floor(word / WORDS_PER_BLOCK)];
    for (let k = word - (word % WORDS_PER_BLOCK); k < word; k++) n += popCount(this.#bits[k]);
    const rest = position & 31;
    return rest === 0 ? n : n + popCount(this.#bits[word] & (2 ** rest - 1));
  }

  #sum() {
    let n = 0;
    const nBlocks = this.#before.length - 1;
    for (let block = 0; block < nBlocks; block++) {
      this.#before[block] = n;
      const end = (block + 1) * WORDS_PER_BLOCK;
      for (let k = block * WORDS_PER_BLOCK; k < end; k++) if (this.#bits[k] !== 0) n += popCount(this.#bits[k]);
    }
    this.#before[nBlocks] = n;
  }

  #markSample() {
    for (const run of this.events.runs) {
      if (!run.isSample) continue;
      for (let row = 0; row < run.low.length; row++) {
        for (let i = run.low[row]; i < run.high[row]; i++) this.#mark(run.positionOf(i), run.positionOf(i) + 1);
      }
    }
  }

  #markTile(tile: number) {
    const { events } = this;
    const { start, n } = events.tiles;
    const t0 = tile === 0 ? Number.NEGATIVE_INFINITY : start[tile];
    const t1 = tile === n - 1 ? Number.POSITIVE_INFINITY : start[tile + 1];
    const run = events.runs.find((one) => one.lastTile >= tile);
    if (!run || run.isSample) return;
    for (let row = 0; row < run.low.length; row++) {
      if (run.high[row] === run.low[row]) continue;
      const low = lowerBound(events.start, t0, run.low[row], run.high[row]);
      this.#mark(low, lowerBound(events.start, t1, low, run.high[row]));
    }
  }

  #mark(low: number, high: number) {
    const { events, hits } = this;
    const { name, op, unit } = events;
    const { names, ops, units = null } = this.flags;
    const bits = this.#bits;
    for (let p = low; p < high; p++) {
      const isNamed = ops !== null && op[p] >= 0 ? ops[op[p]] : names[name[p]];
      if (isNamed !== 1 && (units === null || unit[p] < 0 || units[unit[p]] !== 1)) continue;
      bits[p >>> 5] |= 1 << (p & 31);
      hits?.add(events.start[p], events.endOf(p));
    }
  }
}

function popCount(word: number): number {
  let v = word - ((word >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** More than the columns of any strip that they are drawn in. */
const N_BINS = 4096;

export class Hits {
  /** 1 by bin, where an event lies or begins. */
  readonly bins = new Uint8Array(N_BINS);

  constructor(readonly bounds: Span) {}

  add(t0: number, t1: number) {
    this.bins.fill(1, this.#binAt(t0), this.#binAt(t1) + 1);
  }

  /** When a bin begins; of the one after the last when that ends. */
  timeOf(bin: number): number {
    const { t0, t1 } = this.bounds;
    return t0 + ((t1 - t0) * bin) / N_BINS;
  }

  #binAt(time: number): number {
    const { t0, t1 } = this.bounds;
    return Math.max(0, Math.min(N_BINS - 1, Math.floor(((time - t0) / (t1 - t0)) * N_BINS)));
  }
}
