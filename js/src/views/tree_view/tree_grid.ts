/** Rows of a tree and columns -> a table whose rows open, with keys and marks. */

import type { TreeRow } from "../../model/graph/cost_tree";
import { h, unspoken } from "../../ui/dom";
import type { SheetColumn } from "../../ui/grid_column";
import { Sheet, type Sorting } from "../../ui/sheet";

const INDENT_PX = 14;

export interface TreeColumn extends SheetColumn<TreeRow> {
  /** What siblings are sorted by. */
  readonly value: (node: number) => number | string;
}

export interface TreeGridOptions {
  readonly label: string;
  readonly signal: AbortSignal;
  readonly attributes: (row: TreeRow) => Readonly<Record<string, string>>;
  readonly onPick: (node: number) => void;
  readonly onToggle: (node: number) => void;
  readonly onSort: (id: string) => void;
  readonly onHover: (node: number | null) => void;
}

export class TreeGrid {
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

  /** Draws marks anew. */
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
