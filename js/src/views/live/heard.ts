/** Messages of a training -> how long it has been silent, as far as the page can know. */

import type { LiveHead } from "./payload";

/** A training that is heard at all is heard several times a second. */
const SILENT_MS = 5000;

export class Heard {
  #last: number;
  #n = 0;

  constructor(readonly clock: () => number = () => performance.now()) {
    this.#last = clock();
  }

  /** Notes a message. */
  note(): void {
    this.#last = this.clock();
    this.#n += 1;
  }

  /** "" while the training is heard, or is not said to run. */
  words({ state, now_ns }: LiveHead): string {
    const silentMs = this.clock() - this.#last;
    if (state !== "running" || silentMs < SILENT_MS) return "";
    const s = Math.floor(silentMs / 1000);
    const ago = s < 120 ? `${s} s` : `${Math.floor(s / 60)} min`;
    if (this.#n > 0) return `last heard ${ago} ago`;
    // The one language whose dates are written from the year down.
    const when = now_ns === null ? "" : ` What is shown is of ${new Date(now_ns / 1e6).toLocaleString("sv")}.`;
    return `not heard in the ${ago} since this was opened.${when}`;
  }
}
