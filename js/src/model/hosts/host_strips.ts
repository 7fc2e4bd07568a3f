/** Steps and their pieces -> those of each host, in the order of time: what a host is drawn as in one line. */

import type { Steps } from "../time/steps";

export interface HostStrip {
  /** Pieces of its steps, as `layoutPieces` takes them, and of each the row of its step. */
  readonly piece: Steps["piece"];
  readonly step: Int32Array;
  /** Rows of its steps. */
  readonly rows: Int32Array;
}

/** One strip a host, of which each step has one, -1 for none; empty ones for hosts without steps. */
export function hostStrips(
  nHosts: number,
  hostOfStep: ArrayLike<number>,
  piece: Steps["piece"],
  pieceStep: ArrayLike<number>,
): HostStrip[] {
  const rows = grouped(nHosts, hostOfStep.length, (row) => hostOfStep[row]);
  const ofPiece = grouped(nHosts, pieceStep.length, (p) => hostOfStep[pieceStep[p]] ?? -1);
  return rows.map((own, host) => {
    const pieces = ofPiece[host];
    return {
      piece: {
        start: Float64Array.from(pieces, (p) => piece.start[p]),
        end: Float64Array.from(pieces, (p) => piece.end[p]),
        category: Uint8Array.from(pieces, (p) => piece.category[p]),
      },
      step: Int32Array.from(pieces, (p) => pieceStep[p]),
      rows: own,
    };
  });
}

/** Items of each group in their order; those of group -1 are left out. */
function grouped(nGroups: number, n: number, groupOf: (item: number) => number): Int32Array[] {
  const count = new Int32Array(nGroups);
  for (let i = 0; i < n; i++) if (groupOf(i) >= 0) count[groupOf(i)] += 1;
  const groups = Array.from(count, (size) => new Int32Array(size));
  count.fill(0);
  for (let i = 0; i < n; i++) {
    const group = groupOf(i);
    if (group >= 0) groups[group][count[group]++] = i;
  }
  return groups;
}

/** The steps of one host, and which rows of all steps they are. */
export interface HeadSteps extends Steps {
  readonly rows: Int32Array | null;
}

/** The same for all steps. */
export function allSteps(steps: Steps): HeadSteps {
  return { ...steps, rows: null };
}

export function stepsOfHost(steps: Steps, strip: HostStrip): HeadSteps {
  const pick = (values: ArrayLike<number>) => Array.from(strip.rows, (row) => values[row]);
  return {
    n: strip.rows.length,
    start: Float64Array.from(pick(steps.start)),
    end: Float64Array.from(pick(steps.end)),
    session: pick(steps.session),
    names: Array.from(strip.rows, (row) => steps.names[row]),
    isAveraged: pick(steps.isAveraged),
    isInferred: steps.isInferred,
    piece: strip.piece,
    rows: strip.rows,
  };
}
