/** One table of a comparison -> rows to search, filter, sort, save and select by. */

import { segmented } from "../../ui/dom";
import { FilteredTable } from "../../ui/filtered_table";
import type { View } from "../../ui/view";
import { DIFF_CSV, diffColumns } from "./columns";
import type { DiffTable } from "./payload";
import { countWords, type DiffRow, largestChanges, passing, rowsOf, TABLE_WORDS } from "./rows";

export interface TableActions {
  /** Selects what a row stands for, or nothing when that is selected. */
  readonly pick: (row: DiffRow) => void;
  /** Whether the row is what is selected now. */
  readonly isPicked: (row: DiffRow) => boolean;
}

/** @param unit what the numbers are in where rows have no unit of their own: "ms a step" or "ms of the whole capture" */
export function diffTable(view: View, table: DiffTable, unit: string, actions: TableActions): FilteredTable<DiffRow> {
  const words = TABLE_WORDS[table.id];
  const rows = rowsOf(table);
  let onlyChanged = table.n_changed > 0;
  let largest: ReadonlyMap<string, number> = new Map();
  const shown = {
    hasWhere: new Set(rows.map((row) => row.where)).size > 1,
    hasPlace: rows.some((row) => row.place !== ""),
    unit: table.id === "memory" ? "" : unit,
    isNoiseKnown: rows.some((row) => row.noise !== null),
  };
  const choices = [
    { value: "changed", text: "Beyond noise" },
    { value: "all", text: "All" },
  ] as const;
  const choose = (value: "changed" | "all") => {
    onlyChanged = value === "changed";
    made.apply();
  };
  const made: FilteredTable<DiffRow> = new FilteredTable<DiffRow>(view, {
    label: `Changes of ${words.noun}`,
    filterLabel: `Filter ${words.noun} by name`,
    columns: diffColumns(words, shown, (row) => largest.get(row.unit) ?? 0),
    sortBy: "change",
    key: (row) => String(row.rank),
    attributes: (row) => ({ "data-diff-name": row.name, "data-state": row.state }),
    onPick: actions.pick,
    isMarked: actions.isPicked,
    passing: (test) => passing(rows, onlyChanged, test),
    describe: (passed, isOff) => [countWords(table, passed.length, onlyChanged, !isOff)],
    whyEmpty: () => "No row matches the filter. Clear it, or show all rows.",
    onShown: (passed) => {
      largest = largestChanges(passed);
    },
    csv: { file: `diff_${table.id}.csv`, columns: () => DIFF_CSV },
    // Nothing to leave out where nothing changed, or noise is not known.
    controls: table.n_changed > 0 ? [segmented("Rows", choices, "changed", choose, view.signal)] : [],
  });
  made.apply();
  return made;
}
