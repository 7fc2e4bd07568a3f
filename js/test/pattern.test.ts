import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PatternMatcher } from "../src/views/timeline/search";

/** A worker that answers when it is told to. */
class FakeWorker {
  static all: FakeWorker[] = [];
  onmessage: ((event: { data: Uint8Array }) => void) | null = null;
  onerror: (() => void) | null = null;
  isOver = false;
  constructor() {
    FakeWorker.all.push(this);
  }
  postMessage() {}
  terminate() {
    this.isOver = true;
  }
}

const NAMES = ["MatMul", "Relu"];

describe("a regular expression", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    FakeWorker.all = [];
    vi.stubGlobal("Worker", FakeWorker);
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });
  const newMatcher = () => new PatternMatcher(new AbortController().signal);

  it("is matched outside the page", () => {
    const done = vi.fn();
    const matcher = newMatcher();
    matcher.run(NAMES, "mat", done);
    expect([matcher.isRunning, done.mock.calls.length]).toEqual([true, 0]);
    FakeWorker.all[0].onmessage?.({ data: Uint8Array.of(1, 0) });
    expect(done).toHaveBeenCalledExactlyOnceWith(Uint8Array.of(1, 0));
    expect([matcher.isRunning, FakeWorker.all[0].isOver]).toEqual([false, true]);
  });

  it("that takes too long is stopped and said to be so", () => {
    const done = vi.fn();
    newMatcher().run(NAMES, "(a+)+$", done);
    vi.advanceTimersByTime(2500);
    expect(done).toHaveBeenCalledExactlyOnceWith(null);
    expect(FakeWorker.all[0].isOver).toBe(true);
  });

  it("gives way to the next one", () => {
    const [first, second] = [vi.fn(), vi.fn()];
    const matcher = newMatcher();
    matcher.run(NAMES, "a", first);
    matcher.run(NAMES, "b", second);
    FakeWorker.all[0].onmessage?.({ data: Uint8Array.of(1, 1) });
    FakeWorker.all[1].onmessage?.({ data: Uint8Array.of(0, 0) });
    expect(first).not.toHaveBeenCalled();
    expect(second).toHaveBeenCalledExactlyOnceWith(Uint8Array.of(0, 0));
  });

  it("is matched in the page where workers are forbidden, and refused where it is none", () => {
    const done = vi.fn();
    const matcher = newMatcher();
    matcher.run(NAMES, "mat", done);
    FakeWorker.all[0].onerror?.();
    vi.stubGlobal("Worker", undefined);
    matcher.run(NAMES, "relu", done);
    expect(done.mock.calls).toEqual([[Uint8Array.of(1, 0)], [Uint8Array.of(0, 1)]]);
    expect(() => matcher.run(NAMES, "(", done)).toThrow(SyntaxError);
  });
});
