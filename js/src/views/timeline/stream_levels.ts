/** A stream of a device -> its levels: steps, layers, ops; which of them are known, their spans, and what those are called. */

import { findSpans, LEVELS, type LevelName, type Spans } from "../../model/events/levels";
import { RowFindings } from "../../model/events/row_findings";
import { PHASES } from "../../model/ops/places";
import { opLabel } from "../../model/text/labels";
import { stepWords } from "../../model/time/span_text";
import { numbers } from "../../model/wire/column";
import { EMPTY_TABLE } from "../../model/wire/wire";
import type { TimelineState } from "./state";

export class StreamLevels {
  /** By op its layer and phase as one number, -1 for none. */
  #layerOf: Int32Array | null = null;
  #spans: Partial<Record<LevelName, RowFindings<Spans>>> = {};

  constructor(readonly state: Pick<TimelineState, "events" | "meta" | "steps" | "trace">) {}

  /** Forgets what tables told that came late. */
  clear() {
    this.#layerOf = null;
    this.#spans = {};
  }

  get known(): readonly LevelName[] {
    const { steps, meta } = this.state;
    const hasLayers = this.#layers.some((layer, op) => layer >= 0 && meta.op_device[op] === 1);
    const isKnown = { steps: steps.n > 0, layers: hasLayers, ops: true };
    return LEVELS.filter((name) => isKnown[name]);
  }

  get #layers(): Int32Array {
    if (this.#layerOf) return this.#layerOf;
    const { meta, trace } = this.state;
    const table = trace.data.table("op_places") ?? EMPTY_TABLE;
    const [layer, phase] = [numbers(table, "layer"), numbers(table, "phase")];
    const isNamed = (op: number) => (meta.layers?.[layer[op]]?.kind ?? "other") !== "other";
    this.#layerOf = Int32Array.from(layer, (own, op) => (isNamed(op) ? own * PHASES.length + phase[op] : -1));
    return this.#layerOf;
  }

  spans(row: number, name: LevelName): Spans {
    const { events } = this.state;
    const find = () =>
      new RowFindings(events, (one) => findSpans(events, one, (position) => this.#partOf(name, position)));
    this.#spans[name] ??= find();
    return (this.#spans[name] as RowFindings<Spans>).of(row);
  }

  #partOf(name: LevelName, position: number): number {
    const { step, op } = this.state.events;
    if (name === "steps") return step[position];
    return name === "ops" ? op[position] : op[position] < 0 ? -1 : (this.#layers[op[position]] ?? -1);
  }

  /** What the span of an event is called: "step 4", "resnet50/conv1_bn · backward", "dense_8/MatMul". */
  nameOf(name: LevelName, position: number): string {
    const { meta, events } = this.state;
    const part = this.#partOf(name, position);
    if (name === "steps") return stepWords(meta.step_names, part);
    if (name === "ops") return opLabel(meta.names[events.keyOf(position)]);
    const layer = meta.layers?.[Math.floor(part / PHASES.length)]?.layer ?? "";
    return PHASES[part % PHASES.length] === "backward" ? `${layer} · backward` : layer;
  }

  /** The names of the ops of the span of an event. */
  opsOf(name: LevelName, position: number): string[] {
    const { meta, events } = this.state;
    const part = this.#partOf(name, position);
    if (name === "ops") return [meta.names[events.keyOf(position)]];
    return meta.op_name.flatMap((id, op) => (this.#layers[op] === part ? [meta.names[id]] : []));
  }
}
