/** Rows -> a table with a box to filter them by, a count of those shown, and a button that saves them. */

import { textFilter } from "../model/ops/ops";
import { type CsvColumns, csvOf } from "../model/text/csv";
import { button, type Child, download, h, on, setAria } from "./dom";
import { Grid, type GridOptions } from "./grid";
import { inFrame } from "./page";
import type { View } from "./view";

export interface FilteredTableOptions<R>
  extends Pick<GridOptions<R>, "label" | "columns" | "sortBy" | "key" | "attributes" | "onPick"> {
  readonly filterLabel: string;
  readonly isMarked: (row: R) => boolean;
  /** The rows that pass a filter; `isOff` says that nothing is written in the box. */
  readonly passing: (test: (text: string) => boolean, isOff: boolean) => readonly R[];
  /** What is said of the rows that pass, and behind it what is of less weight. */
  readonly describe: (shown: readonly R[], isOff: boolean) => readonly [text: string, about?: string];
  readonly whyEmpty: () => string;
  /** Called with the rows that pass before they are drawn. */
  readonly onShown?: (shown: readonly R[]) => void;
  readonly csv: { readonly file: string; readonly columns: () => CsvColumns<R> };
  /** Between the filter and the count. */
  readonly controls?: readonly HTMLElement[] | undefined;
  /** Between the toolbar and the table. */
  readonly above?: readonly HTMLElement[] | undefined;
}

export class FilteredTable<R> {
  readonly element: HTMLElement;
  #shown: readonly R[] = [];
  readonly grid: Grid<R>;
  readonly #count = h("span.q", { role: "status" });
  readonly #input: HTMLInputElement;

  constructor(
    { signal }: Pick<View, "signal">,
    readonly options: FilteredTableOptions<R>,
  ) {
    const { controls = [], above = [], csv } = options;
    const attributes = { type: "search", placeholder: "Filter: text or /regex/", "aria-label": options.filterLabel };
    this.#input = h("input", attributes);
    this.grid = new Grid<R>({ ...options, signal });
    const filter = inFrame(() => this.apply(), signal);
    on(this.#input, signal, { input: filter });
    const save = () => download(csv.file, csvOf(csv.columns(), this.grid.shown()), "text/csv");
    const saver = button("CSV", save, signal, { title: "Save the rows shown, with full names and precision" });
    const space = h("span.sp");
    const bar = h("div.bar", this.#input, ...controls, space, this.#count, saver);
    this.element = h("div.tfp-fill.tfp-linked", bar, ...above, this.grid.element);
  }

  /** Filters anew, as after a change of the rows. */
  apply(): void {
    const { passing, whyEmpty, onShown } = this.options;
    const text = this.#input.value;
    const { test, error } = textFilter(text);
    const isOff = text.trim() === "";
    setAria(this.#input, "invalid", error !== "");
    this.#input.title = error;
    this.#shown = passing(test, isOff);
    onShown?.(this.#shown);
    this.grid.setPlaceholder(whyEmpty());
    this.grid.setRows(this.#shown);
    this.#describe(error, isOff);
    this.followSelection(false);
  }

  #describe(error: string, isOff: boolean): void {
    const [text, about] = this.options.describe(this.#shown, isOff);
    const parts: Child[] = error ? [`Filter not applied: ${error}`] : [text, about && h("span.tfp-about", about)];
    this.#count.replaceChildren(...parts.filter((part) => part !== undefined && part !== null && part !== false));
    // Where there is no room the text is cut.
    this.#count.title = this.#count.textContent ?? "";
  }

  /** Marks the rows that are selected; `reveals`: scrolls to the first of them. */
  followSelection(reveals: boolean): void {
    const { key, isMarked } = this.options;
    const keys = this.#shown.filter(isMarked).map(key);
    this.grid.setSelected(new Set(keys));
    if (reveals && keys[0] !== undefined) this.grid.reveal(keys[0]);
  }
}
