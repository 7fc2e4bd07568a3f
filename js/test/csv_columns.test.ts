/** The CSV files of views have columns of the tables of Python, called the same and in their order. */

import { describe, expect, it } from "vitest";
import type { CsvColumns } from "../src/model/text";
import { hloCsv } from "../src/views/hlo_table/hlo_table";
import { KERNEL_CSV } from "../src/views/kernel_table/kernel_table";
import { LAYER_CSV } from "../src/views/layer_table/layer_table";
import { opCsv } from "../src/views/op_table/op_table";
import { sourceCsv } from "../src/views/source_view/lines";
import { vector } from "./vectors";

const COLUMNS = vector<Record<string, string[]>>("columns");
/** Of rows that stand for several, and what another table of Python has. */
const COUNTS = ["n_ops", "n_hlo_ops", "n_kernels", "n_params"];

const FILES: Record<string, CsvColumns<never>> = {
  ops: opCsv({ gflops: [], gibps: [], tensorCore: [] }),
  kernels: KERNEL_CSV,
  hlo_ops: hloCsv(() => "op"),
  layers: LAYER_CSV,
  source_lines: sourceCsv(1, String),
};

describe("CSV files", () => {
  it.each(Object.keys(COLUMNS))("of %s have columns of its table in order", (name) => {
    const table = COLUMNS[name];
    const columns = Object.keys(FILES[name]).filter((one) => table.includes(one) || !COUNTS.includes(one));
    expect(columns.length).toBeGreaterThan(5);
    expect(columns).toEqual(table.filter((one) => columns.includes(one)));
  });
});
