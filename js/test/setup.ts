/** Runs before each file: time that does not wait, and what jsdom is slow at. */

import { inflateSync } from "node:zlib";
import { afterEach, beforeEach, vi } from "vitest";

const { useFakeTimers, waitFor } = vi;
// vitest's own second is short on a busy machine.
vi.waitFor = (ask, options = { timeout: 20_000, interval: 5 }) => waitFor(ask, options);

if (typeof document !== "undefined") {
  const FRAME_MS = 16;
  const realSetInterval = setInterval;
  const realClearInterval = clearInterval;
  let clock: ReturnType<typeof setInterval>;

  // A test with a clock of its own has it stand still between its moments.
  vi.useFakeTimers = (options) => {
    realClearInterval(clock);
    return useFakeTimers.call(vi, options);
  };

  // A frame passes at each turn of the event loop, however long that takes: nothing waits, and no test is about a busy machine.
  beforeEach(() => {
    useFakeTimers.call(vi, {
      toFake: [
        "setTimeout",
        "clearTimeout",
        "setInterval",
        "clearInterval",
        "requestAnimationFrame",
        "cancelAnimationFrame",
        "performance",
      ],
    });
    clock = realSetInterval(() => vi.isFakeTimers() && vi.advanceTimersByTime(FRAME_MS), 1);
  });
  afterEach(() => {
    realClearInterval(clock);
    vi.useRealTimers();
  });

  // In this process at once, not by a thread that may be late.
  globalThis.DecompressionStream = class extends TransformStream<Uint8Array, Uint8Array> {
    constructor() {
      const chunks: Uint8Array[] = [];
      super({
        transform: (chunk) => void chunks.push(chunk),
        flush: (controller) => controller.enqueue(new Uint8Array(inflateSync(Buffer.concat(chunks)))),
      });
    }
  } as unknown as typeof DecompressionStream;

  // No style sheet is loaded: that of jsdom, which it applies to all parents of an element, took a third of the time.
  globalThis.getComputedStyle = (element) => (element as HTMLElement).style;
}
