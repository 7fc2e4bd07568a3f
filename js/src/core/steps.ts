/** Turns the `steps` and `step_pieces` tables into columns. */
import { upperBound } from "./bisect";
import type { TraceMeta } from "./meta";
import type { Table } from "./wire";

export interface Steps {
  readonly n: number;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly names: readonly string[];
  readonly isInferred: boolean;
  /** Pieces of the steps in the order of time. */
  readonly piece: { readonly start: Float64Array; readonly end: Float64Array; readonly category: Uint8Array };
}

export function readSteps(steps: Table | undefined, pieces: Table | undefined, meta: TraceMeta): Steps {
  const start = (steps?.columns.start_ps as Float64Array | undefined) ?? new Float64Array();
  const source = (steps?.columns.source as Uint8Array | undefined) ?? new Uint8Array();
  const pieceStart = (pieces?.columns.start_ps as Float64Array | undefined) ?? new Float64Array();
  return {
    n: start.length,
    start,
    end: ends(start, steps?.columns.duration_ps as Float64Array | undefined),
    names: meta.step_names,
    isInferred: source.length > 0 && source[0] === 1,
    piece: {
      start: pieceStart,
      end: ends(pieceStart, pieces?.columns.duration_ps as Float64Array | undefined),
      category: (pieces?.columns.category as Uint8Array | undefined) ?? new Uint8Array(pieceStart.length),
    },
  };
}

function ends(start: Float64Array, duration: Float64Array | undefined): Float64Array {
  return start.map((value, i) => value + (duration?.[i] ?? 0));
}

/** Row of the step at a point of time, -1 for none. */
export function stepAt(steps: Steps, time: number): number {
  const i = upperBound(steps.start, time) - 1;
  return i >= 0 && time < steps.end[i] ? i : -1;
}
