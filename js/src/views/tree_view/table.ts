/** The tree as a table whose rows open, with own and total figures, and what the reader chose of it. */

import type { Scope } from "../../data/columns";
import { type Coded, FAMILIES, type FigureKey } from "../../data/meta";
import { opColors } from "../../model/colors";
import { leafOf, tipName } from "../../model/names";
import { opsOfScope, withoutWaiting } from "../../model/ops";
import { describeRange, scopeOf } from "../../model/range";
import { type Cell, type ScopeFigures, type ScopeTree, scopeFigures, scopePath } from "../../model/scopes";
import {
  FIGURES,
  type Figure,
  formatFigure,
  largestPath,
  type NodeFigures,
  nodeFigures,
  nodeOfOp,
  openRows,
  opOfNode,
  opsOfNode,
  RANGED,
  type Structure,
  type TreeKind,
  type TreeRow,
} from "../../model/structure";
import { formatCount, formatNumber, formatPercent, plural } from "../../model/text";
import { h, unspoken } from "../../ui/dom";
import { type CellLook, restLabel } from "../../ui/icicle";
import type { Tip } from "../../ui/plot";
import { Sheet, type SheetColumn } from "../../ui/sheet";
import { type BarPart, barCell, titled } from "../../ui/table";
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
    structure.ofFrameworkOp.forEach((op, id) => void ids[op]?.push(id));
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
    const { of, table } = this.view.data;
    return this.scope === null && of === "" && table("step_totals") === undefined;
  }

  compute(): void {
    const { structure } = this;
    this.#sums.clear();
    this.#looks.clear();
    this.#ranged = null;
    if (this.#isOwn) return;
    const { meta } = this.view.data;
    const totals = withoutWaiting(meta, opsOfScope(meta, this.view.data.table, this.scope));
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
    const sums = this.#sums.get(name) ?? nodeFigures(this.tree, this.values(key));
    this.#sums.set(name, sums);
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
    const known = this.#looks.get(name);
    if (known !== undefined) return known;
    const values = this.values(this.figure.key);
    const looks = scopeFigures(this.tree, {
      ps: (op) => values[op],
      isSelected: (op) => this.isSelected(op),
      family: (op) => this.#family[op],
    });
    this.#looks.set(name, looks);
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
    const { data } = this.view;
    if (data.of === "" || ["params", "float_ops", "occurrence"].includes(this.figure.key)) return this.#basis;
    if (!RANGED.has(this.figure.key)) return `${this.#basis}, all hosts`;
    return `on ${data.of}, ${describeRange(data.meta, data.table("steps"), this.scope)}`;
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
  const nodes = cell.kind === "scope" ? cell.chain : [node];
  const isHit = hits !== null && cell.kind !== "rest" && nodes.some((at) => hits.has(at));
  const plain = { label, figure, spoken, found: hits === null ? undefined : isHit };
  if (cell.kind === "rest" || node === 0) return { ...plain, family: "", selected: "none" };
  const op = opOfNode(model.tree, node);
  const family = op >= 0 ? model.familyOf(op) : (FAMILIES[model.looks.family[node]] ?? "mixed");
  return { ...plain, family, selected: model.marked(node) };
}

function cellLabel(model: TreeModel, cell: Cell): string {
  if (cell.kind === "rest") return restLabel(cell.n);
  if (cell.kind === "op") return model.nameOf(nodeOfOp(model.tree, cell.op));
  return chainName(model, cell.chain);
}

/** Entries that hold nothing but each other; of calls the outermost, which is the reader's own, and the innermost. */
function chainName(model: TreeModel, chain: readonly number[]): string {
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
  const known = structure.figures.map(({ key }) => key);
  const others = FIGURES.filter(({ key }) => key !== figure.key && key !== "occurrence" && known.includes(key));
  const parts = others
    .filter(({ key }) => model.values(key)[op] > 0)
    .map(
      ({ key, text }, i, all) =>
        `${text.toLowerCase().replace("cpu", "CPU")} ${formatFigure(all[i], model.values(key)[op])}`,
    );
  return parts.slice(0, 4).join(" · ");
}

const INDENT_PX = 14;

interface TreeColumn extends SheetColumn<TreeRow> {
  readonly value: (node: number) => number | string;
}

function indented({ depth, hasInside, isOpen }: TreeRow, name: Node | string): Node {
  const twist = unspoken("i.tw", hasInside ? (isOpen ? "▾" : "▸") : "");
  return h("span", { style: { "margin-left": `${depth * INDENT_PX - 2}px` } }, twist, name);
}

export class TablePane {
  readonly element: HTMLElement;
  readonly #sheet: Sheet<TreeRow>;
  #rows: readonly TreeRow[] = [];
  /** By tree what is open. */
  readonly #open = new Map<string, Set<number>>();
  #sortBy = "total";
  readonly #devices: Partial<Record<TreeKind, Int32Array>> = {};
  #isDown = true;
  #hovered = "";

  constructor(
    readonly model: TreeModel,
    readonly listeners: Omit<NodeListeners, "onClear">,
    signal: AbortSignal,
  ) {
    this.#sheet = new Sheet({
      role: "treegrid",
      label: "Ops by structure: arrow keys move and open, Enter selects",
      signal,
      attributes: (row) => this.#attributes(row),
      onSort: (id) => this.#sort(id),
      onClick: (row, place, target) => this.#click(row, place, target),
      onWalk: (place) => this.#sheet.reveal(place, false),
      onKey: (key, row, place) => this.#act(key, row, place),
      onHover: (row) => listeners.onHover(row?.node ?? null),
    });
    this.element = this.#sheet.element;
    this.element.classList.add("tfp-tree-grid");
  }

  #placeOf(node: number): number {
    return this.#rows.findIndex((row) => row.node === node);
  }

  #click({ node, hasInside }: TreeRow, place: number, target: Element): void {
    this.#sheet.update(place);
    if (target.classList.contains("tw") && hasInside) this.#toggle(node);
    else this.listeners.onPick(node);
  }

  #act(key: string, row: TreeRow, place: number): boolean {
    if (key === "Enter" || key === " ") this.listeners.onPick(row.node);
    else if (key === "ArrowRight" && row.hasInside && !row.isOpen) this.#toggle(row.node);
    else if (key === "ArrowRight" && row.isOpen) this.#sheet.reveal(place + 1, false);
    else if (key === "ArrowLeft" && row.isOpen) this.#toggle(row.node);
    else if (key === "ArrowLeft") this.#sheet.reveal(this.#above(place), false);
    else return false;
    return true;
  }

  #above(place: number): number {
    for (let i = place - 1; i >= 0; i--) if (this.#rows[i].depth < this.#rows[place].depth) return i;
    return place;
  }

  get #opened(): Set<number> {
    const { treeKind, tree } = this.model;
    let open = this.#open.get(treeKind);
    if (open === undefined) {
      // A ranking is read as a whole first; in a tree the way to the largest is.
      open = treeKind === "op" ? new Set() : largestPath(tree, this.model.figures().total);
      this.#open.set(treeKind, open);
    }
    return open;
  }

  draw(): void {
    const { model } = this;
    const columns = this.#columns();
    const rows =
      model.hits === null
        ? openRows(model.tree, this.#opened, this.#order(columns))
        : model.hits.map((node) => ({ node, chain: [node], depth: 0, hasInside: false, isOpen: false }));
    const before = this.#rows[this.#sheet.at]?.node;
    this.#rows = rows;
    const kept = before === undefined ? 0 : this.#placeOf(before);
    const [first, ...others] = columns;
    const names: SheetColumn<TreeRow> = { ...first, cell: (row, look) => indented(row, first.cell(row, look)) };
    const sorting = { id: model.hits === null ? this.#sortBy : "", isDown: this.#isDown };
    this.#sheet.show([names, ...others], rows, sorting, Math.max(0, kept));
  }

  update(): void {
    this.#sheet.update();
  }

  setHover(name: string): void {
    if (name === this.#hovered) return;
    this.#hovered = name;
    this.#sheet.update();
  }

  goTo(node: number): void {
    this.update();
    this.reveal(node);
  }

  /** Scrolls to a row unless it is in sight, and leaves the keys there. */
  reveal(node: number): void {
    const { model } = this;
    if (model.hits === null) {
      const { tree } = model;
      const op = opOfNode(tree, node);
      let at = op < 0 ? tree.parent[node] : model.places[op];
      for (; at > 0; at = tree.parent[at]) this.#opened.add(at);
      this.draw();
    }
    const place = this.#placeOf(node);
    if (place >= 0) this.#sheet.reveal(place);
  }

  #toggle(node: number): void {
    const open = this.#opened;
    if (!open.delete(node)) open.add(node);
    this.draw();
  }

  #sort(id: string): void {
    if (id === this.#sortBy) this.#isDown = !this.#isDown;
    else [this.#sortBy, this.#isDown] = [id, id !== "name"];
    this.draw();
  }

  /** By the total where the chosen column is not of this tree. */
  #order(columns: readonly TreeColumn[]): (a: number, b: number) => number {
    const { value } = columns.find(({ id }) => id === this.#sortBy) ?? columns[1];
    const sign = this.#isDown ? -1 : 1;
    return (a, b) => sign * compared(value(a), value(b)) || a - b;
  }

  /** Of an entry that of all ops in it that ran. */
  #deviceOf(node: number): string {
    const { structure, tree, treeKind } = this.model;
    const op = opOfNode(tree, node);
    if (op >= 0) return shortDevice(structure.deviceOf(op));
    this.#devices[treeKind] ??= devicesOf(tree, structure.meta.devices);
    const code = this.#devices[treeKind]?.[node] ?? UNKNOWN;
    return code === SEVERAL ? "several" : shortDevice(structure.meta.devices.texts[code] ?? "");
  }

  #shapeOf(node: number): string {
    const op = opOfNode(this.model.tree, node);
    return op < 0 ? "" : this.model.structure.shapeOf(op);
  }

  /** Of an op its type, of an entry the types of the ops directly in it. */
  #typesOf(node: number): string {
    const { tree, structure, treeKind } = this.model;
    const op = opOfNode(tree, node);
    if (op >= 0) return structure.typeOf(op);
    if (treeKind === "op") return "";
    const types = [...new Set(tree.ops[node].map((inner) => structure.typeOf(inner)))].filter(Boolean);
    return types.length > 2 ? `${types.slice(0, 2).join(", ")}, ${types.length - 2} more` : types.join(", ");
  }

  #attributes({ node, depth, hasInside, isOpen }: TreeRow): Record<string, string> {
    const { model } = this;
    const marked = model.marked(node);
    const op = opOfNode(model.tree, node);
    const isHit = model.hits !== null && model.hits[model.hitAt] === node;
    const isHovered = op >= 0 && model.isNamed(op, this.#hovered);
    return {
      "aria-level": String(depth + 1),
      ...(hasInside && { "aria-expanded": String(isOpen) }),
      "aria-selected": String(marked === "all"),
      "data-node": model.fullName(node),
      ...(marked === "some" && { "data-some": "true" }),
      ...(isHit && { "data-current": "true" }),
      ...(isHovered && { "data-hover": "true" }),
    };
  }

  #columns(): TreeColumn[] {
    const { model } = this;
    const { figure, structure, treeKind } = model;
    const has = (key: FigureKey) => structure.figures.some((known) => known.key === key);
    const title = { time: `${figure.text}, ms`, bytes: `${figure.text}, MiB`, count: figure.text }[figure.unit];
    const isFlat = treeKind === "op";
    const noun = { scope: "Scope or op", op: "Op type", code: "Call" }[treeKind];
    const total = (node: number) => model.total(node);
    const ran = "How often its ops ran";
    const typesOf = (node: number) => this.#typesOf(node);
    return [
      { id: "name", title: noun, value: (node) => model.nameOf(node), cell: (row) => this.#name(row) },
      {
        ...{ id: "total", title, width: 168, tip: isFlat ? "Of all ops of the type" : "With all that is inside" },
        value: total,
        cell: ({ node }) => this.#bar(node),
      },
      {
        ...{ id: "share", title: "%", tip: `Of all ${figure.noun}`, width: 46, isRight: true, value: total },
        cell: ({ node }) => formatPercent(model.share(node)).replace(" %", ""),
      },
      ...(isFlat ? [] : [this.#ownColumn(figure)]),
      ...(figure.key === "occurrence" ? [] : [this.#countColumn("ops", "Ops", "How many ops it holds", "occurrence")]),
      ...(figure.key !== "run_count" && has("run_count") ? [this.#countColumn("runs", "Runs", ran, "run_count")] : []),
      ...(isFlat ? [] : [textColumn({ id: "type", title: "Type", width: 130, shownFrom: 900 }, typesOf)]),
      textColumn({ id: "shape", title: "Shape", width: 96, shownFrom: 1000 }, (node) => this.#shapeOf(node)),
      textColumn({ id: "device", title: "Device", width: 60, shownFrom: 760 }, (node) => this.#deviceOf(node)),
    ];
  }

  #ownColumn(figure: Figure): TreeColumn {
    const { own } = this.model.figures();
    return {
      ...{ id: "own", title: "Own", tip: "Of ops directly in it, without what is further inside", width: 56 },
      ...{ isRight: true, shownFrom: 500, value: (node) => own[node] },
      cell: ({ node }) => cellText(figure, own[node]),
    };
  }

  #countColumn(id: string, title: string, tip: string, key: FigureKey): TreeColumn {
    const { total } = this.model.figures(key);
    return {
      ...{ id, title, tip, width: 54, isRight: true, shownFrom: id === "ops" ? 640 : 700 },
      value: (node) => total[node],
      cell: ({ node }) => formatCount(total[node]),
    };
  }

  #name({ node, chain }: TreeRow): Node {
    const { model } = this;
    const isEntry = opOfNode(model.tree, node) < 0;
    const text = model.hits === null ? chainName(model, chain) : model.fullName(node);
    if (model.treeKind !== "code" || !isEntry) {
      return h("span", { class: isEntry ? "nm e" : "nm", title: model.fullName(node) }, tipName(text));
    }
    const code = model.structure.meta.frames.text[node] ?? "";
    const calls = chain.map((row) => model.nameOf(row)).join("\n");
    return h("span.nm.e", { title: `${calls}\n${code}` }, text, code && h("code", code));
  }

  /** The figure and a bar; of time the part on accelerators in their colour. */
  #bar(node: number): Node {
    const { figure } = this.model;
    const total = this.model.total(node);
    const share = this.#largest > 0 ? total / this.#largest : 0;
    return barCell(cellText(figure, total), this.#parts(node, share));
  }

  #parts(node: number, share: number): BarPart[] {
    const { model } = this;
    const device = { color: "var(--c-device_compute)" };
    const host = { color: "var(--c-host_compute)" };
    const { key, unit } = model.figure;
    if (unit !== "time") return [{ share, color: "var(--m-stack)" }];
    if (key === "accelerator_micros") return [{ share, ...device }];
    if (key === "cpu_micros") return [{ share, ...host }];
    const [onDevice, onHost] = [
      model.figures("accelerator_micros").total[node],
      model.figures("cpu_micros").total[node],
    ];
    const all = onDevice + onHost;
    const part = all > 0 ? onDevice / all : 0;
    if (part === 0 || part === 1) return [{ share, ...(part === 1 ? device : host) }];
    return [
      { share: share * part, ...device, title: "on accelerators" },
      { share: share * (1 - part), ...host, title: "on the host" },
    ];
  }

  /** What fills a bar: the whole in a tree, the largest in a list. */
  get #largest(): number {
    const { model } = this;
    if (model.treeKind !== "op") return model.whole;
    return model.tree.children[0].reduce((most, row) => Math.max(most, model.total(row)), 0);
  }

  firstSelected(): number | null {
    const { model } = this;
    for (let op = 0; op < model.structure.nOps; op++) if (model.isSelected(op)) return nodeOfOp(model.tree, op);
    return null;
  }
}

function textColumn(head: Pick<TreeColumn, "id" | "title" | "width" | "shownFrom">, text: (node: number) => string) {
  return { ...head, value: text, cell: ({ node }: TreeRow) => titled(text(node), text(node)) };
}

function compared(a: number | string, b: number | string): number {
  return typeof a === "number" ? a - Number(b) : a.localeCompare(String(b));
}

const UNKNOWN = -1;
const SEVERAL = -2;

/** For each entry the number of the device on which all ops in it ran. */
function devicesOf(tree: ScopeTree, { texts, codes }: Coded): Int32Array {
  const found = new Int32Array(tree.entries.length).fill(UNKNOWN);
  const add = (row: number, code: number) => {
    if (code === UNKNOWN || texts[code] === "" || found[row] === code) return;
    found[row] = found[row] === UNKNOWN ? code : SEVERAL;
  };
  for (const [row, ops] of tree.ops.entries()) for (const op of ops) add(row, codes[op]);
  for (let k = tree.order.length - 1; k > 0; k--) {
    const row = tree.order[k];
    if (tree.parent[row] >= 0) add(tree.parent[row], found[row]);
  }
  return found;
}

/** Of "/job:worker/task:1/device:GPU:0" the end. */
function shortDevice(device: string): string {
  return device.slice(device.lastIndexOf("/") + 1).replace(/^(device|host|cpu|gpu):/, "");
}

/** The number alone, in the unit of the head. */
function cellText(figure: Figure, value: number): string {
  if (figure.unit === "time") return formatNumber(value / 1000);
  if (figure.unit === "bytes") return formatNumber(value / 2 ** 20);
  return formatFigure(figure, value);
}
