import { afterEach, describe, expect, it, vi } from "vitest";
import type { Pack, Table, TypedArray } from "../src/data/pack";
import { connectData } from "../src/data/store";
import { encodePack } from "./encoding";
import { type FakePage, fakePage } from "./fake_host";
import { trainingRun } from "./fixtures";
import { type Tiled, tiled } from "./tiling";

function table(columns: Record<string, TypedArray>): Table {
  return { n: Object.values(columns)[0]?.length ?? 0, columns };
}

const SECTIONS = {
  steps: { n_rows: 1, n_parts: 0 },
  memory: { n_rows: 4, n_parts: 2 },
  kernels: { n_rows: 3, n_parts: 2 },
};
const FIRST: Pack = {
  meta: { names: ["a", "b"], lines: [], sections: SECTIONS },
  tables: { steps: table({ start_ps: Float64Array.of(1) }), names: table({ family: Uint8Array.of(1, 2) }) },
};
const PARTS: Record<string, Pack> = {
  "memory:0": { meta: {}, tables: { memory: table({ time_ps: Float64Array.of(1, 2) }) } },
  "memory:1": { meta: {}, tables: { memory: table({ time_ps: Float64Array.of(3, 4) }) } },
  "kernels:0": { meta: { kernels: ["k0", "k1"] }, tables: {} },
  "kernels:1": { meta: { kernels: ["k2"] }, tables: {} },
  "names:0": { meta: { first: 2, names: ["c", "d"] }, tables: { names: table({ family: Uint8Array.of(3, 4) }) } },
};

async function buffer(pack: Pack): Promise<DataView> {
  return new DataView((await encodePack(pack)).buffer as ArrayBuffer);
}
async function answer(page: FakePage, key: string, pack = PARTS[key]) {
  page.data.emit("msg:custom", { kind: "part", key }, [await buffer(pack)]);
}
function asked(page: FakePage): string[] {
  return page.data.sent.flatMap((message) => (message as { keys?: string[] }).keys ?? []);
}
async function answerAll(page: FakePage, parts: (key: string) => Pack | undefined, isDone = () => true) {
  const done = new Set<string>();
  await vi.waitFor(async () => {
    for (const key of asked(page)) {
      const part = parts(key);
      if (done.has(key) || !part) continue;
      done.add(key);
      await answer(page, key, part);
    }
    await new Promise((resolve) => setTimeout(resolve));
    expect(isDone() && asked(page).every((key) => done.has(key))).toBe(true);
  });
  return done;
}

describe("data", () => {
  afterEach(() => void vi.useRealTimers());
  const { signal } = new AbortController();

  it("gives the first pack at once and asks for the rest once for all views, a few parts at a time", async () => {
    const page = await fakePage(FIRST);
    const a = await connectData(page.host, "anywidget:data1", signal);
    const b = await connectData(page.host, "anywidget:data1", signal);
    expect([a.table("steps")?.n, a.isWhole("steps"), b.isWhole("memory"), b.nRows("memory")]).toEqual([
      1,
      true,
      false,
      4,
    ]);
    expect(page.data.sent).toEqual([
      { kind: "parts?", keys: ["memory:0", "memory:1", "kernels:0"], encoding: "binary" },
    ]);
    await answer(page, "memory:0");
    await vi.waitFor(() => expect(asked(page)).toContain("kernels:1"));
  });

  it("unpacks what figures and cards are made of before all else that the page holds", async () => {
    const parts = await Promise.all(
      ["kernels:0", "kernels:1", "memory:0", "memory:1"].map(async (key) => {
        return [key, Buffer.from(await encodePack(PARTS[key])).toString("base64")] as const;
      }),
    );
    const page = await fakePage(FIRST, { parts });
    const figures = await connectData(page.host, "anywidget:data1", signal, "figures");
    expect([figures.isWhole("memory"), figures.isWhole("kernels")]).toEqual([true, false]);
    const all = await connectData(page.host, "anywidget:data1", signal);
    expect([all.isWhole("memory"), all.isWhole("kernels"), asked(page)]).toEqual([true, true, []]);
  });

  it("asks for nothing when the first pack is everything", async () => {
    const page = await fakePage(trainingRun({ nSteps: 2 }));
    const data = await connectData(page.host, "anywidget:data1", signal);
    expect(page.data.sent).toEqual([]);
    expect([data.events.isComplete, data.isComplete, data.progress]).toEqual([true, true, 1]);
    expect(data.events.n).toBe(data.meta.n_events);
  });

  it("joins the parts of a table and of a list in their order, whatever order they come in", async () => {
    const page = await fakePage(FIRST);
    const data = await connectData(page.host, "anywidget:data1", signal);
    const other = await connectData(page.host, "anywidget:data1", signal);
    const tables: string[] = [];
    data.onTables(() => tables.push("memory"), signal, ["memory"]);
    await answer(page, "memory:1");
    await answer(page, "memory:1");
    await vi.waitFor(() => expect(data.arrived(["memory"])).toEqual([1, 2]));
    expect([data.table("memory"), tables]).toEqual([undefined, []]);
    for (const key of ["memory:0", "kernels:0", "kernels:1"]) await answer(page, key);
    await vi.waitFor(() => expect(other.isComplete).toBe(true));
    expect(other.table("memory")?.columns.time_ps).toEqual(Float64Array.of(1, 2, 3, 4));
    expect(data.meta.kernels).toEqual(["k0", "k1", "k2"]);
    expect(tables).toEqual(["memory"]);
  });

  it("takes parts that the kernel sends unasked, once, and asks for them no more", async () => {
    const page = await fakePage(FIRST);
    const data = await connectData(page.host, "anywidget:data1", signal);
    const whole: string[] = [];
    data.onTables(() => whole.push("kernels"), signal, ["kernels"]);
    for (const key of ["kernels:1", "kernels:1", "kernels:0"]) await answer(page, key);
    await vi.waitFor(() => expect(data.isWhole("kernels")).toBe(true));
    await answer(page, "kernels:1", { meta: { kernels: ["other"] }, tables: {} });
    for (const key of ["memory:0", "memory:1"]) await answer(page, key);
    await vi.waitFor(() => expect(data.isComplete).toBe(true));
    expect(data.meta.kernels).toEqual(["k0", "k1", "k2"]);
    expect(whole).toEqual(["kernels"]);
    expect(asked(page)).not.toContain("kernels:1");
  });

  it("asks first for what a view waits for", async () => {
    const page = await fakePage(FIRST, {});
    const data = await connectData(page.host, "anywidget:data1", signal);
    let isReady = false;
    void data.ready(["kernels"]).then(() => (isReady = true));
    for (const key of ["memory:0", "kernels:0"]) await answer(page, key);
    await vi.waitFor(() => expect(asked(page)).toContain("kernels:1"));
    expect(isReady).toBe(false);
    await answer(page, "kernels:1");
    await vi.waitFor(() => expect(isReady).toBe(true));
    expect(data.isWhole("memory")).toBe(false);
  });

  it("puts late names into the places that wait for them", async () => {
    const meta = { ...FIRST.meta, sections: { names: { n_rows: 4, n_parts: 1 } } };
    const page = await fakePage({ ...FIRST, meta });
    const data = await connectData(page.host, "anywidget:data1", signal);
    expect(data.meta.names).toEqual(["a", "b", "", ""]);
    const before = data.namesGeneration;
    await answer(page, "names:0");
    await vi.waitFor(() => expect(data.namesGeneration).toBeGreaterThan(before));
    expect(data.meta.names).toEqual(["a", "b", "c", "d"]);
    expect(data.table("names")?.columns.family).toEqual(Uint8Array.of(1, 2, 3, 4));
  });

  it("asks for text where the front end drops binary buffers", async () => {
    const page = await fakePage(FIRST);
    const data = await connectData(page.host, "anywidget:data1", signal);
    page.data.emit("msg:custom", { kind: "part", key: "memory:0" }, []);
    expect(page.data.sent[1]).toEqual({
      kind: "parts?",
      keys: ["memory:0", "memory:1", "kernels:0"],
      encoding: "base64",
    });
    for (const key of ["memory:0", "memory:1"]) {
      const text = Buffer.from(await encodePack(PARTS[key])).toString("base64");
      page.data.emit("msg:custom", { kind: "part", key, data: text });
    }
    await vi.waitFor(() => expect(data.table("memory")?.n).toBe(4));
  });

  it("waits for a busy kernel, but asks again when the parts stop half-way", async () => {
    const page = await fakePage(FIRST);
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date"] });
    const data = await connectData(page.host, "anywidget:data1", signal);
    vi.advanceTimersByTime(60_000);
    expect(page.data.sent).toHaveLength(1);
    await answer(page, "memory:0");
    await vi.waitFor(() => expect(data.arrived(["memory"])[0]).toBe(1));
    const before = page.data.sent.length;
    vi.advanceTimersByTime(7000);
    expect((page.data.sent[before] as { keys: string[] }).keys).toEqual(["memory:1", "kernels:0", "kernels:1"]);
  });

  it("tells why a part cannot come, and goes on with the others", async () => {
    const page = await fakePage(FIRST);
    const data = await connectData(page.host, "anywidget:data1", signal);
    page.data.emit("msg:custom", { kind: "error", key: "memory:0", message: "the trace was closed" });
    expect(data.problem).toBe("the trace was closed");
    expect(asked(page)).toContain("kernels:1");
  });

  it("takes embedded parts without asking, and the window of a capped page for what is not whole", async () => {
    const window: Pack = {
      meta: { window: [10, 20] },
      tables: { memory: table({ time_ps: Float64Array.of(2) }), kernels: table({}) },
    };
    const text = async (key: string, pack: Pack) =>
      [key, Buffer.from(await encodePack(pack)).toString("base64")] as const;
    const parts = [await text("window", window), await text("kernels:0", PARTS["kernels:0"])];
    parts.push(await text("kernels:1", PARTS["kernels:1"]));
    const page = await fakePage(FIRST, { parts, is_offline: true });
    const data = await connectData(page.host, "anywidget:data1", signal);
    await data.ready(["memory"]);
    expect(page.data.sent).toEqual([]);
    expect([data.window, data.isWhole("memory"), data.isWhole("kernels")]).toEqual([{ t0: 10, t1: 20 }, false, true]);
    expect([data.table("memory")?.n, data.nRows("memory"), data.meta.kernels?.length]).toEqual([1, 4, 3]);
  });

  it("answers a call with the reply of its id, and ends one that is cancelled or fails", async () => {
    const page = await fakePage(trainingRun({ nSteps: 1 }));
    const data = await connectData(page.host, "anywidget:data1", signal);
    const call = data.call("chrome_trace", { range: [1, 2] }, signal);
    const sent = page.data.sent[0] as { id: number };
    expect(sent).toMatchObject({ kind: "call", name: "chrome_trace", range: [1, 2] });
    page.data.emit("msg:custom", { kind: "reply", id: sent.id, n: 3 }, [new DataView(Uint8Array.of(7).buffer)]);
    const reply = await call;
    expect([reply.message.n, [...reply.buffers[0]]]).toEqual([3, [7]]);
    const failing = data.call("x", {}, signal);
    page.data.emit("msg:custom", {
      kind: "error",
      id: (page.data.sent[1] as { id: number }).id,
      message: "no such call",
    });
    await expect(failing).rejects.toThrow("no such call");
    const controller = new AbortController();
    const cancelled = data.call("x", {}, controller.signal);
    controller.abort();
    await expect(cancelled).rejects.toThrow("cancelled");
  });

  it("keeps feeding the other views when one ends, and forgets the trace with the last", async () => {
    const page = await fakePage(FIRST);
    const [first, second] = [new AbortController(), new AbortController()];
    await connectData(page.host, "anywidget:data1", first.signal);
    const data = await connectData(page.host, "anywidget:data1", second.signal);
    first.abort();
    for (const key of ["memory:0", "memory:1"]) await answer(page, key);
    await vi.waitFor(() => expect(data.table("memory")?.n).toBe(4));
    second.abort();
    expect(page.data.listeners).toEqual([]);
    const stores = (globalThis as unknown as Record<symbol, Map<string, unknown>>)[Symbol.for("tfprof_widgets.data")];
    expect(stores.has(String(page.data.state.data_id))).toBe(false);
  });
});

describe("tiles", () => {
  const { signal } = new AbortController();
  const cut = (nTiles: number): Tiled => tiled(trainingRun({ nSteps: 20 }), { nTiles });

  it("come for what is on screen first, then outward, then their stats", async () => {
    const { first, parts } = cut(9);
    const page = await fakePage(first);
    const data = await connectData(page.host, "anywidget:data1", signal);
    const { tiles } = data.events;
    data.wantSpan({ t0: tiles.start[6] + 1, t1: tiles.start[6] + 2 });
    await answerAll(
      page,
      (key) => parts.get(key),
      () => data.progress === 1,
    );
    const order = asked(page);
    expect(order[0]).toBe("events:6");
    expect(order.slice(1, 5).sort()).toEqual(["events:4", "events:5", "events:7", "events:8"]);
    expect(order.indexOf("stats:0")).toBeGreaterThan(order.indexOf("events:0"));
    expect(new Set(order).size).toBe(order.length);
    expect([data.events.isComplete, data.progress]).toEqual([true, 1]);
  });

  it("give the stats of an event when it is asked about, inflating those of its tile", async () => {
    const run = trainingRun({ nSteps: 20 });
    const { first, parts, order } = tiled(run, { nTiles: 4 });
    const page = await fakePage(first);
    const data = await connectData(page.host, "anywidget:data1", signal);
    const { events } = data;
    data.wantSpan({ t0: 0, t1: 1 });
    const counts = run.tables.events.columns.n_stats;
    const position = order.findIndex((i) => Number(counts[i]) > 1);
    const stats = data.stats(position);
    await answerAll(page, (key) => parts.get(key));
    const found = await stats;
    let offset = 0;
    for (let i = 0; i < order[position]; i++) offset += Number(counts[i]);
    const n = Number(counts[order[position]]);
    expect(found.n).toBe(n);
    expect([...found.columns.bits]).toEqual([...run.tables.stats.columns.bits.slice(offset, offset + n)]);
    expect(events.has(position)).toBe(true);
  });
});
