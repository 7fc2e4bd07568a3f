/** The name scopes of the ops in the linked time range: an icicle to look into, the whole on top. */

import { ranOps } from "../../data/chosen";
import { FAMILIES } from "../../data/meta";
import { EMPTY_TABLE } from "../../data/pack";
import { opColors } from "../../model/colors";
import { leafOf, tipName } from "../../model/names";
import { type OpsOfSteps, opName, opsOfScope, PHASES, type Phase, sideOf, withoutWaiting } from "../../model/ops";
import { scopeOf } from "../../model/range";
import {
  type Cell,
  opsUnder,
  type ScopeFigures,
  type ScopeTimes,
  type ScopeTree,
  scopeFigures,
  scopePath,
  scopeTimes,
  scopeTree,
  WHOLE,
} from "../../model/scopes";
import { formatPercent, formatTime, plural } from "../../model/text";
import { type Where, whereSwitch } from "../../ui/controls";
import { type Choice, h, noOps, segmented } from "../../ui/dom";
import { type CellLook, IciclePlace, type IcicleSource, restLabel } from "../../ui/icicle";
import type { Tip } from "../../ui/plot";
import { follow, type TraceBuilder, type TraceView, toggleSelection } from "../../ui/view";

type Part = "all" | Phase;

class ScopeModel {
  readonly tree: ScopeTree;
  /** The row that there is when nothing was zoomed into. */
  readonly top: number;
  readonly phases: ReadonlySet<Phase>;
  readonly familyOf: (op: number) => string;
  where: Where = "both";
  part: Part = "all";
  selected: ReadonlySet<string> = new Set();
  times!: ScopeTimes;
  figures!: ScopeFigures;
  readonly #phase: ArrayLike<number>;
  totals!: OpsOfSteps;
  readonly opName = (op: number) => opName(this.view.data.meta, op);
  readonly sideOf = (op: number) => sideOf(this.view.data.meta, op);

  constructor(readonly view: TraceView) {
    const { data } = view;
    const places = data.table("op_places") ?? EMPTY_TABLE;
    this.#phase = (places.columns.phase as Uint8Array | undefined) ?? [];
    this.phases = new Set(Array.from(this.#phase, (phase) => PHASES[phase]));
    this.tree = scopeTree(data.meta.scopes ?? [], (places.columns.scope as Int32Array | undefined) ?? []);
    this.top = this.tree.roots.length === 1 ? this.tree.roots[0] : WHOLE;
    this.familyOf = opColors(data.meta).familyOf;
    this.compute();
  }

  get isPerStep(): boolean {
    return this.totals.nSteps !== null;
  }

  compute(): void {
    const { meta, table } = this.view.data;
    this.totals = withoutWaiting(meta, opsOfScope(meta, table, scopeOf(this.view.link, table)));
    this.times = scopeTimes(this.tree, (op) => this.opPs(op));
    this.figures = this.#figure();
  }

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
    return Math.max(0, this.totals.selfPs[op]);
  }

  phaseOf(op: number): Phase {
    return PHASES[this.#phase[op]] ?? "other";
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
      occurrences: (op) => this.totals.occurrences[op],
      isBackward: (op) => this.phaseOf(op) === "backward",
      isSelected: (op) => this.selected.has(this.opName(op)),
      family: (op) => FAMILIES.indexOf(this.familyOf(op) as (typeof FAMILIES)[number]),
    });
  }
}

function costOf(model: ScopeModel, ps: number): string {
  return `${formatTime(ps)}${model.isPerStep ? " a step" : ""}`;
}

function shareOf(model: ScopeModel, ps: number): string {
  return formatPercent(model.times.wholePs > 0 ? ps / model.times.wholePs : 0);
}

function cellLook(model: ScopeModel, cell: Cell): CellLook {
  const label = cellLabel(model, cell);
  const figure = formatTime(cell.ps);
  const where = cell.kind === "rest" ? `${label} in ${model.nameOf(cell.row)}` : label;
  const spoken = `${where}: ${costOf(model, cell.ps)}, ${shareOf(model, cell.ps)}`;
  const plain = { label, figure, spoken };
  if (cell.kind === "op") {
    const isBackward = model.phaseOf(cell.op) === "backward";
    const selected = model.selected.has(model.opName(cell.op)) ? "all" : "none";
    return { ...plain, family: model.familyOf(cell.op), backwardRatio: isBackward ? 1 : 0, selected };
  }
  if (cell.kind === "rest" || cell.row === WHOLE) return { ...plain, family: "", backwardRatio: 0, selected: "none" };
  const { nSelected, nOps, backwardPs, family } = model.figures;
  const { row } = cell;
  const selected = nSelected[row] === 0 ? "none" : nSelected[row] >= nOps[row] ? "all" : "some";
  const backwardRatio = backwardPs[row] / Math.max(1, cell.ps);
  return { ...plain, family: FAMILIES[family[row]] ?? "mixed", backwardRatio, selected };
}

function cellLabel(model: ScopeModel, cell: Cell): string {
  if (cell.kind === "rest") return restLabel(cell.n);
  if (cell.kind === "scope") return cell.chain.map((row) => model.nameOf(row)).join("/");
  return leafOf(model.opName(cell.op));
}

/** What the tooltip says; `zoom` is the scope on top. */
function cellTip(model: ScopeModel, cell: Cell, zoom: number): { title: string; lines: string[] } {
  const ofZoom =
    zoom === model.top ? "" : `${formatPercent(cell.ps / Math.max(1, model.psOf(zoom)))} of ${model.nameOf(zoom)}`;
  const cost = [costOf(model, cell.ps), `${shareOf(model, cell.ps)} of op time`, ofZoom].filter(Boolean).join(" · ");
  if (cell.kind === "rest") {
    const title = `${restLabel(cell.n)} in ${model.nameOf(cell.row)}`;
    return { title, lines: [cost, "each too narrow to draw: click to look inside"] };
  }
  if (cell.kind === "op") {
    const { names, op_type } = model.view.data.meta;
    const runs = plural(model.totals.occurrences[cell.op], "run");
    const kind = `${names[op_type[cell.op]] ?? ""} on the ${model.sideOf(cell.op)} · ${model.phaseOf(cell.op)} · ${runs}`;
    return { title: tipName(model.opName(cell.op)), lines: [kind, cost] };
  }
  if (cell.row === WHOLE) return { title: "All ops", lines: [cost] };
  const { backwardPs, nOps, occurrences } = model.figures;
  const back = backwardPs[cell.row];
  const own = model.times.ownPs[cell.row];
  const lines = [cost];
  if (back > 0) lines.push(`backward ${costOf(model, back)} · all else ${costOf(model, cell.ps - back)}`);
  if (own > 0 && own < cell.ps) lines.push(`${costOf(model, own)} in ops directly in it`);
  lines.push(`${plural(nOps[cell.row], "op")} · ${plural(occurrences[cell.row], "run")}`);
  return { title: tipName(scopePath(model.tree, cell.row)) || "All ops", lines };
}

const PARTS: readonly Choice<Part>[] = [
  { value: "all", text: "All" },
  { value: "forward", text: "Forward" },
  { value: "backward", text: "Backward" },
  { value: "optimizer", text: "Optimizer" },
];
const MOST_CRUMBS = 8;

class ScopeIcicle implements IcicleSource {
  readonly #model: ScopeModel;
  readonly #place: IciclePlace;
  readonly spoken = { parts: "Scopes inside", shown: "the scope shown" };

  constructor(readonly view: TraceView) {
    const { link } = view;
    this.#model = new ScopeModel(view);
    this.#model.select(link.selection);
    this.#place = new IciclePlace(this, MOST_CRUMBS, view);
    view.root.append(h("div.tfp-fill", this.#toolbar(), this.#place.element, this.#place.legend));
    const select = () => {
      if (this.#model.select(link.selection)) this.#place.draw();
    };
    follow(view, { compute: () => this.#compute(), select });
    this.#place.draw();
  }

  get tree() {
    return this.#model.tree;
  }

  get top(): number {
    return this.#model.top;
  }

  nameOf(row: number): string {
    return this.#model.nameOf(row);
  }

  #toolbar(): HTMLElement {
    const { signal, data } = this.view;
    const { phases } = this.#model;
    const parts = PARTS.filter(({ value }) => value === "all" || phases.has(value));
    const setWhere = (where: Where) => {
      this.#model.where = where;
      this.#compute();
    };
    const setPart = (part: Part) => {
      this.#model.part = part;
      this.#compute();
    };
    const where = whereSwitch(data.meta.op_device, setWhere, signal);
    const part = phases.has("backward") && segmented("Part of the step", parts, "all", setPart, signal);
    return h("div.bar", this.#place.crumbs, this.#place.say, h("span.sp"), where, part);
  }

  #compute(): void {
    this.#model.compute();
    this.#place.draw();
  }

  scene() {
    const model = this.#model;
    const lookOf = (cell: Cell) => cellLook(model, cell);
    return { times: model.times, psOf: (op: number) => model.opPs(op), lookOf };
  }

  nothing(): string {
    const { part, where } = this.#model;
    return `No op${part === "all" && where === "both" ? "" : " that is switched on"} ran here in this range.`;
  }

  words(zoom: number, merged: readonly string[]): readonly string[] {
    const model = this.#model;
    const { scope_note = [] } = this.view.data.meta;
    const ps = model.psOf(zoom);
    const cost =
      zoom === model.top
        ? [`${costOf(model, ps)} of op time`]
        : [costOf(model, ps), `${formatPercent(ps / model.times.wholePs)} of op time`];
    return [...cost, ...merged, ...scope_note];
  }

  onPick(op: number): void {
    toggleSelection(this.view.link, [this.#model.opName(op)]);
  }

  onOpen(row: number): void {
    const model = this.#model;
    const ops = row === model.top ? [] : opsUnder(model.tree, row).filter((op) => model.opPs(op) > 0);
    model.select(ops.map(model.opName));
    this.view.link.setSelection([...model.selected]);
  }

  onHover(cell: Cell | null, zoom: number): Tip | null {
    this.view.link.setHover(cell?.kind === "op" ? this.#model.opName(cell.op) : "");
    return cell && cellTip(this.#model, cell, zoom);
  }
}

export const scopeIcicle: TraceBuilder = {
  name: "scope_icicle",
  build(view) {
    const hasOps = ranOps(view.data.table) && (view.data.meta.scopes ?? []).length > 0;
    if (hasOps) new ScopeIcicle(view);
    else view.root.append(noOps(view.data.meta, view.signal));
  },
  needs: ["scopes", "scope_note", "op_places", "steps", "step_totals"],
  forRange: ["occurrences"],
  about: "ops",
};
