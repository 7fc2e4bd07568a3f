/** Turns the `steps` and `step_pieces` tables into columns. */
import { upperBound } from "../wire/bisect";
import type { TraceMeta } from "../wire/meta";
import type { Table } from "../wire/wire";
import { stepLabel } from "./span_text";

export interface Steps {
  readonly n: number;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly session: ArrayLike<number>;
  readonly names: readonly string[];
  readonly isInferred: boolean;
  /** 1 for steps that count as usual: not the first, which compiles, nor an outlier. */
  readonly isAveraged: ArrayLike<number>;
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
    session: (steps?.columns.session as Int32Array | undefined) ?? new Int32Array(start.length),
    names: meta.step_names.map((_, row) => stepLabel(meta.step_names, row)),
    isAveraged: (steps?.columns.is_averaged as Uint8Array | undefined) ?? new Uint8Array(start.length).fill(1),
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

/** Rows [first, last] of at most `limit` neighbouring usual steps of the session in the middle; null without usual steps. */
export function typicalSteps(steps: Steps, limit: number): readonly [number, number] | null {
  const usual: number[] = [];
  for (let i = 0; i < steps.n; i++) if (steps.isAveraged[i]) usual.push(i);
  if (usual.length === 0) return null;
  let first = usual[Math.max(0, Math.floor((usual.length - limit) / 2))];
  let last = first;
  const isLike = (row: number) => steps.isAveraged[row] === 1 && steps.session[row] === steps.session[first];
  while (last - first + 1 < limit && last + 1 < steps.n && isLike(last + 1)) last += 1;
  while (last - first + 1 < limit && first > 0 && isLike(first - 1)) first -= 1;
  return [first, last];
}
