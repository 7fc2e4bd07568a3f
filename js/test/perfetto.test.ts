// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Reply, TraceData } from "../src/data/store";
import { PERFETTO, PerfettoLink } from "../src/views/timeline/perfetto";

const BYTES = new Uint8Array([1, 2, 3, 4, 5]);
const WHOLE: Reply = { message: { n_bytes: 5 }, buffers: [BYTES.subarray(0, 2), BYTES.subarray(2)] };
const DROPPED: Reply = { message: { n_bytes: 5 }, buffers: [] };
const TEXT: Reply = { message: { n_bytes: 5, data: ["AQI=", "AwQF"] }, buffers: [] };

function page(replies: Reply[], more: Partial<TraceData> = {}) {
  const asked: unknown[] = [];
  const call = async (name: string, args: unknown) => {
    asked.push([name, args]);
    return replies.shift() ?? DROPPED;
  };
  const data = { isOffline: false, hasKernel: true, problem: "", call, ...more } as unknown as TraceData;
  const link = new PerfettoLink(data, "run 1", new AbortController().signal, 1000);
  document.body.replaceChildren(link.panel());
  return { link, asked };
}

const status = () => document.querySelector('[role="status"]')?.textContent ?? "";
const button = () => document.querySelector("button") as HTMLButtonElement;

/** A window that answers the third ping, from `origin`. */
function other(origin = PERFETTO) {
  const posted: unknown[][] = [];
  let nPings = 0;
  const target = {
    closed: false,
    shown: PERFETTO,
    location: { replace: (address: string) => Object.assign(target, { shown: address }) },
    close() {
      target.closed = target.shown === "about:blank";
    },
    postMessage(...args: unknown[]) {
      posted.push(args);
      if (args[0] !== "PING") return;
      nPings += 1;
      if (nPings !== 3) return;
      const event = new MessageEvent("message", { data: "PONG", origin });
      Object.defineProperty(event, "source", { value: target });
      window.dispatchEvent(event);
    },
  };
  vi.spyOn(window, "open").mockReturnValue(target as unknown as Window);
  return { target, posted };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("nothing is opened, asked or sent before the click", () => {
  const { posted } = other();
  const { asked } = page([WHOLE]);
  vi.advanceTimersByTime(5000);
  expect([posted, asked]).toEqual([[], []]);
  expect(window.open).not.toHaveBeenCalled();
});

test.each([
  ["pieces", [WHOLE], 1],
  ["text where buffers are dropped", [DROPPED, TEXT], 2],
] as const)("after the answer the trace is posted whole, to that address only: %s", async (_, replies, nAsked) => {
  const { posted } = other();
  const { asked } = page([...replies]);
  button().click();
  expect(button().disabled).toBe(true);
  await vi.advanceTimersByTimeAsync(500);
  expect(asked).toHaveLength(nAsked);
  const [message, origin] = posted[posted.length - 1] as [{ perfetto: Record<string, unknown> }, string];
  expect(origin).toBe(PERFETTO);
  expect(message.perfetto.title).toBe("run 1");
  expect(new Uint8Array(message.perfetto.buffer as ArrayBuffer)).toEqual(BYTES);
  expect(posted.filter(([text]) => text === "PING")).toHaveLength(3);
  expect(status()).toBe("The trace is in the other tab.");
  expect(button().disabled).toBe(false);
});

test("an answer from another origin is no answer", async () => {
  const { target, posted } = other("https://ui.perfetto.dev.example.org");
  page([WHOLE]);
  button().click();
  await vi.advanceTimersByTimeAsync(2000);
  expect(posted.every(([text]) => text === "PING")).toBe(true);
  expect(target.closed).toBe(true);
  expect(status()).toMatch(/cannot be reached.*prof\.to_chrome_trace/);
});

test("a kernel that refuses closes the window and is quoted", async () => {
  const { target } = other();
  const call = () => Promise.reject(new Error("4,000,000 events are too many to hand over."));
  page([], { call });
  button().click();
  await vi.advanceTimersByTimeAsync(500);
  expect(target.closed).toBe(true);
  expect(status()).toMatch(/^4,000,000 events.*prof\.to_chrome_trace/);
});

test("a page without a kernel says so and opens nothing", () => {
  other();
  page([], { isOffline: true });
  button().click();
  expect(button().disabled).toBe(true);
  expect(document.body.textContent).toMatch(/no kernel.*prof\.to_chrome_trace/);
  expect(window.open).not.toHaveBeenCalled();
});
