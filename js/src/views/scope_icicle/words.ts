/** A cell of the icicle -> its label, colour and the words about it. */

import { type Cell, scopePath, WHOLE } from "../../model/graph/scopes";
import { cutNames } from "../../model/text/cut";
import { formatPercent, formatTime, plural } from "../../model/text/format";
import { FAMILIES } from "../../model/wire/categories";
import { type CellLook, restLabel } from "../../ui/icicle";
import type { ScopeModel } from "./model";

const MOST_TIP_LETTERS = 72;

/** "4.72 ms a step" */
export function costOf(model: ScopeModel, ps: number): string {
  return `${formatTime(ps)}${model.isPerStep ? " a step" : ""}`;
}

function shareOf(model: ScopeModel, ps: number): string {
  return formatPercent(model.times.wholePs > 0 ? ps / model.times.wholePs : 0);
}

export function cellLook(model: ScopeModel, cell: Cell): CellLook {
  const label = cellLabel(model, cell);
  const figure = formatTime(cell.ps);
  const where = cell.kind === "rest" ? `${label} in ${model.nameOf(cell.row)}` : label;
  const spoken = `${where}: ${costOf(model, cell.ps)}, ${shareOf(model, cell.ps)}`;
  const plain = { label, figure, spoken };
  if (cell.kind === "op") {
    const isBackward = model.phaseOf(cell.op) === "backward";
    const selected = model.selected.has(model.opName(cell.op)) ? "all" : "none";
    return { ...plain, family: model.familyOf(cell.op), backwardRatio: isBackward ? 1 : 0, selected };
  }
  if (cell.kind === "rest" || cell.row === WHOLE) {
    return { ...plain, family: "", backwardRatio: 0, selected: "none" };
  }
  const { nSelected, nOps, backwardPs, family } = model.figures;
  const { row } = cell;
  const selected = nSelected[row] === 0 ? "none" : nSelected[row] >= nOps[row] ? "all" : "some";
  return {
    ...plain,
    family: FAMILIES[family[row]] ?? "mixed",
    backwardRatio: backwardPs[row] / Math.max(1, cell.ps),
    selected,
  };
}

function cellLabel(model: ScopeModel, cell: Cell): string {
  if (cell.kind === "rest") return restLabel(cell.n);
  if (cell.kind === "scope") return cell.chain.map((row) => model.nameOf(row)).join("/");
  const name = model.opName(cell.op);
  const joint = name.includes("::") ? "::" : "/";
  const leaf = name.slice(name.lastIndexOf(joint) + joint.length);
  return name.includes(joint) && leaf !== "" ? leaf : name;
}

/** A name whose informative parts fit the tooltip. */
function shortened(name: string): string {
  return cutNames([name], (text) => text.length <= MOST_TIP_LETTERS).get(name) ?? name;
}

/** What the tooltip says; `zoom` is the scope on top. */
export function cellTip(model: ScopeModel, cell: Cell, zoom: number): { title: string; lines: string[] } {
  const ofZoom =
    zoom === model.top ? "" : `${formatPercent(cell.ps / Math.max(1, model.psOf(zoom)))} of ${model.nameOf(zoom)}`;
  const cost = [costOf(model, cell.ps), `${shareOf(model, cell.ps)} of op time`, ofZoom].filter(Boolean).join(" · ");
  if (cell.kind === "rest") {
    const title = `${restLabel(cell.n)} in ${model.nameOf(cell.row)}`;
    return { title, lines: [cost, "each too narrow to draw: click to look inside"] };
  }
  if (cell.kind === "op") {
    const runs = plural(model.occurrences(cell.op), "run");
    const kind = `${model.opType(cell.op)} on the ${model.sideOf(cell.op)} · ${model.phaseOf(cell.op)} · ${runs}`;
    return { title: shortened(model.opName(cell.op)), lines: [kind, cost] };
  }
  if (cell.row === WHOLE) return { title: "All ops", lines: [cost] };
  const { backwardPs, nOps, occurrences } = model.figures;
  const back = backwardPs[cell.row];
  const own = model.times.ownPs[cell.row];
  const lines = [cost];
  if (back > 0) lines.push(`backward ${costOf(model, back)} · all else ${costOf(model, cell.ps - back)}`);
  if (own > 0 && own < cell.ps) lines.push(`${costOf(model, own)} in ops directly in it`);
  lines.push(`${plural(nOps[cell.row], "op")} · ${plural(occurrences[cell.row], "run")}`);
  return { title: shortened(scopePath(model.tree, cell.row)) || "All ops", lines };
}
