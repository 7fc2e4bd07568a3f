/** Keras layers in the linked time range: forward, backward and optimizer time. */

import { numbers, type Scope, STEADY } from "../../data/columns";
import { holdsMemory } from "../../data/hosts";
import type { LayerMeta } from "../../data/meta";
import { EMPTY_TABLE } from "../../data/pack";
import { type LayerRow, layerRows, opsOfScope, PHASES, withoutWaiting } from "../../model/ops";
import { frameworkOf, limitingSide } from "../../model/overview";
import { perStep } from "../../model/range";
import { type CsvColumns, fields, formatBytes, formatCount, formatPercent, formatTo } from "../../model/text";
import { emptyState, h, noOps, segmented } from "../../ui/dom";
import { legendEntry, swatch } from "../../ui/share_bar";
import type { GridColumn } from "../../ui/sheet";
import { barCell, LinkedTable, nameColumn, numberColumn, rankColumn } from "../../ui/table";
import type { TraceBuilder, TraceView } from "../../ui/view";

/** One hue, since all is the layer's work; striped is backward in every view. */
const PHASE_COLORS: readonly string[] = [
  "var(--work)",
  "repeating-linear-gradient(135deg, var(--work) 0 1.5px, transparent 1.5px 3.5px)",
  "color-mix(in srgb, var(--work) 50%, var(--bg))",
  "var(--c-other)",
];

const INPUT_COLOR = "var(--c-input)";

/** `memoryOf`: what a layer allocated in the scope shown and held at the peak, null where no memory of layers is known. */
function layerColumns(
  memoryOf: readonly [allocated: (row: LayerRow) => number, atPeak: (row: LayerRow) => number] | null,
  hasParams: boolean,
  hasClasses: boolean,
): GridColumn<LayerRow>[] {
  const side = "Of the self time of all ops on the device, or on the host";
  const share = { id: "ratio", title: "Of device, %", tip: side, width: 82, isOptional: false };
  const ops = { id: "ops", title: "Ops", tip: "Different ops of the layer that ran", width: 54, shownFrom: 1200 };
  return [
    rankColumn("Rank by self time"),
    nameColumn({ id: "layer", title: "Layer" }, "layer", "layer", ({ kind }) => kind !== "layer"),
    ...(hasClasses ? [classColumn()] : []),
    timeColumn(),
    numberColumn(share, (row) => blankZero(row.ratio * 100)),
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

function memoryColumns(allocatedOf: (row: LayerRow) => number, peakOf: (row: LayerRow) => number) {
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

const SIDES = [
  { value: "device", text: "Device" },
  { value: "host", text: "Host" },
] as const;
type Side = (typeof SIDES)[number]["value"];

class LayerTable {
  #side: Side;
  #scope: Scope = null;
  readonly #layers: readonly LayerMeta[];
  readonly #ops: readonly string[][];
  readonly #hasBothSides: boolean;
  readonly #table: LinkedTable<LayerRow>;

  constructor(readonly view: TraceView) {
    const { data } = view;
    const { meta } = data;
    this.#layers = meta.layers ?? [];
    const places = numbers(data.table("op_places") ?? EMPTY_TABLE, "layer");
    this.#ops = this.#layers.map(() => []);
    meta.op_name.forEach((name, op) => void this.#ops[places[op]]?.push(meta.names[name]));
    const hasDevice = meta.op_device.includes(1);
    this.#hasBothSides = hasDevice && meta.op_device.includes(0);
    const isHost = this.#hasBothSides ? limitingSide(meta.overview) === 0 : !hasDevice;
    this.#side = isHost ? "host" : "device";
    this.#table = this.#createTable();
  }

  #createTable(): LinkedTable<LayerRow> {
    const hasMemory = holdsMemory(this.view.data.meta);
    const hasParams = this.#layers.some(({ n_params }) => (n_params ?? 0) > 0);
    const hasClasses = this.#layers.some(({ class_name }) => class_name !== "");
    const ofSide = (bytes: number | null | undefined) => (this.#holdsMemory ? (bytes ?? Number.NaN) : Number.NaN);
    const allocated = (row: LayerRow) =>
      ofSide(this.#scope === null ? row.allocated_bytes : this.#scope === STEADY ? row.step_bytes : null);
    const atPeak = (row: LayerRow) => ofSide(row.peak_bytes);
    return new LinkedTable<LayerRow>(this.view, {
      label: "Layers by self time",
      filterLabel: "Filter layers by name or class",
      noun: () => "layers and others",
      weightNoun: "self time",
      weight: (row) => row.selfPs,
      columns: layerColumns(hasMemory ? [allocated, atPeak] : null, hasParams, hasClasses),
      sortBy: "time",
      key: (row) => `layer:${row.entry}`,
      attributes: (row) => ({ "data-layer": row.layer, "data-kind": row.kind }),
      rows: (scope) => this.#rowsOf(scope),
      isOverThreads: () => this.#side === "host",
      texts: (row) => [row.layer, row.class_name, row.kind],
      opsOf: (row) => this.#ops[row.entry] ?? [],
      whyEmpty: () => `No op ran on the ${this.#side} in this time range. Clear the range to see all layers.`,
      csv: { file: "layers.csv", columns: LAYER_CSV },
      controls: this.#controls(),
      titles: (nSteps) => ({
        time: perStep("Time, ms", nSteps),
        ratio: `Of ${this.#side}, %`,
        allocated: perStep("Allocated", nSteps),
      }),
      empty: () => (this.#hasLayers ? null : noLayers(this.view)),
    });
  }

  get #hasLayers(): boolean {
    const isKeras = frameworkOf(this.view.data.meta) === "TensorFlow";
    // Of JAX the function that computes the loss is a scope around all layers.
    return this.#layers.some(({ kind }) => (isKeras ? kind === "layer" : kind !== "other"));
  }

  /** Whether the memory that is known is that of the side shown: of a device, where any tells. */
  get #holdsMemory(): boolean {
    return (this.#side === "device") === Boolean(this.view.data.meta.device_memory);
  }

  #controls(): HTMLElement[] {
    const setSide = (side: Side) => {
      this.#side = side;
      this.#table.compute();
    };
    const legend = PHASES.map((phase, i) => legendEntry(swatch(PHASE_COLORS[i]), phase));
    if (this.#layers.some(({ kind }) => kind === "input")) legend.push(legendEntry(swatch(INPUT_COLOR), "input"));
    const sides = this.#hasBothSides ? [segmented("Where", SIDES, this.#side, setSide, this.view.signal)] : [];
    return [...sides, h("span.tfp-keys", ...legend)];
  }

  #rowsOf(scope: Scope): readonly LayerRow[] {
    const { data, root } = this.view;
    const { meta } = data;
    this.#scope = scope;
    const totals = withoutWaiting(meta, opsOfScope(meta, data.table, scope));
    const table = data.table("op_places") ?? EMPTY_TABLE;
    const places = { layer: numbers(table, "layer"), phase: numbers(table, "phase"), device: meta.op_device };
    root.style.setProperty("--work", `var(--c-${this.#side === "device" ? "device_compute" : "host_compute"})`);
    return layerRows(this.#layers, places, totals, this.#side === "device" ? 1 : 0, this.#holdsMemory);
  }
}

function noLayers({ data, signal }: TraceView): HTMLElement {
  if (data.meta.op_name.length === 0) return noOps(data.meta, signal);
  const framework = frameworkOf(data.meta);
  if (framework !== "TensorFlow") {
    const isJax = framework === "JAX";
    const why = isJax
      ? "No op carries a name scope. Layers of JAX are what runs in one:"
      : `Which op belongs to which layer is not known: traces of ${framework} do not tell.`;
    const code = isJax ? 'with jax.named_scope("dense"):\n    x = x @ w' : "";
    return emptyState("No layer in this capture", why, code, signal);
  }
  const why =
    "No op carries the name of a layer: the code builds no Keras model, or the capture has no training step in it. Name scopes of your own are in the Structure view; layers come from a model that is called, fitted or evaluated in the captured cell:";
  return emptyState("No Keras layer in this capture", why, "%%tfprofile\nmodel.fit(dataset, epochs=1)", signal);
}

export const layerTable: TraceBuilder = {
  name: "layer_table",
  build: (view) => void new LayerTable(view),
  needs: ["layers", "op_places", "steps", "step_totals"],
  forRange: ["occurrences"],
  about: "ops",
};
