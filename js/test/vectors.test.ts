/** What views work out for a range or a host is what Python says; its side of each is `tests/make_vectors.py`. */

import { beforeAll, describe, expect, it } from "vitest";
import { numbers, type RangePs, STEADY } from "../src/data/columns";
import type { StragglerMeta, StructureMeta } from "../src/data/meta";
import { EMPTY_TABLE } from "../src/data/pack";
import type { TraceData } from "../src/data/store";
import { Aggregate } from "../src/model/aggregate";
import { stragglersIn, workerRows } from "../src/model/hosts";
import { executionStats, executions, inputOps, inputShares, latencyOf, nodeStats } from "../src/model/input";
import { countEvents, liveAt, memoryEvents, memorySteps, peakRow, rowAt, unfreedByOp } from "../src/model/memory";
import { readableKernel, shortKernel, shortName } from "../src/model/names";
import { opsOfScope, rangedOps } from "../src/model/ops";
import { scopePath } from "../src/model/scopes";
import { countedSteps, statisticsOf } from "../src/model/steps";
import { nodeFigures, nodeOfOp, Structure } from "../src/model/structure";
import {
  expectHloOps,
  expectKernels,
  expectLayers,
  expectOps,
  expectOverview,
  expectSourceLines,
  MS,
  type OfOverview,
  type OfRange,
  ofHost,
  US,
  whole,
} from "./vector_tables";
import { dataOf, expectRows, expectSameRows, type Row, type SentPack, vector } from "./vectors";

interface Training {
  readonly pack: SentPack;
  readonly ranges: readonly OfRange[];
  readonly steady: readonly Row[];
  readonly names: readonly Row[];
  readonly overview: OfOverview;
  readonly memory: {
    readonly summary: Row;
    readonly live: readonly { readonly at_ms: number; readonly rows: readonly Row[] }[];
    readonly counted: readonly (Row & { readonly range_ps: RangePs })[];
  } & Readonly<Record<"steps" | "unfreed", readonly Row[]>>;
  readonly input: {
    readonly executions: readonly {
      readonly latency_us: number;
      readonly is_slow: boolean;
      readonly iterators: readonly Row[];
    }[];
  } & Readonly<Record<"ops" | "categories" | "iterators" | "steps", readonly Row[]>>;
}
interface Hosts {
  readonly pack: SentPack;
  readonly hosts: Readonly<
    Record<
      string,
      { readonly ranges: readonly OfRange[]; readonly overview: OfOverview; readonly memory: readonly Row[] }
    >
  >;
}

const training = vector<Training>("training");
const program = vector<Pick<Training, "pack" | "ranges">>("program");
const hosts = vector<Hosts>("hosts");
let one: TraceData;
beforeAll(async () => {
  one = await dataOf(training.pack);
});

describe("of a range, as Python has it,", () => {
  const all = [training, program].flatMap(({ pack, ranges }) => ranges.map((expected) => ({ pack, expected })));

  it.each(all)("are ops, kernels, HLO ops and what they are charged to: $expected.range_ps", async (given) => {
    const { pack, expected } = given;
    const part = whole(await dataOf(pack));
    const totals = rangedOps(part.meta, part.table, expected.range_ps);
    expectOps(part, totals, expected);
    expectKernels(part, expected);
    expectHloOps(part, expected);
    expectLayers(part, totals, expected);
    expectSourceLines(part, totals, expected);
  });
});

describe("of the averaged steps, as Python has it,", () => {
  it("are ops, their executions and times a step", () => {
    const { meta } = one;
    const { totalPs, selfPs, occurrences } = opsOfScope(meta, (name) => one.table(name), STEADY);
    const rows = meta.op_name.map((name, op) => ({
      ...{ device: meta.op_device[op] === 1 ? "Device" : "Host", name: meta.names[name], occurrences: occurrences[op] },
      ...{ total_time_us: totalPs[op] / US, total_self_time_us: selfPs[op] / US },
    }));
    expect(training.steady.length).toBeGreaterThan(5);
    expectSameRows(
      rows.filter((row) => row.occurrences > 0),
      training.steady,
      ["device", "name"],
    );
  });
});

describe("of one host, as Python has it,", () => {
  it.each(Object.entries(hosts.hosts))("are ops and kernels, the step and its memory: %s", async (host, expected) => {
    const part = ofHost(await dataOf(hosts.pack), host);
    for (const range of expected.ranges) {
      expectOps(part, rangedOps(part.meta, part.table, range.range_ps), range);
      expectKernels(part, range);
    }
    expectOverview(part, expected.overview);
    expect(part.meta.memory_summary).toMatchObject(expected.memory);
    const events = memoryEvents(part.table("memory") ?? EMPTY_TABLE, 0);
    const peak = peakRow(events, null);
    expect(events.stack[peak] + events.heap[peak]).toBe(expected.memory[0].peak_bytes);
  });
});

describe("of a whole capture, as Python has it,", () => {
  it("are the ops that cost most of the usual steps", () => expectOverview(whole(one), training.overview));

  it("are events by name", () => {
    const { events, meta } = one;
    const sums = new Aggregate(events, meta.names.length, () => true);
    sums.start({ t0: 0, t1: meta.duration_ps + 1 });
    sums.step();
    expectSameRows(
      sums.rows().map(({ name, count, totalPs, selfPs, minPs, maxPs }) => ({
        ...{ name: meta.names[name], count, total_ns: totalPs / 1e3, self_ns: selfPs / 1e3 },
        ...{ min_ns: minPs / 1e3, max_ns: maxPs / 1e3 },
      })),
      training.names,
      ["name"],
    );
  });
});

describe("of memory, as Python has it,", () => {
  const expected = training.memory;
  const memory = () => memoryEvents(one.table("memory") ?? EMPTY_TABLE, 0);
  const steps = () => memorySteps(memory(), one.table("steps") ?? EMPTY_TABLE);

  it("is the peak, and what is live at a moment", () => {
    const events = memory();
    const peak = peakRow(events, null);
    const at = [events.stack[peak] + events.heap[peak], events.time[peak] / MS];
    expect(at).toEqual([expected.summary.peak_bytes, expected.summary.peak_at_ms]);
    for (const { at_ms, rows } of expected.live) {
      const found = liveAt(events, rowAt(events, at_ms * MS));
      const byBytes = (list: readonly Row[]) => [...list].sort((a, b) => Number(b.total_bytes) - Number(a.total_bytes));
      expectRows(
        byBytes(found.map((group) => ({ op: nameOf(group.op), n: group.count, total_bytes: group.allocatedBytes }))),
        byBytes(rows.map(({ op, occurrences, total_bytes }) => ({ op, n: occurrences, total_bytes }))),
      );
    }
  });

  /** Negative numbers stand for what has no op. */
  const nameOf = (op: number) => (op >= 0 ? one.meta.names[op] : "allocated before the capture");

  it("are events in a range", () => {
    for (const { range_ps, ...counts } of expected.counted) expect(countEvents(memory(), range_ps)).toEqual(counts);
  });

  it("is what each step did", () => {
    expectRows(
      steps().map((step) => ({
        ...{ step: step.step, peak_bytes: step.peakBytes, peak_at_ms: step.peakAtPs / MS },
        ...{ start_bytes: step.startBytes, end_bytes: step.endBytes, growth_bytes: step.endBytes - step.startBytes },
        ...{ n_allocations: step.nAllocations, allocated_bytes: step.allocatedBytes },
      })),
      expected.steps,
    );
  });

  it("is what is not given back", () => {
    expectRows(
      unfreedByOp(memory(), steps()).map((row) => ({
        ...{ op: nameOf(row.op), n_allocations: row.nAllocations, n_steps: row.nSteps },
        ...{ allocated_bytes: row.allocatedBytes, bytes_per_step: row.bytesPerStep, held_bytes: row.heldBytes },
      })),
      expected.unfreed,
    );
  });
});

describe("of the input, as Python has it,", () => {
  const expected = training.input;
  const calls = () => one.table("iterator_calls") ?? EMPTY_TABLE;

  it("are its ops and their categories", () => {
    const ops = inputOps(one.meta, (name) => one.table(name), null);
    expectSameRows(
      ops.map((op) => ({
        op: op.name,
        count: op.count,
        total: op.totalPs / MS,
        work: op.workPs / MS,
        waiting: op.waitPs / MS,
        is: op.category,
      })),
      expected.ops.map((op) => {
        const { total_time_ms: total, work_time_ms: work, waiting_time_ms: waiting } = op;
        return { op: op.op, count: op.count, total, work, waiting, is: op.category } as Row;
      }),
      ["op"],
    );
  });

  const nodes = () => one.meta.pipelines[0].nodes;
  const rowOf = (stats: ReturnType<typeof nodeStats>) => (node: number) => ({
    ...{ long_name: nodes()[node].long_name, calls: stats.calls[node], total_time_ms: stats.totalPs[node] / MS },
    ...{ self_time_ms: stats.selfPs[node] / MS, wait_time_ms: stats.waitPs[node] / MS },
    on_critical_path: stats.isBlocking[node] === 1,
  });

  it("is what each iterator cost, as a whole and in each execution, the slowest first", () => {
    const all = nodeStats(calls(), 0, nodes().length, null);
    expectSameRows([...nodes().keys()].map(rowOf(all)), expected.iterators, ["long_name"]);
    const ranked = executions(calls(), 0, null);
    const duration = numbers(calls(), "duration_ps");
    expect(ranked.map((row) => duration[row] / US)).toEqual(expected.executions.map(({ latency_us }) => latency_us));
    expect(latencyOf(calls(), ranked).nSlow).toBe(expected.executions.filter(({ is_slow }) => is_slow).length);
    for (const [rank, { iterators }] of expected.executions.entries()) {
      const own = executionStats(calls(), nodes().length, ranked[rank]);
      const took = [...nodes().keys()].filter((node) => own.calls[node] > 0);
      expectSameRows(took.map(rowOf(own)), iterators, ["long_name"]);
    }
  });

  it("is the share of each step, and the steps that count", () => {
    const steps = one.table("steps") ?? EMPTY_TABLE;
    const counted = new Set(countedSteps(steps, null));
    expectRows(
      [...inputShares(steps)].map((input_ratio, row) => ({ input_ratio, is_averaged: counted.has(row) })),
      expected.steps,
    );
    const { avg, sd, min, max } = statisticsOf([...counted].map((row) => numbers(steps, "duration_ps")[row] / MS));
    expectRows([{ avg, std: sd, min, max }], [training.overview.step_time_ms]);
  });
});

describe("of hosts that wait for each other, as Python has it,", () => {
  it("are their means, and what the stragglers cost", async () => {
    const { pack, means, stragglers } = vector<{
      readonly pack: SentPack;
      readonly means: readonly Row[];
      readonly stragglers: readonly StragglerMeta[];
    }>("workers");
    const { meta, table } = whole(await dataOf(pack));
    const steps = table("worker_steps") ?? EMPTY_TABLE;
    const names = meta.worker_hosts ?? [];
    const every = new Set(numbers(steps, "step"));
    expectSameRows(
      workerRows(steps, meta.categories, names.length, every).map((row) => ({
        ...{ host: names[row.host], step_time_ms: row.stepTimeMs },
        ...Object.fromEntries(meta.categories.map((category, i) => [`${category}_ms`, row.parts[i]])),
      })),
      means,
      ["host"],
    );
    const found = stragglersIn(steps, stragglers, meta.categories, names, every);
    expect(found.length).toBeGreaterThan(0);
    expectRows(found as unknown as readonly Row[], stragglers as unknown as readonly Row[]);
  });
});

describe("of the structure of a program, as Python has it,", () => {
  const { structure: sent, scope } = vector<{ readonly structure: StructureMeta; readonly scope: readonly Row[] }>(
    "structure",
  );

  it("are own and total figures of scopes and ops", () => {
    const structure = new Structure(sent);
    const tree = structure.tree("scope");
    for (const { key } of structure.figures) {
      if (!(key in scope[0])) continue;
      const { own, total } = nodeFigures(tree, structure.values(key));
      const sums = (rows: readonly Row[]) => rows.map(({ name, total }): Row => ({ name, total }));
      const scopes = tree.entries.map((_, row) => ({ name: scopePath(tree, row), total: total[row] })).slice(1);
      const ops = sent.names.map((name, op) => {
        return { name, own: own[nodeOfOp(tree, op)], total: total[nodeOfOp(tree, op)] };
      });
      const told = scope.slice(1).map((row): Row => ({ name: row.name, own: row[key], total: row[`total_${key}`] }));
      // A scope's own figure is that of the ops directly in it here, and none there.
      const names = new Set(sent.names);
      expectSameRows(scopes, sums(told.filter(({ name }) => !names.has(String(name)))), ["name"]);
      expectSameRows(
        ops,
        told.filter(({ name }) => names.has(String(name))),
        ["name"],
      );
      expect(total[0]).toBe(scope[0][`total_${key}`]);
    }
  });
});

it.each(vector<[string, string][]>("kernel_names"))("a person reads a kernel as in Python's report: %s", (name, read) =>
  expect(readableKernel(name)).toBe(read),
);

it.each(vector<[string, string][]>("kernel_names"))(
  "the short name of a kernel is no namespace and no type: %s",
  (name) => {
    for (const short of [shortName(name), shortKernel(readableKernel(name))]) {
      expect(short).not.toMatch(/^(?:void|static|inline|__global__)\b|::$|[<(]$/);
      expect(short.length > 0).toBe(name.length > 0);
    }
  },
);
