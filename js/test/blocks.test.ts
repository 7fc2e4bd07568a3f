import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Table } from "../src/data/pack";
import {
  type Blocks,
  blockAt,
  blocksOf,
  EDGE,
  freeAround,
  gapsAt,
  HATCH,
  largestFree,
  paintBlocks,
  placeOf,
  Raster,
} from "../src/model/blocks";
import { type MemoryEvents, memoryEvents } from "../src/model/memory";

const SESSIONS = [{ start_ps: 0, stop_ps: 100, host: "" }];
const GRAIN = 1000;

interface Drawn {
  readonly address: number;
  readonly bytes: number;
  /** -1: before the capture. */
  readonly from: number;
  /** -1: not given back. */
  readonly to: number;
}

/** The events of some blocks, of an allocator of which nothing else is known. */
function eventsOf(drawn: readonly Drawn[]): MemoryEvents {
  const moves = drawn.flatMap((block, k) => [
    ...(block.from < 0 ? [] : [{ k, at: block.from, isFree: 0, ...block }]),
    ...(block.to < 0 ? [] : [{ k, at: block.to, isFree: 1, ...block }]),
  ]);
  moves.sort((a, b) => a.at - b.at || b.isFree - a.isFree);
  const release = (k: number) => moves.findIndex((move) => move.k === k && move.isFree === 1);
  const n = moves.length;
  const none = () => new Float64Array(n);
  const columns: Table["columns"] = {
    allocator: new Uint8Array(n),
    session: new Int32Array(n),
    time_ps: Float64Array.from(moves, ({ at }) => at),
    is_free: Uint8Array.from(moves, ({ isFree }) => isFree),
    address: Float64Array.from(moves, ({ address, isFree, from }) => (isFree && from >= 0 ? 0 : address)),
    allocation_bytes: Float64Array.from(moves, ({ bytes }) => bytes),
    freed_at: Int32Array.from(moves, ({ k, isFree }) => (isFree ? -1 : release(k))),
    ...{ requested_bytes: none(), stack_bytes: none(), heap_bytes: none(), capacity_bytes: none() },
    ...{ taken_bytes: none(), largest_free_bytes: none(), op: new Int32Array(n), step: new Int32Array(n) },
    ...{ region: new Int32Array(n), dtype: new Int32Array(n), shape: new Int32Array(n) },
  };
  return memoryEvents({ n, columns }, 0);
}

/** Blocks that never overlap: of each slot of addresses a few times in turn. */
const drawings = fc
  .array(
    fc.record({
      slot: fc.integer({ min: 0, max: 11 }),
      bytes: fc.integer({ min: 1, max: GRAIN }),
      times: fc.uniqueArray(fc.integer({ min: 1, max: 99 }), { minLength: 1, maxLength: 6 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((slots) => {
    const bySlot = new Map(slots.map((one) => [one.slot, one]));
    return [...bySlot.values()].flatMap(({ slot, bytes, times }) => {
      const sorted = [...times].sort((a, b) => a - b);
      // An odd one begins before the capture; a last one may stay.
      const bounds = sorted.length % 2 ? [-1, ...sorted] : [...sorted, 99.5, -1];
      const address = 1 + slot * GRAIN;
      return Array.from({ length: bounds.length / 2 }, (_, k) => ({
        ...{ address, bytes },
        ...{ from: bounds[2 * k], to: bounds[2 * k + 1] },
      }));
    });
  });

/** By address whether a block holds it at a time, looked at one by one. */
function heldAt(drawn: readonly Drawn[], time: number): Uint8Array {
  const held = new Uint8Array(12 * GRAIN + 2);
  for (const { address, bytes, from, to } of drawn) {
    if ((from < 0 || from <= time) && (to < 0 || time < to)) held.fill(1, address, address + bytes);
  }
  return held;
}

describe("gaps between blocks", () => {
  it("are what no block holds of the addresses that were ever used", () => {
    fc.assert(
      fc.property(drawings, fc.integer({ min: 0, max: 99 }), (drawn, time) => {
        const blocks = blocksOf(eventsOf(drawn), SESSIONS);
        const held = heldAt(drawn, time);
        const free = new Uint8Array(held.length);
        for (const { from, to } of gapsAt(blocks, time)) free.fill(1, from, to);
        for (const { address, bytes } of blocks.regions) {
          const [own, others] = [free, held].map((one) => one.subarray(address, address + bytes));
          expect(own).toEqual(others.map((one) => 1 - one));
        }
      }),
    );
  });

  it("have the block or nothing at each place", () => {
    fc.assert(
      fc.property(
        drawings,
        fc.integer({ min: 0, max: 99 }),
        fc.integer({ min: 1, max: 12 * GRAIN }),
        (drawn, time, a) => {
          const blocks = blocksOf(eventsOf(drawn), SESSIONS);
          const isInside = blocks.regions.some(({ address, bytes }) => address <= a && a < address + bytes);
          fc.pre(isInside);
          const found = blockAt(blocks, time, placeOf(blocks.regions, a));
          expect(found >= 0).toBe(heldAt(drawn, time)[a] === 1);
          if (found >= 0)
            expect(blocks.address[found] <= a && a < blocks.address[found] + blocks.bytes[found]).toBe(true);
        },
      ),
    );
  });
});

describe("regions", () => {
  const far = (address: number): Drawn => ({ address, bytes: 100, from: 1, to: 9 });

  it("leave out long stretches of addresses that were never used", () => {
    const { regions, length } = blocksOf(eventsOf([far(1), far(101), far(1e9)]), SESSIONS);
    expect(regions.map(({ address, bytes }) => [address, bytes])).toEqual([
      [1, 200],
      [1e9, 100],
    ]);
    expect(length).toBeLessThan(400);
  });

  it("keep the order of addresses, however many they are, in room for twice what was used", () => {
    const { at, length } = blocksOf(eventsOf(Array.from({ length: 500 }, (_, k) => far(1 + k * 1e6))), SESSIONS);
    expect([...at]).toEqual([...at].sort((a, b) => a - b));
    expect(length).toBeLessThanOrEqual(1.5 * 500 * 100);
  });
});

describe("the largest free piece", () => {
  const MIB = 2 ** 20;
  const wall = (mib: number): Drawn => ({ address: mib * MIB, bytes: 10 * MIB, from: 1, to: -1 });
  const blocks = blocksOf(eventsOf([wall(10), wall(50), wall(70)]), SESSIONS);

  it("lies in the gap of the size that the allocator tells", () => {
    const piece = largestFree(blocks, 5, 30 * MIB, 40 * MIB);
    expect(piece).toEqual({ where: "inside", gap: { from: 20 * MIB, to: 50 * MIB, isInside: true } });
  });

  it("lies beyond what was used where that is larger than each gap", () => {
    expect(largestFree(blocks, 5, 900 * MIB, 950 * MIB)).toEqual({ where: "beyond" });
  });

  it("is nowhere for sure where a gap holds what was there before the capture", () => {
    expect(largestFree(blocks, 5, 20 * MIB, 25 * MIB)).toEqual({ where: "" });
  });

  it("is nowhere where the allocator tells of none", () => {
    const close = blocksOf(eventsOf([wall(10), { ...wall(20), address: 20 * MIB + 100 }]), SESSIONS);
    expect(largestFree(close, 5, 0, 0)).toEqual({ where: "" });
  });

  it("is free until a block touches it", () => {
    const guest: Drawn = { address: 30 * MIB, bytes: MIB, from: 20, to: 30 };
    const own = blocksOf(eventsOf([wall(10), wall(50), guest]), SESSIONS);
    const gap = { from: 20 * MIB, to: 50 * MIB, isInside: true };
    expect(freeAround(own, gap, 5, { t0: 0, t1: 100 })).toEqual({ t0: 0, t1: 20 });
    expect(freeAround(own, gap, 40, { t0: 0, t1: 100 })).toEqual({ t0: 30, t1: 100 });
  });
});

describe("the picture of blocks", () => {
  const painted = (drawn: readonly Drawn[], width: number, height: number, t1 = 100): [Raster, Blocks] => {
    const events = eventsOf(drawn);
    const blocks = blocksOf(events, SESSIONS);
    const out = new Raster(width, height);
    const color = Uint8Array.from(blocks.row, (row) => events.op[row]);
    paintBlocks(blocks, events, color, { t0: 0, t1, low: 0, high: blocks.length }, out);
    return [out, blocks];
  };

  it("covers as much of time and addresses as the blocks do, at any size", () => {
    fc.assert(
      fc.property(drawings, fc.constantFrom(7, 100, 1000), (drawn, width) => {
        const [{ cover }, blocks] = painted(drawn, width, 400);
        let area = 0;
        for (let k = 0; k < blocks.n; k++) area += (blocks.end[k] - blocks.start[k]) * blocks.bytes[k];
        const part = cover.reduce((sum, one) => sum + one, 0) / cover.length;
        // Edges are whole pixels: each may be off by half of one.
        expect(part).toBeCloseTo(area / 100 / blocks.length, width < 100 ? -0.5 : 1);
      }),
      { numRuns: 30 },
    );
  });

  it("has the first addresses at the bottom, an edge, and hatches what the capture does not show", () => {
    const drawn = [
      { address: 1, bytes: 50, from: 10, to: -1 },
      { address: 51, bytes: 50, from: -1, to: 60 },
    ];
    const [{ color }] = painted(drawn, 100, 100);
    const at = (x: number, y: number) => color[y * 100 + x];
    expect([at(5, 90), at(50, 90), at(99, 90)]).toEqual([0, 1, 1 | HATCH]);
    expect(at(10, 90)).toBe(1 | EDGE);
    expect([at(20, 20), at(59, 20), at(61, 20)]).toEqual([1 | HATCH, 1 | HATCH, 0]);
  });

  it("shows as much of a hundred thousand blocks", () => {
    const n = 100_000;
    const drawn = Array.from({ length: n }, (_, k) => ({
      ...{ address: 1 + (k % 1000) * GRAIN, bytes: GRAIN },
      ...{ from: Math.floor(k / 1000) + 0.1, to: Math.floor(k / 1000) + 0.9 },
    }));
    const events = eventsOfSorted(drawn);
    const blocks = blocksOf(events, SESSIONS);
    const out = new Raster(1200, 260);
    const color = new Uint8Array(blocks.n);
    const window = { t0: 0, t1: 100, low: 0, high: blocks.length };
    paintBlocks(blocks, events, color, window, out);
    expect(blocks.n).toBe(n);
    expect(out.cover.reduce((sum, part) => sum + part, 0) / out.cover.length).toBeCloseTo(0.8, 1);
  });
});

/** As `eventsOf`, for many blocks whose times do not cross: a row of the allocation, one of the release. */
function eventsOfSorted(drawn: readonly Drawn[]): MemoryEvents {
  const n = 2 * drawn.length;
  const f8 = (value: (block: Drawn, isFree: boolean) => number) =>
    Float64Array.from({ length: n }, (_, i) => value(drawn[i >> 1], i % 2 === 1));
  const columns: Table["columns"] = Object.fromEntries(
    ["allocator", "session", "requested_bytes", "stack_bytes", "heap_bytes", "capacity_bytes", "taken_bytes"]
      .concat(["largest_free_bytes", "op", "step", "region", "dtype", "shape"])
      .map((name) => [name, new Float64Array(n)]),
  );
  return memoryEvents(
    {
      n,
      columns: {
        ...columns,
        time_ps: f8(({ from, to }, isFree) => (isFree ? to : from)),
        is_free: f8((_, isFree) => Number(isFree)),
        address: f8(({ address }, isFree) => (isFree ? 0 : address)),
        allocation_bytes: f8(({ bytes }) => bytes),
        freed_at: Float64Array.from({ length: n }, (_, i) => (i % 2 ? -1 : i + 1)),
      },
    },
    0,
  );
}
