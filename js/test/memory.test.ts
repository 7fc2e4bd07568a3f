import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TraceMeta } from "../src/data/meta";
import type { Table } from "../src/data/pack";
import { fullestAllocator } from "../src/model/lod";
import {
  bytesInUse,
  byteUnit,
  envelope,
  heldBy,
  isFreeInformative,
  liveAt,
  type MemoryEvents,
  memoryEvents,
  OpPlaces,
  peakRow,
  REMAINDER,
  rowAt,
  STACK,
  stepCurves,
} from "../src/model/memory";

interface Action {
  readonly gap: number;
  /** Bytes to allocate, or 0 to free the oldest live allocation. */
  readonly bytes: number;
  readonly op: number;
}

const actions = fc.array(
  fc.record({
    gap: fc.integer({ min: 0, max: 5 }),
    bytes: fc.integer({ min: 0, max: 9 }),
    op: fc.integer({ min: 0, max: 2 }),
  }),
  { minLength: 1, maxLength: 80 },
);
const BEFORE = 4;

/** An allocator's events, where 4 bytes were there before; other allocators stand around it in the table. */
function makeTable(list: readonly Action[], stackBytes = 0): Table {
  const rows: { time: number; free: number; bytes: number; op: number; heap: number; freedAt: number }[] = [];
  rows.push({ time: 0, free: 0, bytes: 1, op: 0, heap: 1, freedAt: -1 });
  let time = 0;
  let heap = BEFORE;
  const live: number[] = [];
  for (const { gap, bytes, op } of list) {
    time += gap;
    const isFree = bytes === 0 && live.length > 0;
    const oldest = isFree ? (live.shift() as number) : -1;
    if (isFree) rows[oldest].freedAt = rows.length;
    else live.push(rows.length);
    const size = isFree ? rows[oldest].bytes : bytes;
    heap += isFree ? -size : size;
    rows.push({ time, free: isFree ? 1 : 0, bytes: size, op: isFree ? rows[oldest].op : op, heap, freedAt: -1 });
  }
  rows.push({ time: 0, free: 0, bytes: 1, op: 0, heap: 1, freedAt: -1 });
  const f8 = (value: (row: (typeof rows)[number]) => number) => Float64Array.from(rows, value);
  const none = () => new Int32Array(rows.length).fill(-1);
  return {
    n: rows.length,
    columns: {
      allocator: Uint8Array.from(rows, (_, i) => (i === 0 ? 0 : i === rows.length - 1 ? 2 : 1)),
      session: new Int32Array(rows.length),
      time_ps: f8((row) => row.time),
      is_free: Uint8Array.from(rows, (row) => row.free),
      requested_bytes: f8((row) => row.bytes),
      allocation_bytes: f8((row) => row.bytes),
      stack_bytes: f8(() => stackBytes),
      heap_bytes: f8((row) => row.heap),
      capacity_bytes: f8(() => 1000 + stackBytes),
      taken_bytes: new Float64Array(rows.length),
      largest_free_bytes: f8((row) => 1000 - row.heap),
      address: new Float64Array(rows.length),
      op: Int32Array.from(rows, (row) => row.op),
      step: none(),
      region: none(),
      dtype: none(),
      shape: none(),
      freed_at: Int32Array.from(rows, (row) => row.freedAt),
    },
  };
}

const eventsOf = (list: readonly Action[], stackBytes = 0): MemoryEvents =>
  memoryEvents(makeTable(list, stackBytes), 1);
const used = (events: MemoryEvents, row: number) => events.stack[row] + events.heap[row];

describe("memory events", () => {
  it("are the rows of one allocator only", () => {
    const events = eventsOf([{ gap: 1, bytes: 3, op: 0 }]);
    expect([events.begin, events.end]).toEqual([1, 2]);
  });
});

describe("envelope", () => {
  it("keeps the highest and lowest use of every pixel column, in time order", () => {
    const columns = fc.integer({ min: 1, max: 12 });
    fc.assert(
      fc.property(actions, columns, (list, n) => {
        const events = eventsOf(list);
        const t1 = events.time[events.end - 1] + 1;
        const { rows, nInWindow } = envelope(events, 0, t1, n);
        expect(nInWindow).toBe(events.end - events.begin);
        expect([...rows]).toEqual([...rows].sort((a, b) => a - b));
        for (let c = 0; c < n; c++) {
          const own = range(events.begin, events.end).filter(
            (i) => Math.min(n - 1, Math.floor(events.time[i] / (t1 / n))) === c,
          );
          const kept = own.filter((i) => rows.includes(i));
          const levels = (at: readonly number[]) => at.map((i) => used(events, i));
          expect(Math.max(...levels(kept))).toBe(Math.max(...levels(own)));
          expect(Math.min(...levels(kept))).toBe(Math.min(...levels(own)));
        }
      }),
    );
  });

  it("keeps at most seven rows a column, and all rows when there are few", () => {
    const many = eventsOf(Array.from({ length: 5000 }, (_, i) => ({ gap: 1, bytes: (i * 7) % 10, op: 0 })));
    expect(envelope(many, 0, 5001, 50).rows.length).toBeLessThanOrEqual(7 * 50);
    expect(envelope(many, 10, 20, 50).rows.length).toBe(12);
  });

  it("begins with the level before the first event, which undoes that one", () => {
    const events = eventsOf([
      { gap: 5, bytes: 3, op: 0 },
      { gap: 1, bytes: 4, op: 0 },
    ]);
    const { rows } = envelope(events, 0, 20, 10);
    const { time, used: level } = stepCurves(rows, 0, 20, { used: (row) => bytesInUse(events, row) }, events.time);
    expect(level[0]).toBe(used(events, events.begin) - 3);
    expect([level[1], level[2]]).toEqual([level[0], used(events, events.begin)]);
    expect([...time].slice(0, 3)).toEqual([0, 5e-9, 5e-9]);
    expect([...envelope(events, 0, 1, 10).rows]).toEqual([~events.begin]);
  });

  it("begins with the level that a window finds", () => {
    const events = eventsOf([
      { gap: 1, bytes: 5, op: 0 },
      { gap: 9, bytes: 5, op: 0 },
    ]);
    expect([...envelope(events, 4, 6, 10).rows]).toEqual([events.begin]);
  });
});

describe("peakRow", () => {
  it("has the most in use of what a range sees, the last one on ties", () => {
    const bound = fc.integer({ min: -2, max: 200 });
    fc.assert(
      fc.property(actions, bound, bound, (list, a, b) => {
        const events = eventsOf(list);
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        const inside = range(events.begin, events.end).filter((i) => events.time[i] > from && events.time[i] < to);
        const before = rowAt(events, from);
        const seen = before >= 0 && (events.time[before] < to || from < to) ? [before, ...inside] : inside;
        const peak = peakRow(events, [from, to]);
        if (seen.length === 0 || from === to) return;
        const most = Math.max(...seen.map((i) => used(events, i)));
        expect(peak).toBe(seen.filter((i) => used(events, i) === most).pop());
      }),
    );
  });

  it("is -1 for an allocator without events", () => {
    expect(peakRow(memoryEvents(makeTable([]), 3), null)).toBe(-1);
  });
});

describe("liveAt", () => {
  it("adds up to what is in use, with the remainder from before the capture", () => {
    fc.assert(
      fc.property(actions, fc.nat(), (list, pick) => {
        const events = eventsOf(list, 6);
        const row = events.begin + (pick % (events.end - events.begin));
        const groups = liveAt(events, row);
        expect(groups.reduce((sum, group) => sum + group.allocatedBytes, 0)).toBe(used(events, row));
        expect(groups.find((group) => group.op === REMAINDER)?.allocatedBytes).toBe(BEFORE);
        expect(groups.find((group) => group.op === STACK)?.allocatedBytes).toBe(6);
      }),
    );
  });

  it("counts only allocations of the row's own session, since what an earlier one left may be gone", () => {
    const table = makeTable([
      { gap: 1, bytes: 5, op: 1 },
      { gap: 1, bytes: 3, op: 2 },
    ]);
    const columns = { ...table.columns, session: Int32Array.of(0, 0, 1, 1) };
    const events = memoryEvents({ ...table, columns }, 1);
    expect(liveAt(events, 1).map((group) => [group.op, group.allocatedBytes])).toEqual([
      [1, 5],
      [REMAINDER, BEFORE],
    ]);
    expect(liveAt(events, 2).map((group) => [group.op, group.allocatedBytes])).toEqual([
      [REMAINDER, BEFORE + 5],
      [2, 3],
    ]);
    expect([...heldBy(events, new Set([1]))]).toEqual([5, 0]);
  });

  it("knows before the first event what that one found", () => {
    const events = eventsOf([{ gap: 1, bytes: 5, op: 1 }]);
    expect(liveAt(events, -1).map((group) => [group.op, group.allocatedBytes])).toEqual([[REMAINDER, BEFORE]]);
  });

  it("agrees with the bytes that its ops hold", () => {
    fc.assert(
      fc.property(actions, fc.nat(), (list, pick) => {
        const events = eventsOf(list);
        const row = events.begin + (pick % (events.end - events.begin));
        const held = heldBy(events, new Set([1]))[row - events.begin];
        expect(liveAt(events, row).find((group) => group.op === 1)?.allocatedBytes ?? 0).toBe(held);
      }),
    );
  });
});

describe("what is drawn of memory", () => {
  it("leaves free bytes out where they would flatten the rest", () => {
    const events = eventsOf([{ gap: 1, bytes: 9, op: 0 }]);
    expect(isFreeInformative(events, events.begin)).toBe(false);
    const full = eventsOf(Array.from({ length: 80 }, () => ({ gap: 1, bytes: 9, op: 0 })));
    expect(isFreeInformative(full, full.end - 1)).toBe(true);
  });

  it("holds a level until the next row changes it", () => {
    const events = eventsOf([
      { gap: 2e9, bytes: 5, op: 0 },
      { gap: 4e9, bytes: 3, op: 0 },
    ]);
    const curves = stepCurves(Int32Array.of(1, 2), 3e9, 10e9, { heap: (row) => events.heap[row] }, events.time);
    expect([...curves.time]).toEqual([3, 6, 6, 10]);
    expect([...curves.heap]).toEqual([9, 9, 12, 12]);
  });

  it("chooses the unit in which the largest value has a digit before the point", () => {
    expect(byteUnit(3 * 2 ** 30)[1]).toBe("GiB");
    expect(byteUnit(1023)[1]).toBe("B");
  });
});

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}

describe("memory of a device beside that of its host", () => {
  const counters = [
    { kind: "memory", name: "mklcpu", max: 9 },
    { kind: "memory", name: "GPU_0_bfc", max: 2 },
  ];
  const pinned = (meta: object) => fullestAllocator({ counters, ...meta } as unknown as TraceMeta);

  it("comes first, however little it is", () => {
    expect(pinned({ device_memory: { allocator: "GPU_0_bfc" } })).toBe(1);
    expect(pinned({ device_memory: null })).toBe(0);
  });

  it("is of the layer that Python charges, also for ops that never ran or are not named", () => {
    const layers = [
      { layer: "dense", allocating: ["dense/kernel/Initializer/zeros"] },
      { layer: "not in a layer", allocating: [""] },
    ];
    const places = new OpPlaces({ layers, op_name: [], names: [] } as unknown as TraceMeta);
    expect(places.of("dense/kernel/Initializer/zeros", "layer")).toBe("dense");
    expect(places.of("", "layer")).toBe("not in a layer");
    expect(places.of("", "line")).toBe("");
    expect(places.of("else", "layer")).toBe("");
  });
});
