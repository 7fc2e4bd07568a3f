/** A tree and figures of its ops -> nodes with own and total figures, the rows of a table of them, and what a search finds. */

import { chainFrom, opsUnder, pathOf, type ScopeTree, scopePath, scopeTimes } from "./scopes";
import { leafOf } from "./structure";

/** A figure of each node: entries first, then ops. */
export interface NodeFigures {
  readonly own: Float64Array;
  readonly total: Float64Array;
}

/** Adds a figure of ops up along a tree. */
export function nodeFigures(tree: ScopeTree, values: Float64Array): NodeFigures {
  const { ownPs, totalPs } = scopeTimes(tree, (op) => values[op]);
  const join = (entries: Float64Array) => {
    const joined = new Float64Array(entries.length + values.length);
    joined.set(entries);
    joined.set(values, entries.length);
    return joined;
  };
  return { own: join(ownPs), total: join(totalPs) };
}

export function nodeOfOp(tree: ScopeTree, op: number): number {
  return tree.entries.length + op;
}

/** The op that a node is, -1 for an entry. */
export function opOfNode(tree: ScopeTree, node: number): number {
  return node >= tree.entries.length ? node - tree.entries.length : -1;
}

/** Nodes inside a node, entries before ops. */
export function insideOf(tree: ScopeTree, node: number): number[] {
  if (node >= tree.entries.length) return [];
  return [...tree.children[node], ...tree.ops[node].map((op) => nodeOfOp(tree, op))];
}

export function opsOfNode(tree: ScopeTree, node: number): number[] {
  const op = opOfNode(tree, node);
  return op >= 0 ? [op] : opsUnder(tree, node);
}

export interface TreeRow {
  /** Of entries that hold nothing but each other the innermost. */
  readonly node: number;
  /** Those, from the outermost on. */
  readonly chain: readonly number[];
  readonly depth: number;
  readonly hasInside: boolean;
  readonly isOpen: boolean;
}

export type Order = (a: number, b: number) => number;

/** The rows of a table in which some nodes are open, the siblings in order; the root itself is no row. */
export function openRows(tree: ScopeTree, open: ReadonlySet<number>, order: Order): TreeRow[] {
  const rows: TreeRow[] = [];
  const waiting: { chain: readonly number[]; depth: number }[] = [];
  const isOp = (node: number) => node >= tree.entries.length;
  const chainOf = (node: number) =>
    isOp(node)
      ? [node]
      : chainFrom(
          node,
          (row) => tree.children[row],
          (row) => tree.ops[row].length > 0,
        );
  const push = (nodes: readonly number[], depth: number) => {
    const chains = nodes.map(chainOf);
    chains.sort((a, b) => order(a[a.length - 1], b[b.length - 1]));
    for (let i = chains.length - 1; i >= 0; i--) waiting.push({ chain: chains[i], depth });
  };
  push(insideOf(tree, 0), 0);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { chain, depth } = next;
    const node = chain[chain.length - 1];
    const hasInside = insideOf(tree, node).length > 0;
    const isOpen = hasInside && open.has(node);
    rows.push({ node, chain, depth, hasInside, isOpen });
    if (isOpen) push(insideOf(tree, node), depth + 1);
  }
  return rows;
}

/** Entries from the outermost down to the one around a node; the root is left out. */
export function around(tree: ScopeTree, place: number): number[] {
  return pathOf(tree, place).filter((row) => row !== 0);
}

/** Opens, from the root on, the largest entry inside as long as it has most of what is around it. */
export function largestPath(tree: ScopeTree, total: Float64Array): Set<number> {
  const open = new Set<number>();
  for (let at = 0; ; ) {
    const [first] = [...tree.children[at]].sort((a, b) => total[b] - total[a]);
    if (first === undefined || total[first] * 2 < total[at] || total[at] <= 0) return open;
    open.add(first);
    at = first;
  }
}

/** Nodes whose name matches, the largest first. A text with a slash looks at whole paths, else at the last part and the type. */
export function findNodes(
  tree: ScopeTree,
  about: { readonly names: readonly string[]; readonly typeOf: (op: number) => string },
  test: (text: string) => boolean,
  options: { readonly isPath: boolean; readonly total: Float64Array },
): number[] {
  const found: number[] = [];
  for (let row = 1; row < tree.entries.length; row++) {
    const text = options.isPath ? scopePath(tree, row) : tree.entries[row].name;
    if (text !== "" && test(text)) found.push(row);
  }
  about.names.forEach((name, op) => {
    if (test(options.isPath ? name : leafOf(name)) || test(about.typeOf(op))) found.push(nodeOfOp(tree, op));
  });
  return found.sort((a, b) => options.total[b] - options.total[a] || a - b);
}
