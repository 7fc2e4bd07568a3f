/** A profile's ops and what the reader chose (tree, figure, range, selection): figures, colours, marks and words of every node. */

import { FAMILIES, type FigureKey } from "../../data/meta";
import type { Scope } from "../../data/time";
import { opColors } from "../../model/colors";
import { hostsOf, shortHost } from "../../model/hosts";
import { leafOf, tipName } from "../../model/names";
import { opsOfScope, withoutWaiting } from "../../model/ops";
import { describeRange, scopeOf } from "../../model/range";
import { type Cell, type ScopeFigures, type ScopeTree, scopeFigures, scopePath } from "../../model/scopes";
import {
  FIGURES,
  type Figure,
  formatFigure,
  type NodeFigures,
  nodeFigures,
  nodeOfOp,
  opOfNode,
  opsOfNode,
  RANGED,
  type Structure,
  type TreeKind,
} from "../../model/structure";
import { formatPercent, plural } from "../../model/text";
import { type CellLook, restLabel } from "../../ui/icicle";
import type { Tip } from "../../ui/plot";
import type { TraceView } from "../../ui/view";

export type ViewKind = TreeKind | "graph" | "hlo";

export interface NodeListeners {
  /** A node was clicked: its ops are meant. */
  onPick(node: number): void;
  onClear(): void;
  onHover(node: number | null): void;
}

const RUNTIME = FAMILIES.indexOf("runtime");
const PS_PER_US = 1e6;

export class TreeModel {
  kind: ViewKind;
  figure: Figure;
  selected: ReadonlySet<string> = new Set();
  /** What a search found, the largest first; null while nothing is sought. */
  hits: readonly number[] | null = null;
  /** Of the hits the one that was gone to; -1 for none. */
  hitAt = -1;
  readonly #sums = new Map<string, NodeFigures>();
  readonly #looks = new Map<string, ScopeFigures>();
  #ranged: Partial<Record<FigureKey, Float64Array>> | null = null;
  /** For each op its ids in the trace: one for each side that it ran on. */
  readonly #ids: readonly (readonly number[])[];
  /** By what names each op is selected in all views. */
  readonly #links: readonly (readonly string[])[];
  readonly #family: Uint8Array;

  constructor(
    readonly view: TraceView,
    readonly structure: Structure,
    kind: ViewKind,
  ) {
    this.kind = kind;
    this.figure = structure.figures[0] ?? FIGURES[0];
    const { meta } = view.data;
    const ids: number[][] = Array.from({ length: structure.nOps }, () => []);
    structure.meta.of_framework_op.forEach((op, id) => {
      ids[op]?.push(id);
    });
    this.#ids = ids;
    this.#links = ids.map((own, op) => {
      const names = own.map((id) => meta.names[meta.op_name[id]] ?? "").filter(Boolean);
      return names.length > 0 ? [...new Set(names)] : [structure.meta.names[op]];
    });
    const { familyOf } = opColors(meta);
    this.#family = Uint8Array.from(this.#ids, ([id]) =>
      id === undefined ? RUNTIME : FAMILIES.indexOf(familyOf(id) as (typeof FAMILIES)[number]),
    );
    this.select(view.link.selection);
    this.compute();
  }

  /** Graphs are drawn by scope. */
  get treeKind(): TreeKind {
    return this.kind === "graph" || this.kind === "hlo" ? "scope" : this.kind;
  }
  get tree(): ScopeTree {
    return this.structure.tree(this.treeKind);
  }
  get places(): ArrayLike<number> {
    return this.structure.places(this.treeKind);
  }
  get nEntries(): number {
    return this.tree.entries.length;
  }
  get scope(): Scope {
    return scopeOf(this.view.link, this.view.data.table);
  }
  /** Whether times are those that the profile itself has, as that of a graph without executions. */
  get #isOwn(): boolean {
    return this.scope === null && this.view.link.host === "" && this.view.data.table("step_totals") === undefined;
  }

  compute(): void {
    const { structure } = this;
    this.#sums.clear();
    this.#looks.clear();
    this.#ranged = null;
    if (this.#isOwn) return;
    const { meta } = this.view.data;
    const table = (name: string) => this.view.data.table(name);
    const totals = withoutWaiting(meta, opsOfScope(meta, table, this.scope));
    const ranged = { micros: 0, accelerator_micros: 0, cpu_micros: 0, run_count: 0 };
    const columns = Object.fromEntries(
      Object.keys(ranged).map((key) => [key, new Float64Array(structure.nOps)]),
    ) as Record<keyof typeof ranged, Float64Array>;
    this.#ids.forEach((ids, op) => {
      for (const id of ids) {
        const us = Math.max(0, totals.selfPs[id]) / PS_PER_US;
        columns.micros[op] += us;
        columns[meta.op_device[id] === 1 ? "accelerator_micros" : "cpu_micros"][op] += us;
        columns.run_count[op] += totals.occurrences[id];
      }
    });
    this.#ranged = columns;
  }

  /** Whether that changed what is selected. */
  select(names: Iterable<string>): boolean {
    const selected = new Set(names);
    if (selected.size === this.selected.size && [...selected].every((name) => this.selected.has(name))) return false;
    this.selected = selected;
    this.#looks.clear();
    return true;
  }

  /** A figure of each op, of the range where there is one and the figure is known of it. */
  values(key: FigureKey): Float64Array {
    return this.#ranged?.[key] ?? this.structure.values(key);
  }

  figures(key: FigureKey = this.figure.key): NodeFigures {
    const name = `${this.treeKind} ${key}`;
    let sums = this.#sums.get(name);
    if (sums === undefined) {
      sums = nodeFigures(this.tree, this.values(key));
      this.#sums.set(name, sums);
    }
    return sums;
  }

  total(node: number): number {
    return this.figures().total[node] ?? 0;
  }
  get whole(): number {
    return this.total(0);
  }
  share(node: number): number {
    return this.whole > 0 ? this.total(node) / this.whole : 0;
  }

  /** What colours and marks of entries need. */
  get looks(): ScopeFigures {
    const name = `${this.treeKind} ${this.figure.key}`;
    let looks = this.#looks.get(name);
    if (looks === undefined) {
      const values = this.values(this.figure.key);
      const runs = this.values("run_count");
      looks = scopeFigures(this.tree, {
        ps: (op) => values[op],
        occurrences: (op) => runs[op],
        isBackward: () => false,
        isSelected: (op) => this.isSelected(op),
        family: (op) => this.#family[op],
      });
      this.#looks.set(name, looks);
    }
    return looks;
  }

  familyOf(op: number): string {
    return FAMILIES[this.#family[op]] ?? "runtime";
  }

  /** Whether all, some or none of the ops of a node are selected. */
  marked(node: number): "all" | "some" | "none" {
    const op = opOfNode(this.tree, node);
    if (op >= 0) return this.isSelected(op) ? "all" : "none";
    const { nSelected, nOps } = this.looks;
    if (nSelected[node] === 0) return "none";
    return nSelected[node] >= nOps[node] ? "all" : "some";
  }

  opName(op: number): string {
    return this.structure.meta.names[op] ?? "";
  }

  /** What a node is called beside its siblings. */
  nameOf(node: number): string {
    const op = opOfNode(this.tree, node);
    if (op < 0) return this.tree.entries[node].name || "All ops";
    return this.structure.isRest(op) || this.treeKind !== "scope" ? this.opName(op) : leafOf(this.opName(op));
  }

  fullName(node: number): string {
    const op = opOfNode(this.tree, node);
    if (op >= 0) return this.opName(op);
    if (this.treeKind !== "scope") return this.nameOf(node);
    return scopePath(this.tree, node) || "All ops";
  }

  /** Names by which a node is selected: of those of its ops that have the figure, or of all where none has. */
  opsToSelect(node: number): string[] {
    const values = this.values(this.figure.key);
    const ops = opsOfNode(this.tree, node).filter((op) => !this.structure.isRest(op));
    const counted = ops.filter((op) => values[op] > 0);
    return [...new Set((counted.length > 0 ? counted : ops).flatMap((op) => this.#links[op]))];
  }

  isSelected(op: number): boolean {
    return this.#links[op].some((name) => this.selected.has(name));
  }

  /** Whether an op bears a name that is hovered in some view. */
  isNamed(op: number, name: string): boolean {
    return name !== "" && (this.#links[op] ?? []).includes(name);
  }

  /** By what name a hovered op is known elsewhere; "" for more than one op. */
  hoverName(node: number | null): string {
    if (node === null) return "";
    const ops = opsOfNode(this.tree, node);
    return ops.length === 1 ? this.#links[ops[0]][0] : "";
  }

  /** What the figures are of: a host, a range, a step on average, or the capture. */
  get basis(): string {
    const { data, link } = this.view;
    if (link.host === "" || ["params", "float_ops", "occurrence"].includes(this.figure.key)) return this.#basis;
    if (!RANGED.has(this.figure.key)) return `${this.#basis}, all hosts`;
    return `on ${shortHost(link.host, hostsOf(data.meta))}, ${describeRange(data.meta, data.table("steps"), this.scope)}`;
  }

  get #basis(): string {
    const { data } = this.view;
    const { is_per_step, n_steps } = this.structure.meta;
    const isRanged = !this.#isOwn && RANGED.has(this.figure.key);
    if (isRanged) return describeRange(data.meta, data.table("steps"), this.scope);
    if (["params", "float_ops", "occurrence"].includes(this.figure.key)) return "of the graph";
    const only = this.view.link.timeRange === null ? "" : ", not known of a range";
    if (!is_per_step) return `whole capture${only}`;
    return `${n_steps === 1 ? "one step" : `per step, mean of ${n_steps.toLocaleString("en-US")}`}${only}`;
  }
}

export function nodeOfCell(model: TreeModel, cell: Cell): number {
  return cell.kind === "op" ? nodeOfOp(model.tree, cell.op) : cell.row;
}

/** "4.72 ms" in the figure that is shown. */
export function amount(model: TreeModel, value: number): string {
  return formatFigure(model.figure, value);
}

export function cellLook(model: TreeModel, cell: Cell, hits: ReadonlySet<number> | null): CellLook {
  const node = nodeOfCell(model, cell);
  const label = cellLabel(model, cell);
  const figure = amount(model, cell.ps);
  const where = cell.kind === "rest" ? `${label} in ${model.nameOf(cell.row)}` : label;
  const spoken = `${where}: ${figure}, ${formatPercent(model.whole > 0 ? cell.ps / model.whole : 0)}`;
  const isHit = hits !== null && cell.kind !== "rest" && cellNodes(model, cell).some((at) => hits.has(at));
  const plain = { label, figure, spoken, backwardRatio: 0, found: hits === null ? undefined : isHit };
  if (cell.kind === "rest" || node === 0) return { ...plain, family: "", selected: "none" };
  const op = opOfNode(model.tree, node);
  const family = op >= 0 ? model.familyOf(op) : (FAMILIES[model.looks.family[node]] ?? "mixed");
  return { ...plain, family, selected: model.marked(node) };
}

/** The nodes that a cell stands for. */
function cellNodes(model: TreeModel, cell: Cell): readonly number[] {
  return cell.kind === "scope" ? cell.chain : [nodeOfCell(model, cell)];
}

function cellLabel(model: TreeModel, cell: Cell): string {
  if (cell.kind === "rest") return restLabel(cell.n);
  if (cell.kind === "op") return model.nameOf(nodeOfOp(model.tree, cell.op));
  return chainName(model, cell.chain);
}

/** Entries that hold nothing but each other; of calls the outermost, which is the reader's own, and the innermost. */
export function chainName(model: TreeModel, chain: readonly number[]): string {
  const names = chain.map((node) => model.nameOf(node));
  if (model.treeKind !== "code") return names.join("/");
  return names.length < 3 ? names.join(" › ") : `${names[0]} › … › ${names[names.length - 1]}`;
}

export function nodeTip(model: TreeModel, node: number): Tip {
  const { structure, tree, figure } = model;
  const total = model.total(node);
  const share = `${formatPercent(model.share(node))} of ${figure.noun}`;
  const lines = [`${amount(model, total)} · ${share}`];
  const op = opOfNode(tree, node);
  if (op >= 0) {
    lines.push([structure.typeOf(op), structure.shapeOf(op), structure.deviceOf(op)].filter(Boolean).join(" · "));
    lines.push(otherFigures(model, op));
    return { title: tipName(model.opName(op)), lines: lines.filter(Boolean) };
  }
  const own = model.figures().own[node];
  if (own > 0 && own < total) lines[0] += ` · ${amount(model, own)} in ops directly in it`;
  if (model.treeKind === "code" && node > 0) {
    const { text } = structure.meta.frames;
    lines.unshift(tipName(text[node] ?? ""));
    lines.push(tipName(structure.frameFile(node)));
  }
  lines.push(plural(model.figures("occurrence").total[node], "op"));
  return { title: tipName(model.fullName(node)), lines: lines.filter(Boolean) };
}

function otherFigures(model: TreeModel, op: number): string {
  const { structure, figure } = model;
  const parts = FIGURES.filter(({ key }) => key !== figure.key && key !== "occurrence")
    .filter(({ key }) => structure.figures.some((known) => known.key === key) && model.values(key)[op] > 0)
    .map(
      (other) =>
        `${other.text.toLowerCase().replace("cpu", "CPU")} ${formatFigure(other, model.values(other.key)[op])}`,
    );
  return parts.slice(0, 4).join(" · ");
}
