/** A row of the layer table -> its cells on the screen and in a CSV file. */

import { PHASES } from "../../model/ops/places";
import type { Cell } from "../../model/text/csv";
import { formatBytes, formatCount, formatNumber, formatPercent } from "../../model/text/format";
import { barCell, numberColumn, percent, rankColumn, titled } from "../../ui/cells";
import { h } from "../../ui/dom";
import type { GridColumn } from "../../ui/grid_column";
import type { LayerRow } from "./rows";

export interface LayerLook {
  readonly cut: (id: string, text: string) => string;
  /** Self time that fills a bar. */
  readonly maxPs: number;
  /** By how much times are divided: the steps of the range, 1 where it has none. */
  readonly nSteps: number;
}

/** One hue, since all is the layer's work; striped is backward in every view. */
export const PHASE_COLORS: readonly string[] = [
  "var(--work)",
  "repeating-linear-gradient(135deg, var(--work) 0 1.5px, transparent 1.5px 3.5px)",
  "color-mix(in srgb, var(--work) 50%, var(--bg))",
  "var(--c-other)",
];

/** tf.data ops have their colour in every view. */
export const INPUT_COLOR = "var(--c-input)";

export function layerColumns(look: () => LayerLook, hasMemory: boolean): GridColumn<LayerRow>[] {
  const share = { id: "ratio", title: "Time, %", tip: "Of the self time of all ops of this side", width: 62 };
  const ops = { id: "ops", title: "Ops", tip: "Different ops of the layer that ran", width: 54, shownFrom: 1200 };
  return [
    rankColumn<LayerRow>("Rank by self time"),
    layerColumn(look),
    classColumn(look),
    timeColumn(look),
    numberColumn(
      { ...share, isOptional: false },
      (row) => row.ratio,
      (ratio) => (ratio > 0 ? percent(ratio) : ""),
    ),
    ...PHASES.map((phase, i) => phaseColumn(look, phase, i)),
    numberColumn(ops, (row) => row.nOps || Number.NaN, formatCount),
    ...(hasMemory ? memoryColumns() : []),
  ];
}

function layerColumn(look: () => LayerLook): GridColumn<LayerRow> {
  const cell = (row: LayerRow) => {
    const name = titled(look().cut("layer", row.layer), row.layer) as HTMLElement;
    name.classList.toggle("q", row.kind !== "layer");
    return name;
  };
  return { id: "layer", title: "Layer", value: (row) => row.layer, cell };
}

function classColumn(look: () => LayerLook): GridColumn<LayerRow> {
  const text = (row: LayerRow) => row.class_name || (row.kind === "layer" ? "" : row.kind);
  const cell = (row: LayerRow) => {
    const isQuiet = row.class_name === "";
    return h("span", { class: isQuiet && "q", title: text(row) }, look().cut("class", text(row)));
  };
  return { id: "class", title: "Class", width: 150, narrowWidth: 120, value: text, cell };
}

function timeColumn(look: () => LayerLook): GridColumn<LayerRow> {
  const cell = (row: LayerRow) => {
    const { maxPs, nSteps } = look();
    const parts = row.phasePs.map((ps, i) => {
      const title = `${PHASES[i]} ${formatMs(ps, nSteps)} ms, ${formatPercent(ps / (row.selfPs || 1))}`;
      const color = row.kind === "input" ? INPUT_COLOR : PHASE_COLORS[i];
      return { share: maxPs > 0 ? ps / maxPs : 0, color, title };
    });
    return barCell(row.selfPs > 0 ? formatMs(row.selfPs, nSteps) : "", parts);
  };
  const tip = "Self time of the layer's ops: forward, backward, optimizer, other";
  return { id: "time", title: "Time, ms", tip, width: 240, narrowWidth: 220, value: (row) => row.selfPs, cell };
}

function phaseColumn(look: () => LayerLook, phase: string, i: number): GridColumn<LayerRow> {
  const title = `${phase[0].toUpperCase()}${phase.slice(1)}, ms`;
  const text = (ps: number) => (ps > 0 ? formatMs(ps, look().nSteps) : "");
  return numberColumn(
    { id: phase, title, tip: `Self time of ${phase} ops`, width: 92, shownFrom: i < 2 ? 0 : 1340 },
    (row) => row.phasePs[i],
    text,
  );
}

function memoryColumns(): GridColumn<LayerRow>[] {
  const allocated = "All bytes that ops of the layer allocated in the whole capture, whether or not freed again";
  const peak = "What ops of the layer had allocated of the memory in use at the peak of the whole capture";
  const bytes = (value: number) => (value > 0 ? formatBytes(value) : "");
  const none = Number.NaN;
  return [
    numberColumn(
      { id: "allocated", title: "Allocated", tip: allocated, width: 82, isOptional: false },
      (row) => row.allocated_bytes ?? none,
      bytes,
    ),
    numberColumn(
      { id: "peak", title: "At peak", tip: peak, width: 82, isOptional: false },
      (row) => row.peak_bytes ?? none,
      bytes,
    ),
  ];
}

function formatMs(ps: number, nSteps: number): string {
  return formatNumber(ps / 1e9 / nSteps);
}

/** The columns of `Profile.layers` but for the side, which stands in the file's name. */
export const CSV_HEADER = [
  "layer",
  "class_name",
  "kind",
  ...PHASES.map((phase) => `${phase}_time_us`),
  "self_time_us",
  "self_time_ratio",
  "n_ops",
  "occurrences",
  "allocated_bytes",
  "peak_bytes",
];

export function csvRow(row: LayerRow): Cell[] {
  const times = [...row.phasePs, row.selfPs].map((ps) => ps / 1e6);
  const memory = [row.allocated_bytes ?? "", row.peak_bytes ?? ""];
  return [row.layer, row.class_name, row.kind, ...times, row.ratio, row.nOps, row.occurrences, ...memory];
}
