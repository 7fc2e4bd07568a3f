/** What one asks first beside the verdict -> a line: the layer that costs most, and whether a larger batch fits. */

import { layerRows } from "../../model/ops/layer_rows";
import { opsOfScope, withoutWaiting } from "../../model/ops/ranged_ops";
import { formatMs, formatPercent } from "../../model/text/format";
import { STEADY } from "../../model/time/viewport";
import { numbers } from "../../model/wire/column";
import { EMPTY_TABLE } from "../../model/wire/wire";
import { h } from "../../ui/dom";
import type { TraceView } from "../../ui/view";

const SECTIONS = ["layers", "op_places", "step_totals", "batch_room"];

/** It has its height from the beginning: its words may come late, and nothing below may move. */
export function glance({ data }: TraceView): HTMLElement {
  const line = h("small.glance", "\u00a0");
  void data.ready(SECTIONS).then(() => {
    const words = [costliestLayer(data), data.meta.batch_room?.[0] ?? ""].filter(Boolean).join(" · ");
    line.textContent = words || "\u00a0";
    line.title = words;
  });
  return line;
}

/** As the layer table says it of the averaged steps. */
function costliestLayer(data: TraceView["data"]): string {
  const { meta } = data;
  const totals = withoutWaiting(
    meta,
    opsOfScope(meta, (name) => data.table(name), STEADY),
  );
  const table = data.table("op_places") ?? EMPTY_TABLE;
  const places = { layer: numbers(table, "layer"), phase: numbers(table, "phase"), device: meta.op_device };
  const hasDevice = meta.op_device.includes(1);
  const top = layerRows(meta.layers ?? [], places, totals, hasDevice ? 1 : 0, false).find(
    ({ kind }) => kind === "layer",
  );
  if (!top || top.selfPs === 0) return "";
  const side = hasDevice ? "device" : "host";
  return `Costliest layer: ${top.layer}, ${formatMs(top.selfPs / 1e9)} a step (${formatPercent(top.ratio)} of the ${side})`;
}
