import { describe, expect, it } from "vitest";
import { arrowsAt, chainOf, FLOW_KINDS, follow } from "../src/model/rows";
import { draw } from "./drawn_events";

const ALL = FLOW_KINDS.map(() => 1);
const [LAUNCH, PRODUCER] = [0, 1];

// A call (0) starts a task on another thread (4); the op in it (5) launches (6) a kernel (7), which sends (8).
const slices = [
  { line: 0, start: 0, duration: 10, name: 0 },
  { line: 0, start: 20, duration: 10, name: 1 },
  { line: 0, start: 40, duration: 10, name: 2 },
  { line: 0, start: 60, duration: 10, name: 3 },
  { line: 1, start: 15, duration: 80, name: 4 },
  { line: 1, start: 20, duration: 30, name: 5 },
  { line: 1, start: 25, duration: 5, name: 6 },
  { line: 2, start: 40, duration: 20, name: 7 },
  { line: 3, start: 70, duration: 5, name: 8 },
];
const flows = [
  { from: 0, to: 4, kind: PRODUCER },
  { from: 6, to: 7, kind: LAUNCH },
  { from: 7, to: 8, kind: 4 },
];
const pairs = (arrows: readonly { from: number; to: number }[]) => arrows.map(({ from, to }) => [from, to]);

describe("arrows of an event", () => {
  const { events } = draw(slices, { edges: [35], flows });

  it("lead up from what is around it, and down from what is inside it", () => {
    expect(pairs(arrowsAt(events, 6, "up", ALL))).toEqual([[0, 4]]);
    expect(pairs(arrowsAt(events, 5, "down", ALL))).toEqual([[6, 7]]);
    expect(arrowsAt(events, 0, "up", ALL)).toEqual([]);
  });

  it("are those of the kinds that are shown", () => {
    const shown = FLOW_KINDS.map((kind) => Number(kind === "launch"));
    expect(pairs(arrowsAt(events, 7, "up", shown))).toEqual([[6, 7]]);
    expect(arrowsAt(events, 7, "down", shown)).toEqual([]);
    expect(follow(events, 7, "down", shown)).toBe(-1);
  });

  it("make a chain in both directions, hop by hop", () => {
    const { arrows, nMore, nAbsent } = chainOf(events, 7, ALL, 100);
    expect(arrows.map(({ from, to, hop }) => [from, to, hop])).toEqual([
      [6, 7, 1],
      [0, 4, 2],
      [7, 8, 1],
    ]);
    expect([nMore, nAbsent]).toEqual([0, 0]);
  });

  it("say what the limit left out", () => {
    const many = draw(
      slices.map((slice) => slice),
      { flows: [0, 1, 2, 3].map((from) => ({ from, to: 4, kind: PRODUCER })) },
    );
    const { arrows, nMore } = chainOf(many.events, 4, ALL, 3);
    expect(arrows).toHaveLength(3);
    expect(nMore).toBe(1);
  });

  it("do not run in circles", () => {
    const round = draw(slices, {
      flows: [
        { from: 0, to: 4, kind: PRODUCER },
        { from: 4, to: 0, kind: PRODUCER },
      ],
    });
    expect(pairs(chainOf(round.events, 0, ALL, 100).arrows).sort()).toEqual([
      [0, 4],
      [0, 4],
      [4, 0],
      [4, 0],
    ]);
  });

  it("can be followed by keys in either direction", () => {
    expect(follow(events, 7, "up", ALL)).toBe(6);
    expect(follow(events, 7, "down", ALL)).toBe(8);
    expect(follow(events, 4, "up", ALL)).toBe(0);
  });

  it("say which ends have not arrived", () => {
    const half = draw(slices, { edges: [35], flows, arrived: [0] });
    expect(chainOf(half.events, 6, ALL, 100)).toMatchObject({ nAbsent: 1 });
    expect(follow(half.events, 6, "down", ALL)).toBe(-1);
  });
});
