import { afterEach, describe, expect, it, vi } from "vitest";
import { encodePack, type Pack } from "../src/core/wire";
import { connectData } from "../src/data";
import { fakePage } from "./fake_host";

function pack(...starts: number[]): Pack {
  return {
    meta: { n_events: 4 },
    tables: { events: { n: starts.length, columns: { start_ps: Float64Array.from(starts) } } },
  };
}

const OVERVIEW = pack(0, 9);

async function chunk(index: number, count: number, ...starts: number[]) {
  return [
    { kind: "detail", index, count },
    [new DataView((await encodePack(pack(...starts))).buffer as ArrayBuffer)],
  ] as const;
}

describe("data", () => {
  afterEach(() => void vi.useRealTimers());

  it("gives the overview at once and asks for the rest once for all views", async () => {
    const page = await fakePage(OVERVIEW, { is_complete: false, n_chunks: 2 });
    const { signal } = new AbortController();
    const a = await connectData(page.host, "anywidget:data1", signal);
    const b = await connectData(page.host, "anywidget:data1", signal);
    expect(a.table("events")?.n).toBe(2);
    expect(b.isComplete).toBe(false);
    expect(page.data.sent).toEqual([{ kind: "detail?", encoding: "binary", from: 0 }]);
  });

  it("asks for nothing when the overview is everything", async () => {
    const page = await fakePage(OVERVIEW);
    await connectData(page.host, "anywidget:data1", new AbortController().signal);
    expect([page.data.sent.length, page.data.listeners.length]).toEqual([0, 0]);
  });

  it("replaces the tables when the last chunk is there, whatever the order, and only once", async () => {
    const page = await fakePage(OVERVIEW, { is_complete: false, n_chunks: 2 });
    const { signal } = new AbortController();
    const data = await connectData(page.host, "anywidget:data1", signal);
    const other = await connectData(page.host, "anywidget:data1", signal);
    const progress: number[] = [];
    data.onChange(() => progress.push(data.progress), signal);
    page.data.emit("msg:custom", ...(await chunk(1, 2, 3, 4)));
    await vi.waitFor(() => expect(progress).toEqual([0.5]));
    expect(data.table("events")?.n).toBe(2);
    page.data.emit("msg:custom", ...(await chunk(0, 2, 1, 2)));
    await vi.waitFor(() => expect(data.isComplete).toBe(true));
    expect(data.table("events")?.columns.start_ps).toEqual(Float64Array.of(1, 2, 3, 4));
    expect(other.table("events")?.n).toBe(4);
    expect(progress).toEqual([0.5, 1]);
  });

  it("asks for text where the front end drops binary buffers", async () => {
    const page = await fakePage(OVERVIEW, { is_complete: false, n_chunks: 1 });
    const data = await connectData(page.host, "anywidget:data1", new AbortController().signal);
    page.data.emit("msg:custom", { kind: "detail", index: 0, count: 1 }, []);
    expect(page.data.sent[1]).toEqual({ kind: "detail?", encoding: "base64", from: 0 });
    const text = Buffer.from(await encodePack(pack(5, 6, 7))).toString("base64");
    page.data.emit("msg:custom", { kind: "detail", index: 0, count: 1, data: text });
    await vi.waitFor(() => expect(data.table("events")?.n).toBe(3));
  });

  it("waits for a busy kernel, but asks again when the chunks stop half-way", async () => {
    const page = await fakePage(OVERVIEW, { is_complete: false, n_chunks: 3 });
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date"] });
    const data = await connectData(page.host, "anywidget:data1", new AbortController().signal);
    vi.advanceTimersByTime(60_000);
    expect(page.data.sent).toHaveLength(1);
    page.data.emit("msg:custom", ...(await chunk(0, 3, 1)));
    await vi.waitFor(() => expect(data.progress).toBeGreaterThan(0.3));
    vi.advanceTimersByTime(7000);
    expect(page.data.sent.slice(1)).toEqual([{ kind: "detail?", encoding: "binary", from: 1 }]);
  });

  it("tells why the details cannot come", async () => {
    const page = await fakePage(OVERVIEW, { is_complete: false, n_chunks: 1 });
    const data = await connectData(page.host, "anywidget:data1", new AbortController().signal);
    page.data.emit("msg:custom", { kind: "error", message: "the trace was closed" });
    expect(data.problem).toBe("the trace was closed");
  });

  it("keeps feeding the other views when one ends, and forgets the trace with the last", async () => {
    const page = await fakePage(OVERVIEW, { is_complete: false, n_chunks: 1 });
    const [first, second] = [new AbortController(), new AbortController()];
    await connectData(page.host, "anywidget:data1", first.signal);
    const data = await connectData(page.host, "anywidget:data1", second.signal);
    first.abort();
    page.data.emit("msg:custom", ...(await chunk(0, 1, 1, 2, 3)));
    await vi.waitFor(() => expect(data.table("events")?.n).toBe(3));
    second.abort();
    expect(page.data.listeners).toEqual([]);
    const stores = (globalThis as unknown as Record<symbol, Map<string, unknown>>)[Symbol.for("tfprof_widgets.data")];
    expect(stores.has(String(page.data.state.data_id))).toBe(false);
  });
});
