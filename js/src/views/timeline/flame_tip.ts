/** Turns the rectangle of a flame into the words about it. */
import { ROOT } from "../../model/events/flame";
import type { Flame, FlameRect } from "../../model/events/flame_layout";
import { formatCount, formatPercent, formatTime } from "../../model/text/format";

/** Total, self, how many, share of what is around it and of the whole. */
export function flameFigures({ tree, self }: Flame, { node, nRest, ps }: FlameRect): string[] {
  const whole = tree.total[ROOT];
  const parent = nRest > 0 ? node : tree.parent[node];
  const parts = [formatTime(ps)];
  if (nRest === 0) parts.push(`self ${formatTime(self[node])}`, `${formatCount(tree.count[node])} ×`);
  if (nRest === 0 && tree.label[node] >= 0 && tree.count[node] > 1)
    parts.push(`mean ${formatTime(ps / tree.count[node])}`);
  if (parent > ROOT) parts.push(`${formatPercent(ps / tree.total[parent])} of what is around it`);
  if (node !== ROOT || nRest > 0) parts.push(`${formatPercent(ps / whole)} of all`);
  return parts;
}
