import { describe, expect, it } from "vitest";
import { partOf } from "../src/data/columns";
import type { StragglerMeta } from "../src/data/meta";
import type { Table } from "../src/data/pack";
import {
  hostGrid,
  hostMatrix,
  medianOfOthers,
  rangeOf,
  shortHosts,
  stragglersIn,
  workerRows,
} from "../src/model/hosts";
import { median } from "../src/model/steps";
import { verdict } from "../src/views/worker_chart/heat_map";
import { vector } from "./vectors";

const CATEGORIES = ["input", "host_compute", "device_collectives"];

interface Vector {
  readonly name: string;
  readonly input_ms: readonly (readonly number[])[];
  readonly host_compute_ms: readonly (readonly number[])[];
  readonly stragglers: readonly StragglerMeta[];
}
/** What Python says of them; each step ends 1 ms after its last host arrived. */
const VECTORS = vector<readonly Vector[]>("stragglers");

/** Hosts that wait for the slowest in each step: ms of input and compute by step and host, then 1 ms of exchange. */
function synchronous(input: readonly (readonly number[])[], compute: readonly (readonly number[])[] = []) {
  const rows = input.flatMap((ofStep, step) => {
    const own = ofStep.map((ms, host) => ms + (compute[step]?.[host] ?? 2));
    const end = Math.max(...own) + 1;
    return ofStep.map((ms, host) => ({ host, step, ms, own: own[host], end }));
  });
  const column = (of: (row: (typeof rows)[number]) => number) => Float64Array.from(rows, of);
  const table: Table = {
    n: rows.length,
    columns: {
      host: Int32Array.from(rows, ({ host }) => host),
      step: Int32Array.from(rows, ({ step }) => step),
      row: Int32Array.from(rows, (_, i) => i),
      step_time_ms: column(({ end }) => end),
      input_ms: column(({ ms }) => ms),
      host_compute_ms: column(({ own, ms }) => own - ms),
      device_collectives_ms: column(({ end, own }) => end - own),
    },
  };
  const names = input[0].map((_, host) => `worker${host}`);
  const chosen = new Set(input.keys());
  return { table, names, chosen, rows: workerRows(table, CATEGORIES, names.length, chosen) };
}

const hostAndCategory = (host: string, category: string): StragglerMeta => {
  return { host, category, n_steps: 0, n_aligned: 0, excess_ms: 0, cost_ms: 0, cost_ratio: 0 };
};

/** What hosts that Python named cost. */
function found(drawn: ReturnType<typeof synchronous>, named: readonly string[], chosen = drawn.chosen) {
  const stragglers = named.map((host) => hostAndCategory(host, ""));
  return stragglersIn(drawn.table, stragglers, CATEGORIES, drawn.names, chosen);
}

const judged = (stragglers: readonly StragglerMeta[]) => ({ waits: true, stragglers, isJudged: true });

describe("stragglers", () => {
  const drawn = synchronous([
    [0.4, 4.5, 0.4, 0.4],
    [0.4, 4.5, 0.4, 0.4],
  ]);

  it("are those the others wait for, with the category and what a step would take without them", () => {
    const all = found(drawn, ["worker1"]);
    expect(all).toHaveLength(1);
    expect(all[0]).toMatchObject({ host: "worker1", category: "input", n_steps: 2, n_aligned: 2 });
    expect(all[0].excess_ms).toBeCloseTo(4.1);
    expect(all[0].cost_ms).toBeCloseTo(4.1);
    expect(verdict(drawn.rows, drawn.names, CATEGORIES, judged(all))).toBe(
      "worker1 holds the others up: its input takes 4.10 ms longer than the median; without it a step would take 3.40 ms instead of 7.50 ms (55 % less).",
    );
  });

  it("of several are told together, the costliest by name", () => {
    const two = synchronous([[0.4, 4.5, 0.4, 0.4, 2.4, 0.4]]);
    const all = found(two, ["worker4", "worker1"]);
    expect(all.map(({ host }) => host)).toEqual(["worker1", "worker4"]);
    expect(verdict(two.rows, two.names, CATEGORIES, judged(all))).toMatch(
      /^2 hosts hold the others up, worker1 the most: .* without them a step would take 3.40 ms/,
    );
  });

  it("are none where hosts are even, and the sentence says so", () => {
    const even = synchronous([[0.4, 0.41, 0.4, 0.4]]);
    expect(found(even, [])).toEqual([]);
    expect(verdict(even.rows, even.names, CATEGORIES, judged([]))).toMatch(
      /^The hosts are even: each works 2.40 to 2.41 ms of a step of 3.41 ms/,
    );
  });

  it("are named by all steps alone: in few of them a late host is told of, but not blamed", () => {
    expect(found(drawn, [])).toEqual([]);
    const few = { waits: true, stragglers: [], isJudged: false };
    expect(verdict(drawn.rows, drawn.names, CATEGORIES, few)).toBe(
      "The hosts work 2.40 to 6.50 ms of a step of 7.50 ms, worker1 the longest; the rest is communication.",
    );
  });

  it("that were not late in the chosen steps are not told of them", () => {
    const once = synchronous([
      [0.4, 4.5, 0.4],
      [0.4, 0.3, 0.4],
    ]);
    expect(found(once, ["worker1"])).toMatchObject([{ n_steps: 1, n_aligned: 2 }]);
    expect(found(once, ["worker1"], new Set([1]))).toEqual([]);
  });

  it("are not told of where hosts do not wait for each other, whatever they wait for", () => {
    const apart = { waits: false, stragglers: [], isJudged: true };
    const uneven = synchronous([[0.4, 4.5]]);
    expect(verdict(uneven.rows, uneven.names, CATEGORIES, apart)).toMatch(/^The hosts take the same time/);
  });

  it.each(VECTORS)("cost what Python says: $name", (vector) => {
    const own = synchronous(vector.input_ms, vector.host_compute_ms);
    const named = vector.stragglers.map(({ host }) => host);
    const all = found(own, named);
    expect(all.map(({ host, category, n_steps, n_aligned }) => [host, category, n_steps, n_aligned])).toEqual(
      vector.stragglers.map(({ host, category, n_steps, n_aligned }) => [host, category, n_steps, n_aligned]),
    );
    for (const [i, { excess_ms, cost_ms, cost_ratio }] of vector.stragglers.entries()) {
      expect(all[i].excess_ms).toBeCloseTo(excess_ms);
      expect(all[i].cost_ms).toBeCloseTo(cost_ms);
      expect(all[i].cost_ratio).toBeCloseTo(cost_ratio);
    }
  });

  it.each([
    [[], 0],
    [[3], 3],
    [[4, 1], 2.5],
    [[9, 1, 2], 2],
  ])("stand beside the median of the hosts: of %j it is %d", (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  it.each([
    [3, [3, 5], 5],
    [5, [3, 5], 3],
    [2, [1, 2, 9], 5],
    [9, [1, 2, 9], 1.5],
    [1, [1, 1, 2, 4], 2],
  ])("compare with the median of the others: without %d, of %j it is %d", (value, sorted, expected) => {
    expect(medianOfOthers(value, sorted)).toBe(expected);
  });
});

describe("the grid of hosts and steps", () => {
  const N_HOSTS = 1000;
  const N_STEPS = 300;
  const values = new Float32Array(N_HOSTS * N_STEPS).fill(1);
  values[737 * N_STEPS + 123] = 9;
  const order = Array.from({ length: N_HOSTS }, (_, host) => host);

  it.each([
    [1000, 300],
    [150, 200],
    [7, 3],
    [1, 1],
  ])("never hides the one large value, in %d rows and %d columns", (rows, columns) => {
    const grid = hostGrid(values, N_STEPS, order, { rows, columns });
    expect([grid.nRows, grid.nColumns]).toEqual([rows, columns]);
    const at = grid.value.indexOf(9);
    expect([grid.host[at], grid.step[at]]).toEqual([737, 123]);
    expect(at).toBe(partOf(grid.firstPlace, 737) * grid.nColumns + partOf(grid.firstStep, 123));
  });

  it("gives each straggler a row of its own, however many hosts share one", () => {
    const alone = new Set([737, 738, 5]);
    const slowestFirst = [737, 738, 5, ...order.filter((host) => !alone.has(host))];
    for (const places of [order, slowestFirst]) {
      const grid = hostGrid(values, N_STEPS, places, { rows: 150, columns: 10 }, alone);
      expect(grid.nRows).toBeLessThanOrEqual(150);
      for (const host of alone) {
        const row = partOf(grid.firstPlace, places.indexOf(host));
        expect(grid.firstPlace[row + 1] - grid.firstPlace[row]).toBe(1);
      }
    }
    const all = hostGrid(values, N_STEPS, order, { rows: 150, columns: 10 }, new Set(order));
    expect(all.nRows).toBe(150);
  });

  it("follows the order asked for and has no more rows than hosts", () => {
    const grid = hostGrid(Float32Array.of(1, 2, 3, 4), 2, [1, 0], { rows: 50, columns: 50 });
    expect([...grid.value]).toEqual([3, 4, 1, 2]);
    expect([...grid.host]).toEqual([1, 1, 0, 0]);
  });

  it("is of values that go by step, then host", () => {
    expect([...hostMatrix([1, 2, 3, 4, 5, 6], 2, 3)]).toEqual([1, 3, 5, 2, 4, 6]);
  });

  it("has the range of the steps that count, so that one that compiles does not pale all others", () => {
    expect(rangeOf(Float32Array.of(900, 2, 800, 3), 2, new Set([1]))).toEqual([2, 3]);
    expect(rangeOf(new Float32Array(), 0, new Set())).toEqual([0, 0]);
  });
});

describe("short names of hosts", () => {
  it.each([
    [["worker0030", "worker0031"], ["0030", "0031"], "worker"],
    [["a/worker-00042.c.p.internal", "a/worker-00142.c.p.internal"], ["00042", "00142"], "a/worker-"],
    [["10.0.0.1_6101", "10.0.0.2_6101"], ["1", "2"], "10.0.0."],
    [["chief", "ps"], ["chief", "ps"], ""],
    [["node", "node1"], ["node", "node1"], ""],
    [["alone"], ["alone"], ""],
  ])("of %j are %j", (names, short, prefix) => {
    expect(shortHosts(names)).toEqual({ short, prefix });
  });
});
