/** The ops of a model with their figures, and the trees they stand in: scopes, op types, calls. */

import type { Coded, FigureKey, StructureMeta } from "../data/meta";
import { leafOf } from "./names";
import {
  chainFrom,
  opsUnder,
  pathOf,
  type ScopeEntry,
  type ScopeTree,
  scopePath,
  scopeTimes,
  scopeTree,
} from "./scopes";
import { formatBytes, formatCount, formatNumber, formatTime } from "./text";

export interface Figure {
  readonly key: FigureKey;
  readonly text: string;
  /** Of which it is a part: "62 % of op time". */
  readonly noun: string;
  readonly unit: "time" | "bytes" | "count";
}

export const FIGURES: readonly Figure[] = [
  { key: "micros", text: "Time", noun: "op time", unit: "time" },
  { key: "accelerator_micros", text: "Accelerator time", noun: "accelerator time", unit: "time" },
  { key: "cpu_micros", text: "CPU time", noun: "CPU time", unit: "time" },
  { key: "bytes", text: "Bytes requested", noun: "bytes requested", unit: "bytes" },
  { key: "peak_bytes", text: "Peak bytes", noun: "peak bytes", unit: "bytes" },
  { key: "residual_bytes", text: "Residual bytes", noun: "residual bytes", unit: "bytes" },
  { key: "output_bytes", text: "Output bytes", noun: "output bytes", unit: "bytes" },
  { key: "params", text: "Parameters", noun: "parameters", unit: "count" },
  { key: "float_ops", text: "Float operations", noun: "float operations", unit: "count" },
  { key: "occurrence", text: "Ops", noun: "ops", unit: "count" },
  { key: "run_count", text: "Runs", noun: "runs", unit: "count" },
];

/** What a time range changes; the others are known of the whole capture only. */
export const RANGED: ReadonlySet<FigureKey> = new Set(["micros", "accelerator_micros", "cpu_micros", "run_count"]);

const LARGE: readonly [number, string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
];

/** "4.72 ms", "385 MiB", "1.23 G"; times are in µs. */
export function formatFigure({ unit }: Pick<Figure, "unit">, value: number): string {
  if (unit === "time") return formatTime(value * 1e6);
  if (unit === "bytes") return formatBytes(value);
  const large = LARGE.find(([size]) => value >= 10 * size);
  return large ? `${formatNumber(value / large[0])} ${large[1]}` : formatCount(value);
}

export type TreeKind = "scope" | "op" | "code";

/** The ops and their trees. A node of a tree is a row of its entries, or the number of entries and an op. */
export class Structure {
  readonly nOps: number;
  readonly figures: readonly Figure[];
  readonly edges: Readonly<Record<"source" | "op" | "n", readonly number[]>>;
  /** For each op of the trace which one it is, -1 for none. */
  readonly ofFrameworkOp: readonly number[];
  readonly #sent: StructureMeta["figures"];
  readonly #values = new Map<FigureKey, Float64Array>();
  readonly #trees = new Map<TreeKind, readonly [ScopeTree, ArrayLike<number>]>();

  constructor(readonly meta: StructureMeta) {
    this.nOps = meta.names.length;
    const { accelerator_micros: device, cpu_micros: host } = meta.figures;
    // Time is sent where it is not that of both sides.
    const both = (device ?? host) && meta.names.map((_, op) => (device?.[op] ?? 0) + (host?.[op] ?? 0));
    this.#sent = both === undefined ? meta.figures : { micros: both, ...meta.figures };
    const { back, op, n } = meta.edges;
    const ends = summed(op);
    this.edges = { source: ends.map((end, i) => end - back[i]), op: ends, n };
    this.ofFrameworkOp = summed(meta.of_framework_op);
    this.figures = FIGURES.filter(({ key }) => this.#sent[key] !== undefined);
  }

  values(key: FigureKey): Float64Array {
    let values = this.#values.get(key);
    if (values === undefined) {
      values = Float64Array.from(this.#sent[key] ?? new Float64Array(this.nOps));
      this.#values.set(key, values);
    }
    return values;
  }

  typeOf(op: number): string {
    return this.#text(this.meta.types, op);
  }
  deviceOf(op: number): string {
    return this.#text(this.meta.devices, op);
  }
  shapeOf(op: number): string {
    return this.#text(this.meta.shapes, op);
  }
  #text({ texts, codes }: Coded, row: number): string {
    return texts[codes[row]] ?? "";
  }

  isRest(op: number): boolean {
    return op >= this.meta.n_named;
  }

  frameName(row: number): string {
    const { line, function: names } = this.meta.frames;
    const where = `${fileName(this.frameFile(row))}:${line[row]}`;
    return names[row] ? `${where} ${names[row]}` : where;
  }
  frameFile(row: number): string {
    return this.#text(this.meta.frames.files, row);
  }

  tree(kind: TreeKind): ScopeTree {
    return this.#made(kind)[0];
  }

  places(kind: TreeKind): ArrayLike<number> {
    return this.#made(kind)[1];
  }

  #made(kind: TreeKind): readonly [ScopeTree, ArrayLike<number>] {
    let made = this.#trees.get(kind);
    if (made === undefined) {
      const [entries, places] = this.#entries(kind);
      made = [scopeTree(entries, places), places];
      this.#trees.set(kind, made);
    }
    return made;
  }

  #entries(kind: TreeKind): readonly [readonly ScopeEntry[], ArrayLike<number>] {
    const { scopes, scope, frames, frame, types } = this.meta;
    if (kind === "scope") return [scopes.name.map((name, row) => ({ name, parent: scopes.parent[row] })), scope];
    if (kind === "code") {
      const named = (row: number) => (row === 0 ? "" : this.frameName(row));
      const calls = frames.parent.map((parent, row) => ({ name: named(row), parent }));
      // Ops whose call is unknown stand together, after the calls.
      const unknown = { name: "call unknown", parent: 0 };
      return [[...calls, unknown], frame.map((row) => row || calls.length)];
    }
    const entries = types.texts.map((name) => ({ name: name || "other ops", parent: 0 }));
    return [[{ name: "", parent: -1 }, ...entries], types.codes.map((code) => code + 1)];
  }
}

function summed(differences: readonly number[]): number[] {
  let sum = 0;
  return differences.map((one) => {
    sum += one;
    return sum;
  });
}

function fileName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1) || "?";
}

export type NodeFigures = Readonly<Record<"own" | "total", Float64Array>>;

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

function insideOf(tree: ScopeTree, node: number): number[] {
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

type Order = (a: number, b: number) => number;

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
