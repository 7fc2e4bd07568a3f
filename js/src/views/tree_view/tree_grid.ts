/** Rows of a tree and columns -> a table whose rows open, with keys, sorting, and only the rows in sight in the page. */

import type { TreeRow } from "../../model/graph/cost_tree";
import { h } from "../../ui/dom";
import { inFrame, watchSize } from "../../ui/page";

const ROW_PX = 21;
const HEAD_PX = 21;
const MARGIN_ROWS = 12;
const PAGE_ROWS = 8;
const INDENT_PX = 14;

export interface TreeColumn {
  readonly id: string;
  readonly title: string;
  readonly tip?: string;
  /** px; null takes the room that is left. */
  readonly width: number | null;
  readonly isRight?: boolean;
  /** Table width in px from which the column is shown. */
  readonly shownFrom?: number;
  readonly cell: (row: TreeRow) => Node | string;
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

export interface Sorting {
  readonly id: string;
  readonly isDown: boolean;
}

export class TreeGrid {
  readonly element: HTMLElement;
  readonly #head = h("div", { role: "row", class: "hd" });
  readonly #space = h("div", { role: "presentation", class: "space" });
  readonly #body = h("div", { role: "rowgroup", class: "rows" });
  readonly #id = `tfp-tree-${Math.random().toString(36).slice(2)}`;
  #columns: readonly TreeColumn[] = [];
  #rows: readonly TreeRow[] = [];
  #sorting: Sorting = { id: "", isDown: true };
  /** The row that keys are at. */
  #at = 0;
  #width = 0;
  /** Names of attributes that some row bore. */
  readonly #marks = new Set<string>();
  readonly #draw: () => void;

  constructor(readonly options: TreeGridOptions) {
    const { signal, label } = options;
    this.element = h(
      "div",
      {
        ...{ class: "tfp-tree-grid", role: "treegrid", tabindex: 0, "data-lm-suppress-shortcuts": "true" },
        "aria-label": `${label}: arrow keys move and open, Enter selects`,
      },
      h("div", { role: "rowgroup", class: "head" }, this.#head),
      this.#body,
    );
    this.#body.append(this.#space);
    this.#draw = inFrame(() => this.#drawNow(), signal);
    this.element.addEventListener("scroll", this.#draw, { signal, passive: true });
    this.element.addEventListener("keydown", (event) => this.#key(event), { signal });
    this.#body.addEventListener("click", (event) => this.#click(event), { signal });
    this.#body.addEventListener("pointerover", (event) => this.options.onHover(this.#rowOf(event.target)), { signal });
    this.#body.addEventListener("pointerleave", () => options.onHover(null), { signal });
    watchSize(
      this.element,
      (width) => {
        this.#width = width;
        this.#drawNow();
      },
      signal,
    );
  }

  show(columns: readonly TreeColumn[], rows: readonly TreeRow[], sorting: Sorting): void {
    const before = this.#rows[this.#at]?.node;
    this.#columns = columns;
    this.#rows = rows;
    this.#sorting = sorting;
    const kept = before === undefined ? 0 : rows.findIndex(({ node }) => node === before);
    this.#at = Math.max(0, kept);
    this.element.setAttribute("aria-rowcount", String(rows.length + 1));
    this.#drawNow();
  }

  /** Gives the rows in sight their marks anew. They stay the same elements: a press may have begun on one of them. */
  update(): void {
    for (const element of this.#space.children as Iterable<HTMLElement> & HTMLCollection) {
      const row = this.#rows[Number(element.dataset.row)];
      if (row === undefined) continue;
      const wanted = this.options.attributes(row);
      for (const name of this.#marks) if (!(name in wanted)) element.removeAttribute(name);
      for (const [name, value] of Object.entries(wanted)) {
        this.#marks.add(name);
        if (element.getAttribute(name) !== value) element.setAttribute(name, value);
      }
    }
  }

  /** Scrolls to a row unless it is in sight, and leaves the keys there. */
  reveal(node: number): void {
    const at = this.#rows.findIndex((row) => row.node === node);
    if (at < 0) return;
    this.#at = at;
    this.#scrollTo(at, true);
    this.#drawNow();
  }

  #scrollTo(row: number, isCentred: boolean): void {
    const room = this.element.clientHeight - HEAD_PX;
    const [top, bottom] = [row * ROW_PX, (row + 1) * ROW_PX];
    const { scrollTop } = this.element;
    if (top >= scrollTop && bottom <= scrollTop + room) return;
    if (isCentred) this.element.scrollTop = Math.max(0, top - room / 2);
    else this.element.scrollTop = top < scrollTop ? top : bottom - room;
  }

  get #shown(): readonly TreeColumn[] {
    return this.#columns.filter(({ shownFrom }) => (shownFrom ?? 0) <= (this.#width || 800));
  }

  #drawNow(): void {
    const columns = this.#shown;
    const template = columns.map(({ width }) => (width === null ? "minmax(0,1fr)" : `${width}px`)).join(" ");
    this.element.style.setProperty("--cols", template);
    this.#drawHead(columns);
    this.#space.style.height = `${this.#rows.length * ROW_PX}px`;
    const height = this.element.clientHeight || 300;
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW_PX) - MARGIN_ROWS);
    const last = Math.min(this.#rows.length, Math.ceil((this.element.scrollTop + height) / ROW_PX) + MARGIN_ROWS);
    const elements: HTMLElement[] = [];
    for (let i = first; i < last; i++) elements.push(this.#row(i, columns));
    this.#space.replaceChildren(...elements);
    const isThere = this.#at >= first && this.#at < last;
    if (isThere) this.element.setAttribute("aria-activedescendant", `${this.#id}-${this.#at}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  #drawHead(columns: readonly TreeColumn[]): void {
    const { id, isDown } = this.#sorting;
    const now = columns.map((column) => `${column.id} ${column.title}`).join("\n") + id + isDown;
    if (this.#head.dataset.now === now) return;
    this.#head.dataset.now = now;
    const focused = (document.activeElement as HTMLElement | null)?.closest?.<HTMLElement>("[data-column]");
    const kept = focused && this.#head.contains(focused) ? focused.dataset.column : undefined;
    this.#head.replaceChildren(
      ...columns.map((column) => {
        const sort = column.id === id ? (isDown ? "descending" : "ascending") : "none";
        const attributes = { role: "columnheader", "aria-sort": sort, class: column.isRight ? "r" : undefined };
        const name = { type: "button", "data-column": column.id, title: column.tip };
        const press = h("button", name, column.title);
        press.addEventListener("click", () => this.options.onSort(column.id), { signal: this.options.signal });
        return h("span", attributes, press);
      }),
    );
    if (kept) this.#head.querySelector<HTMLElement>(`[data-column="${kept}"]`)?.focus();
  }

  #row(i: number, columns: readonly TreeColumn[]): HTMLElement {
    const row = this.#rows[i];
    const marks = this.options.attributes(row);
    for (const name of Object.keys(marks)) this.#marks.add(name);
    const element = h("div", {
      ...{ role: "row", id: `${this.#id}-${i}`, "data-row": i, "aria-rowindex": i + 2, "aria-level": row.depth + 1 },
      "aria-expanded": row.hasInside ? String(row.isOpen) : undefined,
      class: i === this.#at ? "row at" : "row",
      ...marks,
    });
    element.style.top = `${i * ROW_PX}px`;
    columns.forEach((column, k) => {
      const cell = h("span", { role: "gridcell", class: column.isRight ? "c r" : "c" }, column.cell(row));
      if (k === 0) {
        cell.style.paddingLeft = `${4 + row.depth * INDENT_PX}px`;
        cell.prepend(h("i", { class: "tw", "aria-hidden": "true" }, row.hasInside ? (row.isOpen ? "▾" : "▸") : ""));
      }
      element.append(cell);
    });
    return element;
  }

  #rowOf(target: EventTarget | null): number | null {
    const found = target instanceof Element ? target.closest<HTMLElement>("[data-row]") : null;
    return found === null ? null : (this.#rows[Number(found.dataset.row)]?.node ?? null);
  }

  #click(event: MouseEvent): void {
    const node = this.#rowOf(event.target);
    if (node === null) return;
    this.#at = this.#rows.findIndex((row) => row.node === node);
    const isTwist = event.target instanceof Element && event.target.classList.contains("tw");
    if (isTwist && this.#rows[this.#at].hasInside) this.options.onToggle(node);
    else this.options.onPick(node);
  }

  #key(event: KeyboardEvent): void {
    if (event.target !== this.element || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = this.#rows[this.#at];
    if (row === undefined || !this.#act(event.key, row)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  #act(key: string, row: TreeRow): boolean {
    const last = this.#rows.length - 1;
    const moves: Readonly<Record<string, number>> = {
      ...{ ArrowDown: this.#at + 1, ArrowUp: this.#at - 1, Home: 0, End: last },
      ...{ PageDown: this.#at + PAGE_ROWS, PageUp: this.#at - PAGE_ROWS },
    };
    if (key in moves) this.#move(Math.max(0, Math.min(last, moves[key])));
    else if (key === "Enter" || key === " ") this.options.onPick(row.node);
    else if (key === "ArrowRight" && row.hasInside && !row.isOpen) this.options.onToggle(row.node);
    else if (key === "ArrowRight" && row.isOpen) this.#move(this.#at + 1);
    else if (key === "ArrowLeft" && row.isOpen) this.options.onToggle(row.node);
    else if (key === "ArrowLeft") this.#move(this.#above(this.#at));
    else return false;
    return true;
  }

  #above(at: number): number {
    for (let i = at - 1; i >= 0; i--) if (this.#rows[i].depth < this.#rows[at].depth) return i;
    return at;
  }

  #move(to: number): void {
    this.#at = to;
    this.#scrollTo(to, false);
    this.#drawNow();
  }
}
