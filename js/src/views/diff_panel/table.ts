/** One table of a comparison -> rows to search, filter, sort, save and select by. */

import { textFilter } from "../../model/ops/ops";
import { toCsv } from "../../model/text/csv";
import { cutNames } from "../../model/text/cut";
import { button, download, h, segmented } from "../../ui/dom";
import { createGrid, type Grid } from "../../ui/grid";
import { textFits } from "../../ui/page";
import type { View } from "../../ui/view";
import { CSV_HEADER, csvRow, diffColumns } from "./columns";
import type { DiffTable } from "./payload";
import { countWords, type DiffRow, largestChanges, passing, rowsOf, TABLE_WORDS } from "./rows";

const CELL_PADDING_PX = 14;
const CUT_COLUMNS = { name: 240, detail: 130, place: 190 } as const;
type CutColumn = keyof typeof CUT_COLUMNS;

export interface TableActions {
  /** Selects what a row stands for, or nothing when that is selected. */
  readonly pick: (row: DiffRow) => void;
  /** Whether the row is what is selected now. */
  readonly isPicked: (row: DiffRow) => boolean;
}

export class DiffTableView {
  readonly element: HTMLElement;
  readonly #rows: readonly DiffRow[];
  #shown: readonly DiffRow[] = [];
  #text = "";
  #onlyChanged: boolean;
  readonly #cuts = new Map<CutColumn, ReadonlyMap<string, string>>();
  readonly #columnIds: ReadonlySet<string>;
  readonly #grid: Grid<DiffRow>;
  readonly #input: HTMLInputElement;
  readonly #count = h("span", { class: "q", role: "status" });

  constructor(
    readonly view: View,
    readonly table: DiffTable,
    readonly isPerStep: boolean,
    readonly actions: TableActions,
  ) {
    const words = TABLE_WORDS[table.id];
    this.#rows = rowsOf(table);
    this.#onlyChanged = table.n_changed > 0;
    this.#input = h("input", {
      type: "search",
      placeholder: "Filter: text or /regex/",
      "aria-label": `Filter ${words.noun} by name`,
    });
    const columns = this.#columns();
    this.#columnIds = new Set(columns.map((column) => column.id));
    this.#grid = createGrid<DiffRow>(columns, {
      label: `Changes of ${words.noun}`,
      key: (row) => String(row.rank),
      attributes: (row) => ({ "data-diff-name": row.name, "data-state": row.state }),
      onPick: actions.pick,
      sortBy: "change",
      placeholder: "",
      signal: view.signal,
      onWidths: () => this.#apply(),
    });
    this.element = h("div", { class: "tfp-fill tfp-linked" }, this.#toolbar(), this.#grid.element);
    this.#apply();
  }

  #columns() {
    const { table, isPerStep } = this;
    const isMs = table.id !== "memory";
    const sides = new Set(this.#rows.map((row) => row.where));
    const shown = {
      hasWhere: sides.size > 1,
      hasPlace: this.#rows.some((row) => row.place !== ""),
      unit: isMs ? (isPerStep ? "ms a step" : "ms of the whole capture") : "",
      isNoiseKnown: this.#rows.some((row) => row.noise !== null),
    };
    return diffColumns(TABLE_WORDS[table.id], shown, () => ({
      cut: (id, text) => this.#cuts.get(id as CutColumn)?.get(text) ?? text,
      largest: largestChanges(this.#shown),
    }));
  }

  #toolbar(): HTMLElement {
    const { signal } = this.view;
    const onInput = () => {
      this.#text = this.#input.value;
      this.#apply();
    };
    this.#input.addEventListener("input", onInput, { signal });
    const choose = (value: "changed" | "all") => {
      this.#onlyChanged = value === "changed";
      this.#apply();
    };
    const choices = [
      { value: "changed", text: "Beyond noise" },
      { value: "all", text: "All" },
    ] as const;
    const title = "Save the rows shown, with full names and precision";
    const save = button("CSV", () => this.#save(), signal, { title });
    const parts = [this.#input, h("span", { class: "sp" }), this.#count, save];
    // Nothing to leave out where nothing changed, or noise is not known.
    if (this.table.n_changed > 0)
      parts.splice(
        1,
        0,
        segmented("Rows", choices, "changed", (value) => choose(value), signal),
      );
    return h("div", { class: "bar" }, ...parts);
  }

  #apply(): void {
    const { test, error } = textFilter(this.#text);
    this.#input.setAttribute("aria-invalid", String(error !== ""));
    this.#input.title = error;
    this.#shown = passing(this.#rows, this.#onlyChanged, test);
    for (const [id, width] of Object.entries(CUT_COLUMNS) as [CutColumn, number][]) {
      if (!this.#columnIds.has(id)) continue;
      const room = (this.#grid.columnWidth(id) || width) - CELL_PADDING_PX;
      this.#cuts.set(
        id,
        cutNames(
          this.#shown.map((row) => row[id]),
          textFits(this.view.root, room),
        ),
      );
    }
    this.#grid.setPlaceholder("No row matches the filter. Clear it, or show all rows.");
    this.#grid.setRows(this.#shown);
    const words = countWords(this.table, this.#shown.length, this.#onlyChanged, this.#text.trim() !== "");
    this.#count.textContent = error ? `Filter not applied: ${error}` : words;
    this.#count.title = this.#count.textContent;
    this.followSelection(false);
  }

  /** Marks the rows that are selected; `reveals`: scrolls to the first of them. */
  followSelection(reveals: boolean): void {
    const keys = this.#shown.filter((row) => this.actions.isPicked(row)).map((row) => String(row.rank));
    this.#grid.setSelected(new Set(keys));
    if (reveals && keys[0] !== undefined) this.#grid.reveal(keys[0]);
  }

  #save(): void {
    download(`diff_${this.table.id}.csv`, toCsv(CSV_HEADER, this.#grid.shown().map(csvRow)), "text/csv");
  }
}
