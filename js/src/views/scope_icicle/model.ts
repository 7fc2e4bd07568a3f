/** A view's data and switches -> the tree of scopes with the time of each in the linked range. */

import { opColors } from "../../colors/op_colors";
import { type ScopeFigures, scopeFigures } from "../../model/graph/scope_figures";
import { type ScopeTimes, type ScopeTree, scopeTimes, scopeTree, WHOLE } from "../../model/graph/scopes";
import { PHASES, type Phase } from "../../model/ops/places";
import { type OpsOfSteps, opsOfScope, withoutWaiting } from "../../model/ops/ranged_ops";
import { scopeOf } from "../../model/time/scope";
import { FAMILIES } from "../../model/wire/categories";
import { EMPTY_TABLE } from "../../model/wire/wire";
import type { TraceView } from "../../ui/view";
import type { Where } from "../../ui/where_switch";

export type Part = "all" | Phase;

export class ScopeModel {
  readonly tree: ScopeTree;
  /** The row that there is when nothing was zoomed into. */
  readonly top: number;
  /** Parts of a step that the ops of the trace have. */
  readonly phases: ReadonlySet<Phase>;
  readonly familyOf: (op: number) => string;
  where: Where = "both";
  part: Part = "all";
  selected: ReadonlySet<string> = new Set();
  times: ScopeTimes;
  figures: ScopeFigures;
  readonly #phase: ArrayLike<number>;
  #totals: OpsOfSteps;

  constructor(readonly view: TraceView) {
    const { data } = view;
    const places = data.table("op_places") ?? EMPTY_TABLE;
    this.#phase = (places.columns.phase as Uint8Array | undefined) ?? [];
    this.phases = new Set(Array.from(this.#phase, (phase) => PHASES[phase]));
    this.tree = scopeTree(data.meta.scopes ?? [], (places.columns.scope as Int32Array | undefined) ?? []);
    this.top = this.tree.roots.length === 1 ? this.tree.roots[0] : WHOLE;
    this.familyOf = opColors(data.meta).familyOf;
    this.#totals = this.#work();
    this.times = scopeTimes(this.tree, (op) => this.opPs(op));
    this.figures = this.#figure();
  }

  /** Whether times are a step. */
  get isPerStep(): boolean {
    return this.#totals.nSteps !== null;
  }

  #work(): OpsOfSteps {
    const { link, data } = this.view;
    const table = (name: string) => data.table(name);
    return withoutWaiting(data.meta, opsOfScope(data.meta, table, scopeOf(link, table)));
  }

  /** After a change of the range or of a switch. */
  compute(): void {
    this.#totals = this.#work();
    this.times = scopeTimes(this.tree, (op) => this.opPs(op));
    this.figures = this.#figure();
  }

  /** Whether that changed what is selected. */
  select(names: Iterable<string>): boolean {
    const selected = new Set(names);
    if (selected.size === this.selected.size && [...selected].every((name) => this.selected.has(name))) return false;
    this.selected = selected;
    this.figures = this.#figure();
    return true;
  }

  /** Self time of an op, 0 for one that a switch leaves out. */
  opPs(op: number): number {
    if (this.where !== "both" && this.where !== this.sideOf(op)) return 0;
    if (this.part !== "all" && this.phaseOf(op) !== this.part) return 0;
    return Math.max(0, this.#totals.selfPs[op]);
  }

  occurrences(op: number): number {
    return this.#totals.occurrences[op];
  }

  phaseOf(op: number): Phase {
    return PHASES[this.#phase[op]] ?? "other";
  }

  sideOf(op: number): "host" | "device" {
    return this.view.data.meta.op_device[op] === 1 ? "device" : "host";
  }

  opName(op: number): string {
    const { meta } = this.view.data;
    return meta.names[meta.op_name[op]] ?? "";
  }

  opType(op: number): string {
    const { meta } = this.view.data;
    return meta.names[meta.op_type[op]] ?? "";
  }

  psOf(row: number): number {
    return row === WHOLE ? this.times.wholePs : this.times.totalPs[row];
  }

  nameOf(row: number): string {
    return (row === WHOLE ? "" : this.tree.entries[row].name) || "all ops";
  }

  #figure(): ScopeFigures {
    return scopeFigures(this.tree, {
      ps: (op) => this.opPs(op),
      occurrences: (op) => this.occurrences(op),
      isBackward: (op) => this.phaseOf(op) === "backward",
      isSelected: (op) => this.selected.has(this.opName(op)),
      family: (op) => FAMILIES.indexOf(this.familyOf(op) as (typeof FAMILIES)[number]),
    });
  }
}
