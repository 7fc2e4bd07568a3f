/** The graph of ops as it travels -> ops with their figures, and the trees in which they stand: scopes, op types, calls. */

import { formatBytes, formatCount, formatNumber, formatTime } from "../text/format";
import type { Coded, FigureKey, StructureMeta } from "../wire/structure_meta";
import { type ScopeEntry, type ScopeTree, scopeTree } from "./scopes";

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
  /** Figures that say anything. */
  readonly figures: readonly Figure[];
  readonly #values = new Map<FigureKey, Float64Array>();
  readonly #trees = new Map<TreeKind, readonly [ScopeTree, ArrayLike<number>]>();

  constructor(readonly meta: StructureMeta) {
    this.nOps = meta.names.length;
    this.figures = FIGURES.filter(({ key }) => meta.figures[key] !== undefined);
  }

  /** A figure of each op itself. */
  values(key: FigureKey): Float64Array {
    let values = this.#values.get(key);
    if (values === undefined) {
      values = Float64Array.from(this.meta.figures[key] ?? new Float64Array(this.nOps));
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

  /** Whether a row is the sum of ops that are not named. */
  isRest(op: number): boolean {
    return op >= this.meta.n_named;
  }

  /** What is called, such as "train.py:12 build". */
  frameName(row: number): string {
    const { line, function: names } = this.meta.frames;
    const where = `${fileName(this.frameFile(row))}:${line[row]}`;
    return names[row] ? `${where} ${names[row]}` : where;
  }
  frameFile(row: number): string {
    return this.#text(this.meta.frames.files, row);
  }

  /** One of the trees; its row 0 is everything. */
  tree(kind: TreeKind): ScopeTree {
    return this.#made(kind)[0];
  }

  /** For each op the innermost entry around it. */
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

function fileName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1) || "?";
}

/** The last part of an op's name. */
export function leafOf(name: string): string {
  const joint = name.includes("::") ? "::" : "/";
  const leaf = name.slice(name.lastIndexOf(joint) + joint.length);
  return name.includes(joint) && leaf !== "" ? leaf : name;
}
