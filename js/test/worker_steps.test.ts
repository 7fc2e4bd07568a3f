import { describe, expect, it } from "vitest";
import type { Table } from "../src/data/pack";
import { alignedIn, alignedOf, rowsOf, usualSteps, workerRows } from "../src/model/hosts";
import { shortestSuffixes } from "../src/model/names";
import { card, verdict } from "../src/views/worker_chart/heat_map";

const CATEGORIES = ["input", "host_compute"];
const HOSTS = ["a", "b"];
/** Two hosts, three steps; the rows of the steps table alternate between the hosts. */
const TABLE: Table = {
  n: 6,
  columns: {
    host: Int32Array.of(0, 1, 0, 1, 0, 1),
    step: Int32Array.of(0, 0, 1, 1, 2, 2),
    row: Int32Array.of(0, 1, 2, 3, 4, 5),
    step_time_ms: Float64Array.of(100, 90, 10, 16, 12, 18),
    input_ms: Float64Array.of(90, 80, 1, 7, 1, 9),
    host_compute_ms: Float64Array.of(10, 10, 9, 9, 11, 9),
  },
};
const MS = 1e9;
const STEPS: Table = {
  n: 6,
  columns: {
    start_ps: Float64Array.of(0, 1 * MS, 100 * MS, 101 * MS, 120 * MS, 121 * MS),
    duration_ps: Float64Array.of(100 * MS, 90 * MS, 10 * MS, 16 * MS, 12 * MS, 18 * MS),
  },
};

/** Hosts that do not wait for each other. */
const APART = { waits: false, stragglers: [], isJudged: true };

describe("steps of several hosts", () => {
  it("are averaged host by host, and name what each waits for and how far it is behind", () => {
    const rows = workerRows(TABLE, CATEGORIES, 2, new Set([1, 2]));
    expect(rows).toEqual([
      { host: 0, stepTimeMs: 11, ownMs: 11, parts: [1, 10], bottleneck: 1, behindMs: 0 },
      { host: 1, stepTimeMs: 17, ownMs: 17, parts: [8, 9], bottleneck: 1, behindMs: 6 },
    ]);
    expect(verdict(rows, HOSTS, CATEGORIES, APART)).toBe(
      "b is the slowest: 17.0 ms, 6.00 ms more than a; input takes 7.00 ms more.",
    );
    expect(card(rows[1], "b", CATEGORIES, "mean of 2 steps")).toEqual({
      title: "b",
      lines: [
        "mean of 2 steps: 17.0 ms",
        "Input 8.00 ms · 47 %",
        "Host compute 9.00 ms · 53 % · bottleneck",
        "6.00 ms behind the fastest host",
      ],
    });
  });

  it("that take about the same time accuse nobody", () => {
    const rows = workerRows(TABLE, CATEGORIES, 2, new Set([1])).map((row) => ({ ...row, stepTimeMs: 10, behindMs: 0 }));
    expect(verdict(rows, HOSTS, CATEGORIES, APART)).toMatch(/^The hosts take the same time: /);
    expect(verdict(rows.slice(0, 1), HOSTS, CATEGORIES, APART)).toBe("");
  });

  it("leave out the steps that averages leave out, unless there is no other", () => {
    expect([...usualSteps(TABLE, [0, 1, 1, 1, 1, 1])]).toEqual([1, 2]);
    expect([...usualSteps(TABLE, [0, 0, 0, 0, 0, 0])]).toEqual([0, 1, 2]);
  });

  it("are found by a row of the steps table and by a time range", () => {
    expect(alignedOf(TABLE, 3)).toBe(1);
    expect(alignedOf(TABLE, 17)).toBe(-1);
    expect(rowsOf(TABLE, 2, 2)).toEqual([4, 5]);
    expect([...alignedIn(TABLE, STEPS, [100 * MS, 140 * MS])]).toEqual([1, 2]);
    expect([...alignedIn(TABLE, STEPS, [100 * MS, 110 * MS])]).toEqual([1]);
    expect([...alignedIn(TABLE, STEPS, [5 * MS, 6 * MS])]).toEqual([]);
  });
});

describe("shortest suffixes", () => {
  it("tell paths apart by as few last parts as do", () => {
    const paths = ["/a/b/x.py", "/a/c/x.py", "/a/y.py", "/a/b/x.py"].map((path) => path.split("/"));
    expect(shortestSuffixes(paths, "/")).toEqual(["b/x.py", "c/x.py", "y.py", "b/x.py"]);
    expect(shortestSuffixes([["z"], ["a", "z"]], "/")).toEqual(["z", "a/z"]);
  });
});
