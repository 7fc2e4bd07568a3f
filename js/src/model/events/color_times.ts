/**
 * Turns events that follow each other in a row into the time of each colour among them.
 *
 * Blocks of events are added up when they are first looked at, and kept: the colours of a pixel column cost the same
 * whether ten events lie in it or a million.
 */

import type { Events } from "./events";
import { rowAt } from "./rows";
import type { Run } from "./runs";

/** Positions of a block and of a chapter, which is made of blocks, as powers of 2. */
const BLOCK_BITS = 4;
const CHAPTER_BITS = 10;
const BLOCK = 1 << BLOCK_BITS;
const CHAPTER = 1 << CHAPTER_BITS;
/** Events that are looked at one by one; more lie in several blocks. */
const MOST_LOOKS = 4 * BLOCK;
/** Of a chapter: all of it was there. */
const COMPLETE = 2 ** 31 - 1;

export type ColorOf = (position: number) => number;

export class ColorTimes {
  /** By colour: what `of` found last. */
  readonly time: Float64Array;
  /** By block and colour the time from the start of its chapter to its own; by chapter and colour all of it. */
  #before = new Float32Array();
  #whole = new Float32Array();
  /** By chapter how often events had come when it was added up; -1 for never. */
  #madeAt = new Int32Array();
  readonly #ofRow: readonly ColorOf[];

  constructor(
    readonly events: Events,
    /** Of colours. */
    readonly n: number,
    colorsOf: (row: number) => ColorOf,
  ) {
    this.time = new Float64Array(n);
    this.#ofRow = Array.from({ length: events.rows.n }, (_, row) => colorsOf(row));
  }

  colorOf(row: number, position: number): number {
    return this.#ofRow[row](position);
  }

  /**
   * Adds up the events at the indices [from, to) of a row of a run, each as far as it is drawn. Of many, whole blocks: those
   * at an edge count for one of the two columns there.
   */
  of(run: Run, row: number, from: number, to: number): Float64Array {
    const { time, n } = this;
    time.fill(0);
    if (run.isSample || to - from <= MOST_LOOKS) {
      this.#addRow(run, row, from, to);
      return time;
    }
    const first = Math.ceil(from / BLOCK);
    const last = Math.ceil(to / BLOCK) * BLOCK <= run.high[row] ? Math.ceil(to / BLOCK) : Math.floor(to / BLOCK);
    const [low, high] = [first, last].map((block) => block >> (CHAPTER_BITS - BLOCK_BITS));
    for (let chapter = low; chapter <= high; chapter++) this.#make(chapter);
    addTo(time, this.#before, last * n, 1);
    addTo(time, this.#before, first * n, -1);
    for (let chapter = low; chapter < high; chapter++) addTo(time, this.#whole, chapter * n, 1);
    return time;
  }

  #addRow({ times, high, positionOf }: Run, row: number, from: number, to: number) {
    const { start, duration } = times;
    const colorOf = this.#ofRow[row];
    const stop = high[row];
    for (let i = from; i < to; i++) {
      const own = i + 1 < stop ? Math.min(duration[i], start[i + 1] - start[i]) : duration[i];
      this.time[colorOf(positionOf(i))] += own;
    }
  }

  /** Adds the positions [from, to) of any rows, as far as they are here. */
  #addAny(from: number, to: number, time: Float64Array) {
    const { events } = this;
    const { start, duration, rows } = events;
    for (let p = from, row = rowAt(rows, from); p < to; row++) {
      const end = rows.offset[row + 1];
      const colorOf = this.#ofRow[row];
      for (; p < Math.min(end, to); p++) {
        if (!events.has(p)) continue;
        const isCut = p + 1 < end && events.has(p + 1);
        time[colorOf(p)] += isCut ? Math.min(duration[p], start[p + 1] - start[p]) : duration[p];
      }
    }
  }

  /** Adds a chapter up, unless it is known; one that was not all there again when more has come. */
  #make(chapter: number) {
    const { events, n } = this;
    if (this.#madeAt.length === 0) {
      this.#before = new Float32Array(((events.n >> BLOCK_BITS) + 2) * n);
      this.#whole = new Float32Array(((events.n >> CHAPTER_BITS) + 1) * n);
      this.#madeAt = new Int32Array((events.n >> CHAPTER_BITS) + 1).fill(-1);
    }
    const made = this.#madeAt[chapter];
    if (made === COMPLETE || made === events.generation) return;
    const time = new Float64Array(n);
    const low = chapter << CHAPTER_BITS;
    const high = Math.min(events.n, low + CHAPTER);
    for (let p = low; p < high; p += BLOCK) {
      this.#before.set(time, (p >> BLOCK_BITS) * n);
      this.#addAny(p, Math.min(high, p + BLOCK), time);
    }
    // Where the last block is full, its end is the start of one that no event lies in.
    if (high < low + CHAPTER) this.#before.set(time, Math.ceil(high / BLOCK) * n);
    this.#whole.set(time, chapter * n);
    let isComplete = true;
    for (let p = low; isComplete && p < high; p++) isComplete = events.has(p);
    this.#madeAt[chapter] = isComplete ? COMPLETE : events.generation;
  }
}

function addTo(time: Float64Array, from: Float32Array, at: number, sign: 1 | -1) {
  for (let c = 0; c < time.length; c++) time[c] += sign * from[at + c];
}
