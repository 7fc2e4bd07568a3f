/** A cell of the heat map -> the words about it: the host and step with the largest value of those it stands for. */

import type { HostGrid } from "../../model/hosts/host_grid";
import { formatMs, plural } from "../../model/text/format";
import { CATEGORY_LABELS } from "../../model/wire/categories";
import type { WorkerModel } from "./model";
import { type Card, card } from "./words";

export function cellCard(
  model: WorkerModel,
  grid: HostGrid,
  cell: { readonly row: number; readonly column: number },
  about: { readonly of: string; readonly medianMs: number },
): Card {
  const { row, column } = cell;
  const at = row * grid.nColumns + column;
  const [host, step] = [grid.host[at], grid.step[at]];
  const name = model.hosts[host];
  const what = `step ${model.stepName(step)}`;
  const figures = model.rowAt(host, step);
  const { title, lines } = card(figures, name, model.categories, what, { role: model.roles[host] });
  const value = grid.value[at];
  const more = value - about.medianMs;
  const compared = `${valueLabel(about.of)} ${formatMs(value)}: ${formatMs(Math.abs(more))} ${more < 0 ? "under" : "over"} the median of the hosts`;
  const nHosts = grid.firstPlace[row + 1] - grid.firstPlace[row];
  const nSteps = grid.firstStep[column + 1] - grid.firstStep[column];
  const merged = `the largest of ${[nHosts > 1 && plural(nHosts, "host"), nSteps > 1 && plural(nSteps, "step")].filter(Boolean).join(" and ")} here`;
  return { title, lines: [lines[0], compared, ...lines.slice(1), ...(nHosts * nSteps > 1 ? [merged] : [])] };
}

/** What a value is called. */
export function valueLabel(of: string): string {
  return of === "own" ? "Own work" : of === "step" ? "Step time" : (CATEGORY_LABELS[of] ?? of);
}

/** The host that a row of the grid stands for: that with the largest value in any step. */
export function rowOfCell(grid: HostGrid, row: number): number {
  let best = row * grid.nColumns;
  for (let at = best; at < (row + 1) * grid.nColumns; at++) if (grid.value[at] > grid.value[best]) best = at;
  return grid.host[best];
}
