/** The icicle of name scopes: its rectangles, with the time of the ops in them. */

import { hierarchy, partition } from "d3-hierarchy";
import { FAMILIES } from "../data/meta";

export interface ScopeEntry {
  readonly name: string;
  /** Row of the scope around it, -1 for a root. */
  readonly parent: number;
}

export interface ScopeTree {
  readonly entries: readonly ScopeEntry[];
  /** As in `entries`, but -1 where that row is not there or where parents run in a circle. */
  readonly parent: Int32Array;
  readonly children: readonly (readonly number[])[];
  /** Every row after the row of its parent. */
  readonly order: Int32Array;
  /** Ops directly in each scope. */
  readonly ops: readonly (readonly number[])[];
}

/** `places`: for each op the row of its innermost scope; -1 for none. */
export function scopeTree(entries: readonly ScopeEntry[], places: ArrayLike<number>): ScopeTree {
  const n = entries.length;
  const parent = Int32Array.from(entries, (entry, row) =>
    entry.parent < n && entry.parent !== row ? entry.parent : -1,
  );
  const children: number[][] = Array.from({ length: n }, () => []);
  const ops: number[][] = Array.from({ length: n }, () => []);
  parent.forEach((above, row) => {
    if (above >= 0) children[above].push(row);
  });
  const order: number[] = [];
  const seen = new Uint8Array(n);
  const walk = (root: number) => {
    const waiting = [root];
    for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
      seen[row] = 1;
      order.push(row);
      for (const inner of children[row]) waiting.push(inner);
    }
  };
  for (let row = 0; row < n; row++) if (parent[row] < 0) walk(row);
  for (let row = 0; row < n; row++) {
    if (seen[row]) continue;
    // Parents run in a circle, which is cut open here.
    const siblings = children[parent[row]];
    siblings.splice(siblings.indexOf(row), 1);
    parent[row] = -1;
    walk(row);
  }
  for (let op = 0; op < places.length; op++) ops[places[op]]?.push(op);
  return { entries, parent, children, order: Int32Array.from(order), ops };
}

export interface ScopeTimes {
  readonly ownPs: Float64Array;
  readonly totalPs: Float64Array;
}

export function scopeTimes(tree: ScopeTree, opPs: (op: number) => number): ScopeTimes {
  const n = tree.entries.length;
  const ownPs = new Float64Array(n);
  for (let row = 0; row < n; row++) for (const op of tree.ops[row]) ownPs[row] += opPs(op);
  const totalPs = ownPs.slice();
  for (let k = n - 1; k >= 0; k--) {
    const row = tree.order[k];
    if (tree.parent[row] >= 0) totalPs[tree.parent[row]] += totalPs[row];
  }
  return { ownPs, totalPs };
}

/** The rows from the root down to `row`, both included. */
export function pathOf(tree: ScopeTree, row: number): number[] {
  const path: number[] = [];
  for (let at = row; at >= 0; at = tree.parent[at]) path.push(at);
  return path.reverse();
}

export function scopePath(tree: ScopeTree, row: number): string {
  return pathOf(tree, row)
    .map((at) => tree.entries[at].name)
    .filter(Boolean)
    .join("/");
}

/** From a scope down, for as long as there is one scope inside and no op. */
export function chainFrom(
  row: number,
  scopesIn: (row: number) => readonly number[],
  hasOps: (row: number) => boolean,
): number[] {
  const chain = [row];
  for (let at = row; !hasOps(at); chain.push(at)) {
    const inside = scopesIn(at);
    if (inside.length !== 1) break;
    [at] = inside;
  }
  return chain;
}

export function opsUnder(tree: ScopeTree, row: number): number[] {
  const found: number[] = [];
  const waiting = [row];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const op of tree.ops[at]) found.push(op);
    for (const inner of tree.children[at]) waiting.push(inner);
  }
  return found;
}

export type Cell =
  /** A scope; `chain` are scopes from the outermost down to `row` that hold nothing but each other. */
  | { readonly kind: "scope"; readonly row: number; readonly chain: readonly number[]; readonly ps: number }
  | { readonly kind: "op"; readonly op: number; readonly row: number; readonly ps: number }
  /** What is too narrow to be drawn, under the scope `row`. */
  | { readonly kind: "rest"; readonly row: number; readonly n: number; readonly ps: number };

export interface Rect extends Readonly<Record<"level" | "x0" | "x1", number>> {
  readonly cell: Cell;
}

interface Draft {
  readonly cell: Cell;
  readonly children: Draft[];
  /** Of `cell.ps` what no child has. */
  readonly gapPs: number;
}

/**
 * The rectangles of the icicle below `zoom`, the largest on the left; what has less than `leastRatio` of the width is one "rest"
 * per scope, so that their number is bounded by the width, not by the trace.
 */
export function layoutScopes(
  tree: ScopeTree,
  times: ScopeTimes,
  opPs: (op: number) => number,
  zoom: number,
  leastRatio: number,
): Rect[] {
  const wholePs = times.totalPs[zoom] ?? 0;
  if (wholePs <= 0) return [];
  const root = new Builder(tree, times, opPs, wholePs * leastRatio).draft(zoom, [zoom], wholePs, 0);
  const laid = partition<Draft>()(
    hierarchy(root, (draft) => draft.children).sum((draft) =>
      draft.children.length > 0 ? draft.gapPs : draft.cell.ps,
    ),
  );
  return laid.descendants().map((node) => ({ cell: node.data.cell, level: node.depth, x0: node.x0, x1: node.x1 }));
}

/** Levels below the top; deeper ones appear as one zooms in. */
const MAX_LEVELS = 48;

class Builder {
  constructor(
    readonly tree: ScopeTree,
    readonly times: ScopeTimes,
    readonly opPs: (op: number) => number,
    readonly leastPs: number,
  ) {}

  #scopesIn(row: number): readonly number[] {
    return this.tree.children[row].filter((at) => this.times.totalPs[at] > 0);
  }

  #opsIn(row: number): readonly number[] {
    return this.tree.ops[row].filter((op) => this.opPs(op) > 0);
  }

  /** A scope with what is inside it; `chain` leads from the outermost scope of the cell to `row`. */
  draft(row: number, chain: readonly number[], ps: number, level: number): Draft {
    const drafts: Draft[] = [];
    let [restPs, nRest] = [0, 0];
    const add = (inner: number, make: () => Draft) => {
      if (inner >= this.leastPs && level < MAX_LEVELS) drafts.push(make());
      else [restPs, nRest] = [restPs + inner, nRest + 1];
    };
    for (const scope of this.#scopesIn(row)) {
      const inner = this.times.totalPs[scope];
      add(inner, () => {
        const folded = chainFrom(
          scope,
          (at) => this.#scopesIn(at),
          (at) => this.#opsIn(at).length > 0,
        );
        return this.draft(folded[folded.length - 1], folded, inner, level + 1);
      });
    }
    for (const op of this.#opsIn(row)) {
      const inner = this.opPs(op);
      add(inner, () => ({ cell: { kind: "op", op, row, ps: inner }, children: [], gapPs: 0 }));
    }
    drafts.sort((a, b) => b.cell.ps - a.cell.ps);
    if (nRest > 0) drafts.push({ cell: { kind: "rest", row, n: nRest, ps: restPs }, children: [], gapPs: 0 });
    const inside = drafts.reduce((sum, draft) => sum + draft.cell.ps, 0);
    return { cell: { kind: "scope", row, chain, ps }, children: drafts, gapPs: Math.max(0, ps - inside) };
  }
}

const MIXED = 255;

export interface ScopeFigures {
  readonly nOps: Float64Array;
  readonly nSelected: Float64Array;
  /** The family that takes at least half the time, as an index into `FAMILIES`; `MIXED` where none does. */
  readonly family: Uint8Array;
}

interface OpFigures {
  readonly ps: (op: number) => number;
  readonly isSelected: (op: number) => boolean;
  readonly family: (op: number) => number;
}

export function scopeFigures(tree: ScopeTree, ops: OpFigures): ScopeFigures {
  const n = tree.entries.length;
  const nFamilies = FAMILIES.length;
  const byFamily = new Float64Array(n * nFamilies);
  const [nOps, nSelected] = [new Float64Array(n), new Float64Array(n)];
  tree.ops.forEach((own, row) => {
    for (const op of own) {
      const ps = ops.ps(op);
      if (ps <= 0) continue;
      nOps[row] += 1;
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
    for (const sums of [nOps, nSelected]) sums[above] += sums[row];
    for (let f = 0; f < nFamilies; f++) byFamily[above * nFamilies + f] += byFamily[own + f];
  }
  return { nOps, nSelected, family };
}

/** Index of the rectangle that a key leads to; undefined for another key, and from nowhere. */
export function neighbourOf(rects: readonly Omit<Rect, "cell">[], from: number, key: string): number | undefined {
  const now = rects[from];
  if (now === undefined) return undefined;
  const at = (level: number, isThere: (rect: Omit<Rect, "cell">) => boolean) => {
    const found = rects.findIndex((rect) => rect.level === level && isThere(rect));
    return found < 0 ? from : found;
  };
  const middle = (now.x0 + now.x1) / 2;
  const ofLevel = rects.filter(({ level }) => level === now.level);
  const place = ofLevel.indexOf(now);
  switch (key) {
    case "ArrowDown":
      return at(now.level + 1, ({ x0, x1 }) => x0 < now.x1 && x1 > now.x0);
    case "ArrowUp":
      return at(now.level - 1, ({ x0, x1 }) => x0 <= middle && x1 >= middle);
    case "ArrowRight":
      return at(now.level, (rect) => rect === (ofLevel[place + 1] ?? now));
    case "ArrowLeft":
      return at(now.level, (rect) => rect === (ofLevel[place - 1] ?? now));
    case "Home":
      return 0;
    default:
      return undefined;
  }
}
