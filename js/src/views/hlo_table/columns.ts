/** A row of the HLO table -> its cells on the screen and in a CSV file. */

import type { Framework } from "../../model/overview/framework";
import type { Cell, CsvColumns } from "../../model/text/csv";
import { plural } from "../../model/text/format";
import { countColumn, nameColumn, numberColumn, rankColumn, textColumn, titled } from "../../ui/cells";
import type { GridColumn } from "../../ui/grid_column";
import { averageColumn, selfColumn, TIMES_CSV, totalColumn } from "../../ui/op_columns";
import type { Grouping, HloOp, HloRow } from "./rows";

export interface HloLook {
  /** What a row is of now. */
  readonly grouping: () => Grouping;
  readonly framework: Framework;
  readonly opOf: (row: HloRow) => { readonly name: string; readonly isOwn: boolean; readonly title: string };
}

export interface HloHas {
  readonly manyPrograms: boolean;
  readonly flops: boolean;
  readonly bytes: boolean;
  readonly source: boolean;
}

export function hloColumns({ grouping, framework, opOf }: HloLook, has: HloHas): GridColumn<HloRow>[] {
  const isOp = () => grouping() === "op";
  const late = { isOptional: true, shownFrom: 1340 };
  const program = (row: HloRow) => (isOp() ? row.meta.program : "");
  const source = (row: HloRow) => (isOp() ? row.meta.source : "");
  const category = (row: HloRow) => (grouping() === "program" ? "" : row.meta.category);
  const op = (row: HloRow) => (isOp() ? opOf(row).name : "");
  const opTip = `The ${framework} op that the instruction was made from, of a fusion that of its result; grey where it names none: the op that its time counts for`;
  const ratioTip = "Of the self time of all HLO ops";
  const over = "over total time, as the trace says or else estimated from the program";
  const rate = (id: "gflops" | "gibps", title: string, what: string, width: number) =>
    numberColumn<HloRow>({ id, title, tip: `${what} ${over}`, width }, (row) => row[id]);
  return [
    rankColumn("Rank by self time"),
    nameColumn({ id: "category", title: "Category", width: 130, narrowWidth: 104 }, category),
    hloColumn(grouping),
    nameColumn(
      { id: "op", title: `${framework} op`, tip: opTip },
      op,
      (row) => (isOp() ? opOf(row).title : ""),
      (row) => isOp() && !opOf(row).isOwn,
    ),
    countColumn("Executions in the range"),
    selfColumn(200, 140, (row) => `var(--c-${row.meta.device === "Device" ? "device_compute" : "host_compute"})`),
    numberColumn(
      { id: "ratio", title: "Self, %", tip: ratioTip, width: 58, isOptional: false },
      (row) => row.ratio * 100,
    ),
    totalColumn(1240),
    averageColumn("Total time per execution"),
    ...(has.flops ? [rate("gflops", "GFLOP/s", "Floating point operations", 70)] : []),
    ...(has.bytes ? [rate("gibps", "GiB/s", "Bytes read and written", 62)] : []),
    // The file's name and the line; the path is on hover.
    ...(has.source
      ? [
          textColumn(
            {
              ...{ id: "source", title: "Source", width: 130, ...late },
              cell: (row) => titled(source(row).replace(/^.*[\\/]/, ""), source(row)),
            },
            source,
          ),
        ]
      : []),
    ...(has.manyPrograms ? [nameColumn({ id: "program", title: "Program", width: 140, ...late }, program)] : []),
  ];
}

function hloColumn(grouping: () => Grouping): GridColumn<HloRow> {
  const nOps = (row: HloRow) => plural(row.hlos.length, "HLO op");
  return {
    ...{ id: "name", title: "HLO op", value: (row) => row.meta.name },
    names: ({ meta }) => (grouping() === "program" ? meta.program : meta.name),
    cell: (row, { cut }) => {
      const { name, program, expression } = row.meta;
      if (grouping() === "op") return titled(cut(name), expression || name);
      if (grouping() === "program") return titled(cut(program), `${program}\n${nOps(row)}`);
      return titled(plural(row.hlos.length, "op"), "", true);
    },
  };
}

/** The columns of `Profile.hlo_ops`, and the number of HLO ops behind a row of a group. */
export function hloCsv(grouping: () => Grouping): CsvColumns<HloRow> {
  /** What a group has only where it is by that. */
  const own =
    (key: keyof HloOp, group: Grouping = "op") =>
    ({ meta }: HloRow): Cell =>
      grouping() === "op" || grouping() === group ? (meta[key] as Cell) : "";
  return {
    rank: (row) => row.rank,
    program_id: own("program_id", "program"),
    module: own("module", "program"),
    category: own("category", "category"),
    name: own("name"),
    expression: own("expression"),
    op_name: own("op_name"),
    op_type: own("op_type"),
    device: (row) => row.meta.device,
    n_hlo_ops: (row) => row.hlos.length,
    ...TIMES_CSV,
    self_time_ratio: (row) => row.ratio,
    flop_rate_gflops: (row) => row.gflops,
    memory_bandwidth_gibps: (row) => row.gibps,
    source: own("source"),
  };
}
