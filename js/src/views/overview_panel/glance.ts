/** What one asks first beside the verdict -> a line: what costs most where the run is limited, and whether a larger batch fits. */

import { type LayerRow, layerRows } from "../../model/ops/layer_rows";
import { opsOfScope, withoutWaiting } from "../../model/ops/ranged_ops";
import { limitingSide } from "../../model/overview/overview";
import { formatMs, formatPercent } from "../../model/text/format";
import { STEADY } from "../../model/time/viewport";
import { numbers } from "../../model/wire/column";
import { EMPTY_TABLE } from "../../model/wire/wire";
import { h } from "../../ui/dom";
import type { TraceView } from "../../ui/view";

/** What the tables call ops that send tensors from one device to another. */
const COPIES = "copies";
const SECTIONS = ["layers", "op_places", "step_totals", "batch_room"];

/** It has its height from the beginning: its words may come late, and nothing below may move. */
export function glance({ data }: TraceView): HTMLElement {
  const line = h("small.glance", "\u00a0");
  void data.ready(SECTIONS).then(() => {
    const words = [costliest(data), data.meta.batch_room?.[0] ?? ""].filter(Boolean).join(" · ");
    line.textContent = words || "\u00a0";
    line.title = words;
  });
  return line;
}

/** As the layer table says it of the averaged steps, on the side whose ops limit them; empty where no side's do. */
function costliest(data: TraceView["data"]): string {
  const { meta } = data;
  const side = limitingSide(meta.overview);
  if (side === null) return "";
  const totals = withoutWaiting(
    meta,
    opsOfScope(meta, (name) => data.table(name), STEADY),
  );
  const table = data.table("op_places") ?? EMPTY_TABLE;
  const places = { layer: numbers(table, "layer"), phase: numbers(table, "phase"), device: meta.op_device };
  // What the input pipeline computes runs beside the steps.
  const top = layerRows(meta.layers ?? [], places, totals, side, false).find(({ kind }) => kind !== "input");
  const name = top && top.selfPs > 0 ? nameOf(top) : "";
  if (!top || !name) return "";
  return `${name}, ${formatMs(top.selfPs / 1e9)} a step (${formatPercent(top.ratio)} of the ${side ? "device" : "host"})`;
}

/** Empty for ops of which it is not known what they are of. */
function nameOf({ kind, layer }: LayerRow): string {
  if (kind === "layer") return `Costliest layer: ${layer}`;
  if (kind === "other") return layer === COPIES ? "Costliest part: copies" : "";
  return `Costliest part: ${layer === kind ? layer : `${layer} (${kind})`}`;
}
