/** Ops of the linked time range and the Keras layers they belong to -> a table of forward, backward and optimizer time. */

import { type LayerRow, layerRows } from "../../model/ops/layer_rows";
import { PHASES } from "../../model/ops/places";
import { opsOfScope, withoutWaiting } from "../../model/ops/ranged_ops";
import { frameworkOf } from "../../model/overview/framework";
import { limitingSide } from "../../model/overview/overview";
import { perStep } from "../../model/time/scope";
import { type Scope, STEADY } from "../../model/time/viewport";
import { numbers } from "../../model/wire/column";
import type { LayerMeta } from "../../model/wire/meta";
import { EMPTY_TABLE } from "../../model/wire/wire";
import { type Choice, emptyState, h, noOps, segmented } from "../../ui/dom";
import { legendEntry, swatch } from "../../ui/legend";
import { LinkedTable } from "../../ui/linked_table";
import { OPS_OF_HOST } from "../../ui/of_host";
import type { TraceBuilder, TraceView } from "../../ui/view";
import { INPUT_COLOR, LAYER_CSV, layerColumns, PHASE_COLORS } from "./columns";

type Side = "device" | "host";

const SIDES: readonly Choice<Side>[] = [
  { value: "device", text: "Device" },
  { value: "host", text: "Host" },
];

class LayerTable {
  #side: Side;
  #scope: Scope = null;
  readonly #layers: readonly LayerMeta[];
  /** For each layer the names of its ops. */
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
    this.#side = this.#hasBothSides
      ? limitingSide(meta.overview) === 0
        ? "host"
        : "device"
      : hasDevice
        ? "device"
        : "host";
    this.#table = this.#createTable();
  }

  #createTable(): LinkedTable<LayerRow> {
    const hasMemory = holdsMemory(this.view.data);
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

/** Whether that of any layer is known: a compiled program allocates as a whole. */
function holdsMemory({ meta }: TraceView["data"]): boolean {
  return (meta.layers ?? []).some(
    ({ kind, allocated_bytes, peak_bytes }) => kind !== "other" && (allocated_bytes ?? 0) + (peak_bytes ?? 0) > 0,
  );
}

function memoryOfAll(data: TraceView["data"]): string {
  return holdsMemory(data) ? "The memory of layers is that of all hosts." : "";
}

function noLayers({ data, signal }: TraceView): HTMLElement {
  if (data.meta.op_name.length === 0) return noOps(data.meta, signal);
  const framework = frameworkOf(data.meta);
  if (framework !== "TensorFlow") {
    const isJax = framework === "JAX";
    const why = isJax
      ? "No op carries a name scope. Layers of JAX are what runs in one:"
      : `Which op belongs to which layer is not known: traces of ${framework} do not tell.`;
    return emptyState(
      "No layer in this capture",
      why,
      isJax ? 'with jax.named_scope("dense"):\n    x = x @ w' : "",
      signal,
    );
  }
  return emptyState(
    "No Keras layer in this capture",
    "No op carries the name of a layer: the code builds no Keras model, or the capture has no training step in it. Name scopes of your own are in the Scopes view; layers come from a model that is called, fitted or evaluated in the captured cell:",
    "%%tfprofile\nmodel.fit(dataset, epochs=1)",
    signal,
  );
}

export const layerTable: TraceBuilder = {
  name: "layer_table",
  build(view) {
    new LayerTable(view);
  },
  needs: ["layers", "op_places", "steps", "step_totals"],
  forRange: ["occurrences"],
  ofHost: { ...OPS_OF_HOST, ofAll: memoryOfAll },
};
