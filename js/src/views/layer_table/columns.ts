/** A row of the layer table -> its cells on the screen and in a CSV file. */

import type { LayerRow } from "../../model/ops/layer_rows";
import { PHASES } from "../../model/ops/places";
import { type CsvColumns, fields } from "../../model/text/csv";
import { formatBytes, formatCount, formatPercent, formatTo } from "../../model/text/format";
import { barCell, nameColumn, numberColumn, rankColumn } from "../../ui/cells";
import type { GridColumn } from "../../ui/grid_column";

/** One hue, since all is the layer's work; striped is backward in every view. */
export const PHASE_COLORS: readonly string[] = [
  "var(--work)",
  "repeating-linear-gradient(135deg, var(--work) 0 1.5px, transparent 1.5px 3.5px)",
  "color-mix(in srgb, var(--work) 50%, var(--bg))",
  "var(--c-other)",
];

/** tf.data ops have their colour in every view. */
export const INPUT_COLOR = "var(--c-input)";

/**
 * @param memoryOf what a layer allocated in the scope shown and held at the peak, null where no memory of layers is known
 * @param hasParams whether the parameters of any layer are known
 * @param hasClasses whether the Keras class of any is
 */
export function layerColumns(
  memoryOf: readonly [allocated: (row: LayerRow) => number, atPeak: (row: LayerRow) => number] | null,
  hasParams: boolean,
  hasClasses: boolean,
): GridColumn<LayerRow>[] {
  const share = {
    id: "ratio",
    title: "Of device, %",
    tip: "Of the self time of all ops on the device, or on the host",
    width: 82,
  };
  const ops = { id: "ops", title: "Ops", tip: "Different ops of the layer that ran", width: 54, shownFrom: 1200 };
  return [
    rankColumn("Rank by self time"),
    nameColumn(
      { id: "layer", title: "Layer" },
      ({ layer }) => layer,
      ({ layer }) => layer,
      ({ kind }) => kind !== "layer",
    ),
    ...(hasClasses ? [classColumn()] : []),
    timeColumn(),
    numberColumn({ ...share, isOptional: false }, (row) => blankZero(row.ratio * 100)),
    ...PHASES.map((phase, i) => phaseColumn(phase, i)),
    numberColumn(ops, (row) => row.nOps || Number.NaN, formatCount),
    ...(hasParams ? [paramsColumn()] : []),
    ...(memoryOf === null ? [] : memoryColumns(...memoryOf)),
  ];
}

function classColumn(): GridColumn<LayerRow> {
  const className = (row: LayerRow) => row.class_name || (row.kind === "layer" ? "" : row.kind);
  const head = { id: "class", title: "Class", width: 150, narrowWidth: 120 };
  return nameColumn(head, className, className, (row) => row.class_name === "");
}

function paramsColumn(): GridColumn<LayerRow> {
  const tip = "How many numbers the weights of the layer hold, those that are not trained included";
  const head = { id: "params", title: "Parameters", tip, width: 92, isOptional: false };
  return numberColumn(head, (row) => row.n_params ?? Number.NaN, formatCount);
}

/** What did not run has a blank cell. */
function blankZero(value: number): number {
  return value > 0 ? value : Number.NaN;
}

function timeColumn(): GridColumn<LayerRow> {
  const tip = "Self time of the layer's ops: forward, backward, optimizer, other";
  const amounts = ({ selfPs }: LayerRow) => selfPs;
  return {
    ...{ id: "time", title: "Time, ms", tip, width: 240, narrowWidth: 220, value: amounts, amounts },
    figures: ({ selfPs }) => blankZero(selfPs / 1e9),
    cell: (row, { most, decimals }) => {
      const ms = (ps: number) => formatTo(ps / 1e9, decimals);
      const parts = row.phasePs.map((ps, i) => {
        const title = `${PHASES[i]} ${ms(ps)} ms, ${formatPercent(ps / (row.selfPs || 1))}`;
        const color = row.kind === "input" ? INPUT_COLOR : PHASE_COLORS[i];
        return { share: most > 0 ? ps / most : 0, color, title };
      });
      return barCell(row.selfPs > 0 ? ms(row.selfPs) : "", parts);
    },
  };
}

function phaseColumn(phase: string, i: number): GridColumn<LayerRow> {
  const title = `${phase[0].toUpperCase()}${phase.slice(1)}, ms`;
  const head = { id: phase, title, tip: `Self time of ${phase} ops`, width: 92, shownFrom: i < 2 ? 0 : 1340 };
  return numberColumn(head, (row) => blankZero(row.phasePs[i] / 1e9));
}

function memoryColumns(
  allocatedOf: (row: LayerRow) => number,
  peakOf: (row: LayerRow) => number,
): GridColumn<LayerRow>[] {
  const allocated = "All bytes that ops of the layer allocated, whether or not freed again";
  const peak = "What ops of the layer had allocated of the memory in use at the peak of the whole capture";
  const column = (id: string, title: string, tip: string, bytes: (row: LayerRow) => number) => {
    const figures = (row: LayerRow) => blankZero(bytes(row));
    return numberColumn<LayerRow>({ id, title, tip, width: 100, isOptional: false, figures }, figures, formatBytes);
  };
  return [column("allocated", "Allocated", allocated, allocatedOf), column("peak", "At peak", peak, peakOf)];
}

/** The columns of `Profile.layers` but for the side, which stands in the file's name. */
export const LAYER_CSV: CsvColumns<LayerRow> = {
  ...fields<LayerRow>("layer", "class_name", "kind"),
  ...Object.fromEntries(PHASES.map((phase, i) => [`${phase}_time_us`, (row: LayerRow) => row.phasePs[i] / 1e6])),
  self_time_us: (row) => row.selfPs / 1e6,
  self_time_ratio: (row) => row.ratio,
  n_ops: (row) => row.nOps,
  ...fields<LayerRow>("occurrences", "allocated_bytes", "peak_bytes"),
};
