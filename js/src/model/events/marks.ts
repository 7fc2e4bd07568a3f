/**
 * Turns flagged names into marks by position, so that any stretch of a row answers at once whether a marked event lies in it.
 *
 * One bit per event, and how many are set before every block of them. Tiles are marked one by one as they arrive, with a
 * clock to stop at, so that no frame waits for it.
 */
import { lowerBound } from "../wire/bisect";
import type { Events } from "./events";
import type { Hits } from "./hits";

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
  /** Marks before each block of positions. */
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

  /** Whether everything that is here has been looked at. */
  get isUpToDate(): boolean {
    return this.#nDone === this.events.generation;
  }
  /** How many marked events were found. */
  get n(): number {
    return this.#before[this.#before.length - 1];
  }
  has(position: number): boolean {
    return ((this.#bits[position >>> 5] >>> (position & 31)) & 1) === 1;
  }
  /** Marks at the positions [low, high). */
  count(low: number, high: number): number {
    return high > low ? this.#rank(high) - this.#rank(low) : 0;
  }
  /** Whether one of the positions [first, last] is marked. */
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

  /** Marks before a position. */
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
