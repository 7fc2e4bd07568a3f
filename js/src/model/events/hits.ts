/** Turns marked events into the parts of the whole capture that hold one: a fixed number of bins, however many events there are. */
import type { Span } from "../time/viewport";

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
