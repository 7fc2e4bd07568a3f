/** A table of which only the rows in sight are in the page: heads that sort and resize, keys and marks. */

import { within } from "../data/widget";
import { cutNames } from "../model/names";
import { commonDecimals } from "../model/text";
import { h, hasModifier, inFrame, on, onKeys, setAria, textFits, unspoken, watchSize } from "./dom";

export interface CellLook {
  readonly cut: (name: string) => string;
  readonly most: number;
  /** How many tell the column's `figures` apart. */
  readonly decimals: number;
}

export interface SheetColumn<R> {
  readonly id: string;
  readonly title: string;
  readonly tip?: string | undefined;
  /** What a cell shows; text is set as text. */
  readonly cell: (row: R, look: CellLook) => Node | string;
  /** Names that are cut where they do not fit, so that no two different ones look alike. */
  readonly names?: (row: R) => string;
  /** Amounts of which cells are told the largest. */
  readonly amounts?: (row: R) => number;
  /** Numbers that all show as many decimals; NaN for a blank cell. A column of nothing but those is left out. */
  readonly figures?: (row: R) => number;
  readonly leadPx?: number;
  /** px; a column without a width takes a share of the rest. */
  readonly width?: number;
  readonly narrowWidth?: number;
  readonly isRight?: boolean;
  readonly isOptional?: boolean;
  /** Width of the table in px from which the column is shown. */
  readonly shownFrom?: number;
}

export interface GridColumn<R> extends SheetColumn<R> {
  readonly value: (row: R) => number | string;
}

const NARROW_PX = 1080;
/** Of a column that shares the rest. */
const LEAST_PX = 90;

/** The columns that a table has room for, and how wide each is. `chosen` are widths that the reader gave. */
export function fitted<R>(
  columns: readonly SheetColumn<R>[],
  tablePx: number,
  chosen: ReadonlyMap<string, number>,
): ReadonlyMap<SheetColumn<R>, number> {
  const isNarrow = tablePx < NARROW_PX;
  const shown = columns.filter(({ isOptional, shownFrom = 0 }) => tablePx >= shownFrom && !(isOptional && isNarrow));
  const fixed = shown.map(({ id, width, narrowWidth }) => chosen.get(id) ?? (isNarrow ? narrowWidth : width) ?? width);
  const rest = tablePx - fixed.reduce((sum: number, width) => sum + (width ?? 0), 0);
  const share = Math.max(LEAST_PX, rest / Math.max(1, fixed.filter((width) => width === undefined).length));
  return new Map(shown.map((column, i) => [column, fixed[i] ?? share]));
}

const ROW_PX = 21;
const HEAD_PX = 21;
const MARGIN_ROWS = 12;
const PAGE_ROWS = 8;
const CELL_PADDING_PX = 14;
const LEAST_COLUMN_PX = 24;
/** Where the page has no layout: room for all columns. */
const DEFAULT_WIDTH_PX = 2000;
const DEFAULT_HEIGHT_PX = 300;

export interface Sorting {
  readonly id: string;
  readonly isDown: boolean;
}

interface SheetOptions<R> {
  readonly role: "grid" | "treegrid";
  readonly label: string;
  readonly signal: AbortSignal;
  readonly attributes: (row: R) => Readonly<Record<string, string>>;
  readonly onSort: (id: string) => void;
  readonly onClick: (row: R, place: number, target: Element) => void;
  readonly onWalk: (place: number) => void;
  /** Whether another key means something for the row that keys are at. */
  readonly onKey?: (key: string, row: R, place: number) => boolean;
  readonly onHover?: ((row: R | null) => void) | undefined;
  readonly onWidths?: (() => void) | undefined;
}

export class Sheet<R> {
  readonly element: HTMLElement;
  readonly #head = h("div", { role: "row", class: "hd" });
  readonly #space = h("div", { role: "presentation", class: "space" });
  readonly #body = h("div", { role: "rowgroup", class: "rows" }, this.#space);
  readonly #none = h("div.none.q");
  readonly #id = `tfp-sheet-${Math.random().toString(36).slice(2)}`;
  #columns: readonly SheetColumn<R>[] = [];
  #rows: readonly R[] = [];
  #sorting: Sorting = { id: "", isDown: true };
  /** The row that keys are at; -1 for none. */
  #at = -1;
  #sought = -1;
  #width = DEFAULT_WIDTH_PX;
  readonly #titles = new Map<string, string>();
  readonly #chosenWidths = new Map<string, number>();
  readonly #cuts = new Map<string, { width: number; texts: ReadonlyMap<string, string>; rows: readonly R[] }>();
  readonly #looks = new Map<string, CellLook>();
  readonly #marks = new Set<string>();
  readonly #drawSoon: () => void;

  constructor(readonly options: SheetOptions<R>) {
    const { role, label, signal, onHover } = options;
    const attributes = { class: "tfp-grid", role, tabindex: 0, "aria-label": label };
    const head = h("div", { role: "rowgroup", class: "head" }, this.#head);
    this.element = h("div", attributes, head, this.#body, this.#none);
    this.#drawSoon = inFrame(() => this.draw(), signal);
    on(this.element, signal, { scroll: this.#drawSoon });
    const isMeant = (event: KeyboardEvent) => event.target === this.element && !hasModifier(event);
    onKeys(this.element, signal, (event) => isMeant(event) && this.#act(event.key));
    on(this.#body, signal, { click: (event) => this.#click(event) });
    if (onHover) {
      const pointerover = (event: PointerEvent) => onHover(this.#rows[this.#placeOf(event)] ?? null);
      on(this.#body, signal, { pointerover, pointerleave: () => onHover(null) });
    }
    watchSize(this.element, signal, (width) => this.#resize(width));
  }

  get at(): number {
    return this.#at;
  }

  show(columns: readonly SheetColumn<R>[], rows: readonly R[], sorting: Sorting, at: number): void {
    const isBlank = ({ figures }: SheetColumn<R>) =>
      rows.length > 0 && figures !== undefined && !rows.some((row) => Number.isFinite(figures(row)));
    this.#columns = columns.filter((column) => !isBlank(column));
    this.#rows = rows;
    this.#sorting = sorting;
    this.#keepAt(at);
    this.element.setAttribute("aria-rowcount", String(rows.length + 1));
    // A group of no rows is incomplete in the eyes of a screen reader.
    setAria(this.#body, "busy", rows.length === 0);
    this.#none.hidden = rows.length > 0;
    for (const { id, title, amounts, figures } of this.#columns) {
      const most = amounts ? rows.reduce((largest, row) => Math.max(largest, amounts(row)), 0) : 0;
      const decimals = figures ? commonDecimals(rows.map(figures), title.endsWith(", %") ? 2 : 3) : 0;
      this.#looks.set(id, { most, decimals, cut: (name) => this.#cuts.get(id)?.texts.get(name) ?? name });
    }
    this.draw();
  }

  setPlaceholder(text: string): void {
    this.#none.textContent = text;
  }

  setTitles(titles: Readonly<Record<string, string>>): void {
    for (const [id, text] of Object.entries(titles)) this.#titles.set(id, text);
    this.#drawHead([...this.#fitted.keys()]);
  }

  columnWidth(id: string): number {
    return [...this.#fitted].find(([column]) => column.id === id)?.[1] ?? 0;
  }

  get #fitted(): ReadonlyMap<SheetColumn<R>, number> {
    return fitted(this.#columns, this.#width, this.#chosenWidths);
  }

  /** Gives the rows in sight their marks anew. They stay the same elements: a press may have begun on one of them. */
  update(at = this.#at): void {
    this.#keepAt(at);
    for (const element of this.#space.children as Iterable<HTMLElement> & HTMLCollection) {
      const place = Number(element.dataset.row);
      const wanted = this.options.attributes(this.#rows[place]);
      for (const name of this.#marks) if (!(name in wanted)) element.removeAttribute(name);
      for (const [name, value] of Object.entries(wanted)) {
        element.setAttribute(name, value);
        this.#marks.add(name);
      }
      element.classList.toggle("at", place === at);
    }
    this.#tellActive();
  }

  /** What was sought while there was no room for it is where the keys are now. */
  #keepAt(at: number): void {
    this.#at = at;
    if (this.#sought >= 0) this.#sought = at;
  }

  /** Puts the keys at a row and scrolls to it unless it is in sight, or as soon as there is room. */
  reveal(place: number, isCentred = true): void {
    this.#at = place;
    this.#sought = this.element.clientHeight > 0 ? -1 : place;
    const room = this.element.clientHeight - HEAD_PX;
    const [top, bottom] = [place * ROW_PX, (place + 1) * ROW_PX];
    const { scrollTop } = this.element;
    if (top < scrollTop || bottom > scrollTop + room) {
      if (isCentred) this.element.scrollTop = Math.max(0, top - room / 2);
      else this.element.scrollTop = top < scrollTop ? top : bottom - room;
    }
    this.draw();
  }

  #resize(width: number): void {
    const isNew = width !== this.#width;
    this.#width = width;
    if (this.#sought >= 0) this.reveal(this.#sought);
    else this.draw();
    if (isNew) this.options.onWidths?.();
  }

  draw(): void {
    const widths = this.#fitted;
    const columns = [...widths.keys()];
    const tracks = [...widths].map(([column, width]) => {
      const isFixed = column.width !== undefined || this.#chosenWidths.has(column.id);
      return isFixed ? `${width}px` : "minmax(90px, 1fr)";
    });
    this.element.style.setProperty("--cols", tracks.join(" "));
    const least = [...widths.values()].reduce((sum, width) => sum + width, 0);
    this.element.style.setProperty("--least", least > this.#width + 1 ? `${least}px` : "0");
    this.#drawHead(columns);
    for (const [column, width] of widths) this.#cut(column, width);
    this.#space.style.height = `${this.#rows.length * ROW_PX}px`;
    const height = this.element.clientHeight || DEFAULT_HEIGHT_PX;
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW_PX) - MARGIN_ROWS);
    const last = Math.min(this.#rows.length, Math.ceil((this.element.scrollTop + height) / ROW_PX) + MARGIN_ROWS);
    const elements: HTMLElement[] = [];
    for (let place = first; place < last; place++) elements.push(this.#row(place, columns));
    this.#space.replaceChildren(...elements);
    this.#tellActive();
  }

  #tellActive(): void {
    const active = this.#space.querySelector(":scope > .at");
    if (active) this.element.setAttribute("aria-activedescendant", active.id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  /** Cuts all names of a column once for a width: to cut thousands takes longer than all else. */
  #cut({ id, names, leadPx = 0 }: SheetColumn<R>, widthPx: number): void {
    if (names === undefined) return;
    const width = widthPx - CELL_PADDING_PX - leadPx;
    const rows = this.#rows;
    const last = this.#cuts.get(id);
    const isSame = last?.width === width;
    if (isSame && last.rows === rows) return;
    const isKnown = isSame && rows.every((row) => last.texts.has(names(row)));
    const texts = isKnown ? last.texts : cutNames(rows.map(names), textFits(this.element, width));
    this.#cuts.set(id, { width, texts, rows });
  }

  #drawHead(columns: readonly SheetColumn<R>[]): void {
    const { id, isDown } = this.#sorting;
    const titles = columns.map((column) => this.#titles.get(column.id) ?? column.title);
    const now = columns.map((column, i) => `${column.id} ${titles[i]}`).join("\n") + id + isDown;
    if (this.#head.dataset.now === now) return;
    this.#head.dataset.now = now;
    const { activeElement } = document;
    const kept = this.#head.contains(activeElement) ? (activeElement as HTMLElement).dataset.column : undefined;
    this.#head.replaceChildren(...columns.map((column, i) => this.#headOf(column, titles[i])));
    if (kept) this.#head.querySelector<HTMLElement>(`button[data-column="${kept}"]`)?.focus();
  }

  #headOf({ id, tip, width, isRight }: SheetColumn<R>, text: string): HTMLElement {
    const { signal, onSort } = this.options;
    const sort = id !== this.#sorting.id ? "none" : this.#sorting.isDown ? "descending" : "ascending";
    // The column that takes the room left may have a head of any length.
    const title = width === undefined ? [text, tip].filter(Boolean).join("\n") : tip;
    const press = h("button", { type: "button", class: "tfp-head", "data-column": id, title }, text);
    on(press, signal, { click: () => onSort(id) });
    const edge = unspoken("i.edge");
    on(edge, signal, {
      pointerdown: (event) => this.#beginResize(event, edge, id),
      dblclick: () => this.#setWidth(id, null),
    });
    return h("span", { role: "columnheader", "aria-sort": sort, class: isRight && "r" }, press, edge);
  }

  #beginResize(event: PointerEvent, edge: HTMLElement, id: string): void {
    const start = this.columnWidth(id) - event.clientX;
    const dragged = within(this.options.signal);
    edge.setPointerCapture?.(event.pointerId);
    const end = () => dragged.abort();
    const pointermove = (moved: PointerEvent) => this.#setWidth(id, start + moved.clientX);
    on(edge, dragged.signal, { pointermove, pointerup: end, pointercancel: end });
  }

  /** null gives a column its own width again. */
  #setWidth(id: string, px: number | null): void {
    if (px === null) this.#chosenWidths.delete(id);
    else this.#chosenWidths.set(id, Math.max(LEAST_COLUMN_PX, px));
    this.#drawSoon();
    this.options.onWidths?.();
  }

  #row(place: number, columns: readonly SheetColumn<R>[]): HTMLElement {
    const row = this.#rows[place];
    const marks = this.options.attributes(row);
    for (const name of Object.keys(marks)) this.#marks.add(name);
    const element = h("div", {
      ...{ role: "row", id: `${this.#id}-${place}`, "data-row": place, "aria-rowindex": place + 2 },
      class: place === this.#at ? "row at" : "row",
      ...marks,
    });
    element.style.top = `${place * ROW_PX}px`;
    for (const { id, isRight, cell } of columns) {
      const attributes = { role: "gridcell", class: isRight ? "c r" : "c", "data-column": id };
      element.append(h("span", attributes, cell(row, this.#looks.get(id) as CellLook)));
    }
    return element;
  }

  #placeOf({ target }: Event): number {
    const found = target instanceof Element ? target.closest<HTMLElement>("[data-row]") : null;
    return found === null ? -1 : Number(found.dataset.row);
  }

  #click(event: MouseEvent): void {
    const place = this.#placeOf(event);
    if (place >= 0 && place < this.#rows.length)
      this.options.onClick(this.#rows[place], place, event.target as Element);
  }

  #act(key: string): boolean {
    const jumps = { Home: -Infinity, End: Infinity, PageDown: PAGE_ROWS, PageUp: -PAGE_ROWS };
    const step = { ...jumps, ArrowDown: 1, ArrowUp: -1 }[key];
    const row = this.#rows[this.#at];
    if (step === undefined) return row !== undefined && this.options.onKey?.(key, row, this.#at) === true;
    if (this.#rows.length === 0) return true;
    this.options.onWalk(this.#at < 0 ? 0 : Math.max(0, Math.min(this.#rows.length - 1, this.#at + step)));
    return true;
  }
}
