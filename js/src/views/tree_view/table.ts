/** The tree as a table whose rows open, with own and total figures. */

import type { Coded, FigureKey } from "../../data/meta";
import { tipName } from "../../model/names";
import type { ScopeTree } from "../../model/scopes";
import {
  type Figure,
  formatFigure,
  largestPath,
  nodeOfOp,
  openRows,
  opOfNode,
  type TreeKind,
  type TreeRow,
} from "../../model/structure";
import { formatCount, formatNumber, formatPercent } from "../../model/text";
import { h, unspoken } from "../../ui/dom";
import { Sheet, type SheetColumn, type Sorting } from "../../ui/sheet";
import { type BarPart, barCell, titled } from "../../ui/table";
import { chainName, type NodeListeners, type TreeModel } from "./model";

const INDENT_PX = 14;

interface TreeColumn extends SheetColumn<TreeRow> {
  /** What siblings are sorted by. */
  readonly value: (node: number) => number | string;
}

interface TreeGridOptions {
  readonly label: string;
  readonly signal: AbortSignal;
  readonly attributes: (row: TreeRow) => Readonly<Record<string, string>>;
  readonly onPick: (node: number) => void;
  readonly onToggle: (node: number) => void;
  readonly onSort: (id: string) => void;
  readonly onHover: (node: number | null) => void;
}

class TreeGrid {
  readonly #sheet: Sheet<TreeRow>;
  #rows: readonly TreeRow[] = [];

  constructor(readonly options: TreeGridOptions) {
    const { signal, label, attributes, onSort, onHover } = options;
    this.#sheet = new Sheet({
      role: "treegrid",
      label: `${label}: arrow keys move and open, Enter selects`,
      signal,
      attributes: (row) => ({
        "aria-level": String(row.depth + 1),
        ...(row.hasInside && { "aria-expanded": String(row.isOpen) }),
        ...attributes(row),
      }),
      onSort,
      onClick: (row, place, target) => this.#click(row, place, target),
      onWalk: (place) => this.#sheet.reveal(place, false),
      onKey: (key, row, place) => this.#act(key, row, place),
      onHover: (row) => onHover(row?.node ?? null),
    });
    this.element.classList.add("tfp-tree-grid");
  }

  get element(): HTMLElement {
    return this.#sheet.element;
  }

  /** The first column names the rows. */
  show([first, ...columns]: readonly TreeColumn[], rows: readonly TreeRow[], sorting: Sorting): void {
    const before = this.#rows[this.#sheet.at]?.node;
    this.#rows = rows;
    const kept = before === undefined ? 0 : this.#placeOf(before);
    const names: SheetColumn<TreeRow> = { ...first, cell: (row, look) => indented(row, first.cell(row, look)) };
    this.#sheet.show([names, ...columns], rows, sorting, Math.max(0, kept));
  }

  update(): void {
    this.#sheet.update();
  }

  /** Scrolls to a row unless it is in sight, and leaves the keys there. */
  reveal(node: number): void {
    const place = this.#placeOf(node);
    if (place >= 0) this.#sheet.reveal(place);
  }

  #placeOf(node: number): number {
    return this.#rows.findIndex((row) => row.node === node);
  }

  #click({ node, hasInside }: TreeRow, place: number, target: Element): void {
    this.#sheet.update(place);
    if (target.classList.contains("tw") && hasInside) this.options.onToggle(node);
    else this.options.onPick(node);
  }

  #act(key: string, row: TreeRow, place: number): boolean {
    if (key === "Enter" || key === " ") this.options.onPick(row.node);
    else if (key === "ArrowRight" && row.hasInside && !row.isOpen) this.options.onToggle(row.node);
    else if (key === "ArrowRight" && row.isOpen) this.#sheet.reveal(place + 1, false);
    else if (key === "ArrowLeft" && row.isOpen) this.options.onToggle(row.node);
    else if (key === "ArrowLeft") this.#sheet.reveal(this.#above(place), false);
    else return false;
    return true;
  }

  #above(place: number): number {
    for (let i = place - 1; i >= 0; i--) if (this.#rows[i].depth < this.#rows[place].depth) return i;
    return place;
  }
}

function indented({ depth, hasInside, isOpen }: TreeRow, name: Node | string): Node {
  const twist = unspoken("i.tw", hasInside ? (isOpen ? "▾" : "▸") : "");
  return h("span", { style: { "margin-left": `${depth * INDENT_PX - 2}px` } }, twist, name);
}

export class TablePane {
  readonly #grid: TreeGrid;
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
    this.#grid = new TreeGrid({
      label: "Ops by structure",
      signal,
      attributes: (row) => this.#attributes(row),
      onPick: listeners.onPick,
      onToggle: (node) => this.#toggle(node),
      onSort: (id) => this.#sort(id),
      onHover: listeners.onHover,
    });
  }

  get element(): HTMLElement {
    return this.#grid.element;
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
    this.#grid.show(columns, rows, { id: model.hits === null ? this.#sortBy : "", isDown: this.#isDown });
  }

  update(): void {
    this.#grid.update();
  }

  setHover(name: string): void {
    if (name === this.#hovered) return;
    this.#hovered = name;
    this.#grid.update();
  }

  reveal(node: number): void {
    const { model } = this;
    if (model.hits === null) {
      const { tree } = model;
      const op = opOfNode(tree, node);
      let at = op < 0 ? tree.parent[node] : model.places[op];
      for (; at > 0; at = tree.parent[at]) this.#opened.add(at);
      this.draw();
    }
    this.#grid.reveal(node);
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

  #attributes({ node }: TreeRow): Record<string, string> {
    const { model } = this;
    const marked = model.marked(node);
    const op = opOfNode(model.tree, node);
    const isHit = model.hits !== null && model.hits[model.hitAt] === node;
    const isHovered = op >= 0 && model.isNamed(op, this.#hovered);
    return {
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
      ...(figure.key === "run_count" || !has("run_count")
        ? []
        : [this.#countColumn("runs", "Runs", "How often its ops ran", "run_count")]),
      ...(isFlat
        ? []
        : [textColumn({ id: "type", title: "Type", width: 130, shownFrom: 900 }, (node) => this.#typesOf(node))]),
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
    const { model } = this;
    const { figure } = model;
    const total = model.total(node);
    const largest = this.#largest;
    const share = largest > 0 ? total / largest : 0;
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
    const [onDevice, onHost] = (["accelerator_micros", "cpu_micros"] as const).map(
      (part) => model.figures(part).total[node],
    );
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

  /** The row of the first selected op; null where none is here. */
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
  tree.ops.forEach((ops, row) => {
    for (const op of ops) add(row, codes[op]);
  });
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
