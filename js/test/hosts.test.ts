import { describe, expect, it } from "vitest";
import { HostTables, hostMeta as metaOf } from "../src/data/hosts";
import type { TraceMeta } from "../src/data/meta";
import type { Table, TypedArray } from "../src/data/pack";
import { findHosts, hostCuts, pythonText, shortHost } from "../src/model/hosts";
import { opTotals, rangedOps, wholeTotals } from "../src/model/ops";
import { hostOverview } from "../src/model/overview";
import { describeRange } from "../src/model/range";

const MS = 1e9;
const hostMeta = (tables: HostTables) => metaOf(tables, hostOverview);
const LONG = Array.from({ length: 1000 }, (_, i) => {
  const worker = `worker-${String(i).padStart(5, "0")}`;
  return `projects/very-long-name/zones/europe-west4-a/instances/${worker}.c.project.internal`;
});

const table = (columns: Record<string, TypedArray>): Table => ({ n: Object.values(columns)[0].length, columns });

/** Two hosts of two steps each that alternate; "a" runs ops 0 and 1 (nested) and has memory, "b" runs op 1. */
function scene() {
  const meta = {
    hosts: ["a", "b"],
    host_roles: ["worker", "parameter server"],
    planes: [
      { name: "/host:CPU", host: "a", kind: "host" },
      { name: "/host:CPU", host: "b", kind: "host" },
      { name: "/device:GPU:0", host: "b", kind: "device" },
    ],
    lines: [0, 1, 2].map((plane) => ({ plane, name: "t", n_events: 1, busy_ps: 1, is_derived: false })),
    sessions: [
      { start_ps: 0, stop_ps: 100 * MS, host: "a" },
      { start_ps: 0, stop_ps: 100 * MS, host: "b" },
    ],
    duration_ps: 100 * MS,
    categories: ["input", "host_compute"],
    step_names: ["train 0", "train 0", "train 1", "train 1"],
    names: ["f", "g"],
    op_name: [0, 1],
    op_type: [0, 1],
    op_device: [0, 0],
    op_eager: [0, 0],
    n_units: 2,
    idle_ps: [77, 0],
    allocators: ["a: GPU_0", "b: GPU_0"],
    memory_summary: ["a: GPU_0", "b: GPU_0"].map((allocator) => ({ allocator })),
    pipelines: [
      { id: 4, host: "b", nodes: [] },
      { id: 9, host: "a", nodes: [] },
    ],
    overview: {
      verdict: "Input-bound.",
      breakdown: [
        { category: "host_compute", ms: 1, ratio: 1 },
        { category: "input", ms: 1, ratio: 1 },
      ],
    },
  } as unknown as TraceMeta;
  const tables: Record<string, Table> = {
    steps: table({
      start_ps: Float64Array.of(0, 1 * MS, 20 * MS, 21 * MS),
      duration_ps: Float64Array.of(10 * MS, 12 * MS, 14 * MS, 12 * MS),
      is_averaged: Uint8Array.of(1, 1, 1, 1),
      session: Int32Array.of(0, 1, 0, 1),
      host: Int32Array.of(0, 1, 0, 1),
      input_ms: Float64Array.of(2, 9, 4, 9),
      host_compute_ms: Float64Array.of(8, 3, 10, 3),
    }),
    step_pieces: table({
      step: Int32Array.of(0, 1, 2),
      start_ps: Float64Array.of(0, 1, 2),
      duration_ps: Float64Array.of(1, 1, 1),
      category: Uint8Array.of(0, 0, 0),
    }),
    occurrences: table({
      op: Int32Array.of(1, 0, 1, 1),
      line: Int32Array.of(1, 0, 0, 1),
      start_ps: Float64Array.of(1 * MS, 2 * MS, 3 * MS, 21 * MS),
      duration_ps: Float64Array.of(5 * MS, 6 * MS, 2 * MS, 5 * MS),
      span_ps: Float64Array.of(5 * MS, 6 * MS, 2 * MS, 5 * MS),
      parent: Int32Array.of(-1, -1, 1, -1),
    }),
    op_lines: table({
      line: Int32Array.of(0, 1),
      device: Uint8Array.of(0, 0),
      first_ps: Float64Array.of(0, 0),
      last_ps: Float64Array.of(10 * MS, 40 * MS),
    }),
    host_totals: table({
      host: Int32Array.of(0, 0, 1),
      unit: Int32Array.of(0, 1, 1),
      occurrences: Float64Array.of(1, 1, 2),
      total_ps: Float64Array.of(6 * MS, 2 * MS, 10 * MS),
      self_ps: Float64Array.of(4 * MS, 2 * MS, 10 * MS),
    }),
    iterator_calls: table({
      pipeline: Int32Array.of(0, 1, 1, 0),
      node: Int32Array.of(0, 0, 1, 0),
      root: Int32Array.of(0, 1, 1, -1),
    }),
    memory: table({
      allocator: Int32Array.of(0, 0, 1, 1),
      session: Int32Array.of(0, 0, 1, 1),
      step: Int32Array.of(0, 2, 1, 3),
      freed_at: Int32Array.of(1, -1, 3, -1),
    }),
  };
  return { meta, tables, of: (host: string) => new HostTables(meta, (name) => tables[name], host) };
}

describe("hosts", () => {
  it("are found by words of name and role, any case, in any order", () => {
    const [hosts, roles] = [
      ["Chief-0", "worker-1", "worker-12", "ps-1"],
      ["chief", "worker", "worker", "parameter server"],
    ];
    expect(findHosts(hosts, roles, "")).toEqual([0, 1, 2, 3]);
    expect(findHosts(hosts, roles, "  WORKER 2")).toEqual([2]);
    expect(findHosts(hosts, roles, "server ps")).toEqual([3]);
    expect(findHosts(hosts, roles, "none such")).toEqual([]);
  });

  it("are cut to what tells them apart, no two alike", () => {
    expect(shortHost("worker-0", LONG)).toBe("worker-0");
    expect(shortHost(LONG[42], LONG)).toBe("…worker-00042…");
    const cut = hostCuts(LONG, LONG, (text) => text.length <= 12);
    const texts = LONG.map(cut);
    expect(new Set(texts).size).toBe(LONG.length);
    expect(Math.max(...texts.map((text) => text.length))).toBeLessThanOrEqual(12);
    expect(hostCuts(["a", "b"], ["a", "b"], () => true)("b")).toBe("b");
  });

  it("have names that Python reads back", () => {
    expect(pythonText('a"b\\c\n')).toBe('"a\\"b\\\\c\\n"');
  });
});

describe("tables of one host", () => {
  it("have its steps and their pieces, numbered anew", () => {
    const { of } = scene();
    const own = of("b");
    expect([...own.rows("steps")]).toEqual([1, 3]);
    expect([...(own.table("steps") as Table).columns.input_ms]).toEqual([9, 9]);
    expect([...(own.table("step_pieces") as Table).columns.step]).toEqual([0]);
    expect(describeRange(hostMeta(own), own.table("steps"), [21 * MS, 33 * MS])).toBe("step 1 · 12.0 ms");
  });

  it("have its executions, each with its parent", () => {
    const { of } = scene();
    const occurrences = of("a").table("occurrences") as Table;
    expect([...occurrences.columns.op]).toEqual([0, 1]);
    expect([...occurrences.columns.parent]).toEqual([-1, 0]);
  });

  it("give the same totals by sums as by executions, of a range and of the capture", () => {
    const { meta, of } = scene();
    for (const host of ["a", "b"]) {
      const own = of(host);
      const read = (name: string) => own.table(name);
      const sums = wholeTotals(own.table("unit_totals"), hostMeta(own));
      const added = opTotals(own.table("occurrences") as Table, own.table("op_lines"), 2, null);
      expect(sums).toEqual(added);
      const within = rangedOps(meta, read, [0, 4 * MS]);
      expect([...within.occurrences]).toEqual(host === "a" ? [1, 1] : [0, 1]);
    }
  });

  it("add up to those of all hosts", () => {
    const { tables, of } = scene();
    const whole = opTotals(tables.occurrences, tables.op_lines, 2, null);
    const parts = ["a", "b"].map((host) => opTotals(of(host).table("occurrences") as Table, undefined, 2, null));
    for (const op of [0, 1]) {
      expect(parts[0].selfPs[op] + parts[1].selfPs[op]).toBe(whole.selfPs[op]);
      expect(parts[0].occurrences[op] + parts[1].occurrences[op]).toBe(whole.occurrences[op]);
    }
  });

  it("count its pipelines, calls and allocators from 0", () => {
    const { of } = scene();
    const own = of("a");
    expect(hostMeta(own).pipelines.map(({ id }) => id)).toEqual([9]);
    const calls = own.table("iterator_calls") as Table;
    expect([[...calls.columns.pipeline], [...calls.columns.root]]).toEqual([
      [0, 0],
      [0, 0],
    ]);
    const other = of("b");
    expect(hostMeta(other).allocators).toEqual(["GPU_0"]);
    const memory = other.table("memory") as Table;
    expect([...memory.columns.allocator]).toEqual([0, 0]);
    expect([...memory.columns.freed_at]).toEqual([1, -1]);
    expect([...memory.columns.step]).toEqual([0, 1]);
  });

  it("give memory to the host that alone recorded it, whose allocators bear no name of a host", () => {
    const { meta, tables } = scene();
    const alone = { ...meta, allocators: ["GPU_0"] } as TraceMeta;
    const memory = table({
      allocator: Int32Array.of(0),
      session: Int32Array.of(1),
      step: Int32Array.of(1),
      freed_at: Int32Array.of(-1),
    });
    const of = (host: string) => new HostTables(alone, (name) => (name === "memory" ? memory : tables[name]), host);
    expect([of("a").table("memory")?.n, of("b").table("memory")?.n]).toEqual([0, 1]);
  });

  it("are made once, until what they are made from grows", () => {
    const { of, tables } = scene();
    const own = of("a");
    const first = own.table("occurrences");
    expect(own.table("occurrences")).toBe(first);
    tables.occurrences = { ...tables.occurrences };
    expect(own.table("occurrences")).not.toBe(first);
  });

  it("leave alone what is not of a host", () => {
    const { of, tables } = scene();
    tables.op_places = table({ layer: Int32Array.of(0, 0) });
    expect(of("a").table("op_places")).toBe(tables.op_places);
    expect(of("a").table("no such table")).toBeUndefined();
  });
});

describe("what is said of one host", () => {
  it("are the mean, spread and parts of its counted steps, and the sentence that follows", () => {
    const { of } = scene();
    const { overview, idle_ps } = hostMeta(of("a"));
    expect(overview.step_time).toEqual({
      avg: 12,
      std: Math.sqrt(8),
      min: 10,
      max: 14,
      median: 12,
      n: 2,
      n_averaged: 2,
    });
    expect(overview.breakdown).toEqual([
      { category: "host_compute", ms: 9, ratio: 0.75 },
      { category: "input", ms: 3, ratio: 0.25 },
    ]);
    expect(overview.headline).toBe("On a a step takes 12.0 ms; its largest part is host compute (75 %).");
    expect(overview.verdict_detail).toBe("All hosts: Input-bound.");
    expect(idle_ps).toEqual([4 * MS, 0]);
  });

  it("says that a host has no step", () => {
    const { meta, tables } = scene();
    const own = new HostTables(meta, (name) => (name === "steps" ? undefined : tables[name]), "a");
    expect(hostMeta(own).overview.headline).toContain("No step was found on a");
    expect(hostMeta(own).overview.breakdown).toEqual([]);
  });

  it("follows lists that come later, and keeps what is of all", () => {
    const { meta, of } = scene();
    const own = hostMeta(of("a"));
    expect(own.categories).toBe(meta.categories);
    meta.advice = [];
    expect(own.advice).toBe(meta.advice);
  });
});
