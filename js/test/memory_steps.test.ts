/** Memory by step, by lifetime and by op: the same rules, on the same drawn runs, as tests/unit/analysis/memory/test_memory.py. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Table } from "../src/data/pack";
import { type MemoryEvents, memoryEvents, memorySteps, unfreedByOp } from "../src/model/memory";

const STEP = 100;
const WORK = 0;
const LOST = 1;

interface Move {
  readonly at: number;
  readonly address: number;
  /** Bytes to allocate; 0 gives the address back. */
  readonly bytes: number;
  readonly op?: number;
  readonly session?: number;
}

/** The events of one allocator, in which `base` bytes were in use before. */
function drawn(moves: readonly Move[], base = 0): MemoryEvents {
  const live = new Map<number, number>();
  const freedAt = new Int32Array(moves.length).fill(-1);
  const size = new Float64Array(moves.length);
  const heap = new Float64Array(moves.length);
  let used = base;
  for (const [i, { address, bytes }] of moves.entries()) {
    if (bytes > 0) live.set(address, i);
    else freedAt[live.get(address) as number] = i;
    size[i] = bytes || size[live.get(address) as number];
    used += bytes > 0 ? size[i] : -size[i];
    heap[i] = used;
  }
  const none = () => new Int32Array(moves.length).fill(-1);
  const table: Table = {
    n: moves.length,
    columns: {
      allocator: new Uint8Array(moves.length),
      session: Int32Array.from(moves, ({ session }) => session ?? 0),
      time_ps: Float64Array.from(moves, ({ at }) => at),
      is_free: Uint8Array.from(moves, ({ bytes }) => (bytes > 0 ? 0 : 1)),
      requested_bytes: size,
      allocation_bytes: size,
      stack_bytes: new Float64Array(moves.length),
      heap_bytes: heap,
      capacity_bytes: new Float64Array(moves.length),
      taken_bytes: new Float64Array(moves.length),
      largest_free_bytes: new Float64Array(moves.length),
      address: Float64Array.from(moves, ({ address, bytes }) => (bytes > 0 ? address : 0)),
      op: Int32Array.from(moves, ({ op }) => op ?? WORK),
      step: Int32Array.from(moves, ({ at }) => Math.floor(at / STEP)),
      region: none(),
      dtype: none(),
      shape: none(),
      freed_at: freedAt,
    },
  };
  return memoryEvents(table, 0);
}

function stepsTable(n: number, session = 0): Table {
  return {
    n,
    columns: {
      session: new Int32Array(n).fill(session),
      start_ps: Float64Array.from({ length: n }, (_, i) => i * STEP),
      duration_ps: new Float64Array(n).fill(STEP),
    },
  };
}

describe("memory by step", () => {
  it("leaves out steps of a session in which the allocator reports nothing", () => {
    expect(memorySteps(drawn([{ at: 10, address: 1, bytes: 1 }]), stepsTable(2, 7))).toEqual([]);
  });

  it("begins each step with the level that the one before it ended with", () => {
    const move = fc.record({ gap: fc.integer({ min: 0, max: 40 }), bytes: fc.integer({ min: 1, max: 50 }) });
    fc.assert(
      fc.property(fc.array(move, { minLength: 1, maxLength: 60 }), (list) => {
        let at = 0;
        const moves = list.map(({ gap, bytes }, i) => {
          at += gap;
          return { at, address: i, bytes };
        });
        const events = drawn(moves, 100);
        const rows = memorySteps(events, stepsTable(Math.floor(at / STEP) + 1));
        rows.forEach((row, k) => {
          const inside = moves.map((_, i) => i).filter((i) => Math.floor(moves[i].at / STEP) === k);
          if (k > 0) expect(row.startBytes).toBe(rows[k - 1].endBytes);
          expect(row.peakBytes).toBe(Math.max(row.startBytes, ...inside.map((i) => events.heap[i])));
          expect(row.nAllocations).toBe(inside.length);
          expect(row.allocatedBytes).toBe(inside.reduce((sum, i) => sum + moves[i].bytes, 0));
        });
      }),
    );
  });
});

describe("what is not given back", () => {
  it("is told by op, with how much a step adds", () => {
    const moves = Array.from({ length: 20 }, (_, k) => ({
      at: k * STEP + 60,
      address: 1000 + k,
      bytes: 100,
      op: LOST,
    }));
    const events = drawn(moves, 1000);
    expect(unfreedByOp(events, memorySteps(events, stepsTable(20)))).toEqual([
      { op: LOST, nAllocations: 18, nSteps: 18, allocatedBytes: 1800, bytesPerStep: 100, heldBytes: 1800 },
    ]);
  });

  it("counts what is given back late, but not as held", () => {
    const moves = [
      { at: 10, address: 1, bytes: 100 },
      { at: 350, address: 1, bytes: 0 },
    ];
    const steps = memorySteps(drawn(moves), stepsTable(5));
    expect(unfreedByOp(drawn(moves), steps, 1)).toMatchObject([{ allocatedBytes: 100, heldBytes: 0 }]);
    expect(unfreedByOp(drawn(moves), steps, 3)).toEqual([]);
  });
});
