/** A profile's ops and what the reader chose (tree, figure, range, selection) -> figures, colours and marks of every node. */

import { opColors } from "../../colors/op_colors";
import { type NodeFigures, nodeFigures, opOfNode, opsOfNode } from "../../model/graph/cost_tree";
import { type ScopeFigures, scopeFigures } from "../../model/graph/scope_figures";
import { type ScopeTree, scopePath } from "../../model/graph/scopes";
import { FIGURES, type Figure, leafOf, RANGED, type Structure, type TreeKind } from "../../model/graph/structure";
import { hostsOf, shortHost } from "../../model/hosts/hosts";
import { opsOfScope, withoutWaiting } from "../../model/ops/ranged_ops";
import { scopeOf } from "../../model/time/scope";
import { describeRange } from "../../model/time/span_text";
import type { Scope } from "../../model/time/viewport";
import { FAMILIES } from "../../model/wire/categories";
import type { FigureKey } from "../../model/wire/structure_meta";
import type { TraceView } from "../../ui/view";

export type ViewKind = TreeKind | "graph" | "hlo";

/** What a pane of nodes tells of. */
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

  /** After a change of what the views are about. */
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

  /** The whole name of a node. */
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
