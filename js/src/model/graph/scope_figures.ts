/** Scopes and op times -> what colours and words of the icicle need of each scope: families, backward time, ops. */

import { FAMILIES } from "../wire/categories";
import type { ScopeTree } from "./scopes";

const MIXED = 255;

export interface ScopeFigures {
  /** Of all ops in a scope and below. */
  readonly backwardPs: Float64Array;
  readonly nOps: Float64Array;
  readonly occurrences: Float64Array;
  /** How many of those ops are selected. */
  readonly nSelected: Float64Array;
  /** The family that takes at least half the time, as an index into `FAMILIES`; `MIXED` where none does. */
  readonly family: Uint8Array;
}

export interface OpFigures {
  readonly ps: (op: number) => number;
  readonly occurrences: (op: number) => number;
  readonly isBackward: (op: number) => boolean;
  readonly isSelected: (op: number) => boolean;
  /** Index into `FAMILIES`. */
  readonly family: (op: number) => number;
}

/** Adds the figures of ops that have time up along the tree. */
export function scopeFigures(tree: ScopeTree, ops: OpFigures): ScopeFigures {
  const n = tree.entries.length;
  const nFamilies = FAMILIES.length;
  const byFamily = new Float64Array(n * nFamilies);
  const [backwardPs, nOps, occurrences, nSelected] = Array.from({ length: 4 }, () => new Float64Array(n));
  tree.ops.forEach((own, row) => {
    for (const op of own) {
      const ps = ops.ps(op);
      if (ps <= 0) continue;
      nOps[row] += 1;
      occurrences[row] += ops.occurrences(op);
      if (ops.isBackward(op)) backwardPs[row] += ps;
      if (ops.isSelected(op)) nSelected[row] += 1;
      byFamily[row * nFamilies + ops.family(op)] += ps;
    }
  });
  const family = new Uint8Array(n);
  for (let k = n - 1; k >= 0; k--) {
    const row = tree.order[k];
    const own = row * nFamilies;
    let [whole, largest] = [0, 0];
    for (let f = 0; f < nFamilies; f++) {
      whole += byFamily[own + f];
      if (byFamily[own + f] > byFamily[own + largest]) largest = f;
    }
    family[row] = byFamily[own + largest] * 2 >= whole ? largest : MIXED;
    const above = tree.parent[row];
    if (above < 0) continue;
    for (const sums of [backwardPs, nOps, occurrences, nSelected]) sums[above] += sums[row];
    for (let f = 0; f < nFamilies; f++) byFamily[above * nFamilies + f] += byFamily[own + f];
  }
  return { backwardPs, nOps, occurrences, nSelected, family };
}
