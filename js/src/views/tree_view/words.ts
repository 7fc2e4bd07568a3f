/** Nodes of the trees -> labels, colours and the words about them. */

import { nodeOfOp, opOfNode } from "../../model/graph/cost_tree";
import type { Cell } from "../../model/graph/scopes";
import { FIGURES, formatFigure } from "../../model/graph/structure";
import { cutNames } from "../../model/text/cut";
import { formatPercent, plural } from "../../model/text/format";
import { FAMILIES } from "../../model/wire/categories";
import { type CellLook, restLabel } from "../../ui/icicle";
import type { Tip } from "../../ui/plot";
import type { TreeModel } from "./model";

const MOST_TIP_LETTERS = 72;

export function nodeOfCell(model: TreeModel, cell: Cell): number {
  return cell.kind === "op" ? nodeOfOp(model.tree, cell.op) : cell.row;
}

/** "4.72 ms" in the figure that is shown. */
export function amount(model: TreeModel, value: number): string {
  return formatFigure(model.figure, value);
}

export function cellLook(model: TreeModel, cell: Cell, hits: ReadonlySet<number> | null): CellLook {
  const node = nodeOfCell(model, cell);
  const label = cellLabel(model, cell);
  const figure = amount(model, cell.ps);
  const where = cell.kind === "rest" ? `${label} in ${model.nameOf(cell.row)}` : label;
  const spoken = `${where}: ${figure}, ${formatPercent(model.whole > 0 ? cell.ps / model.whole : 0)}`;
  const isHit = hits !== null && cell.kind !== "rest" && cellNodes(model, cell).some((at) => hits.has(at));
  const plain = { label, figure, spoken, backwardRatio: 0, found: hits === null ? undefined : isHit };
  if (cell.kind === "rest" || node === 0) return { ...plain, family: "", selected: "none" };
  const op = opOfNode(model.tree, node);
  const family = op >= 0 ? model.familyOf(op) : (FAMILIES[model.looks.family[node]] ?? "mixed");
  return { ...plain, family, selected: model.marked(node) };
}

/** The nodes that a cell stands for. */
function cellNodes(model: TreeModel, cell: Cell): readonly number[] {
  return cell.kind === "scope" ? cell.chain : [nodeOfCell(model, cell)];
}

function cellLabel(model: TreeModel, cell: Cell): string {
  if (cell.kind === "rest") return restLabel(cell.n);
  if (cell.kind === "op") return model.nameOf(nodeOfOp(model.tree, cell.op));
  return chainName(model, cell.chain);
}

/** Entries that hold nothing but each other; of calls the outermost, which is the reader's own, and the innermost. */
export function chainName(model: TreeModel, chain: readonly number[]): string {
  const names = chain.map((node) => model.nameOf(node));
  if (model.treeKind !== "code") return names.join("/");
  return names.length < 3 ? names.join(" › ") : `${names[0]} › … › ${names[names.length - 1]}`;
}

/** A name whose informative parts fit the tooltip. */
export function shortened(name: string): string {
  return cutNames([name], (text) => text.length <= MOST_TIP_LETTERS).get(name) ?? name;
}

/** What a tooltip says of a node. */
export function nodeTip(model: TreeModel, node: number): Tip {
  const { structure, tree, figure } = model;
  const total = model.total(node);
  const share = `${formatPercent(model.share(node))} of ${figure.noun}`;
  const lines = [`${amount(model, total)} · ${share}`];
  const op = opOfNode(tree, node);
  if (op >= 0) {
    lines.push([structure.typeOf(op), structure.shapeOf(op), structure.deviceOf(op)].filter(Boolean).join(" · "));
    lines.push(otherFigures(model, op));
    return { title: shortened(model.opName(op)), lines: lines.filter(Boolean) };
  }
  const own = model.figures().own[node];
  if (own > 0 && own < total) lines[0] += ` · ${amount(model, own)} in ops directly in it`;
  if (model.treeKind === "code" && node > 0) {
    const { text } = structure.meta.frames;
    lines.unshift(shortened(text[node] ?? ""));
    lines.push(shortened(structure.frameFile(node)));
  }
  lines.push(plural(model.figures("occurrence").total[node], "op"));
  return { title: shortened(model.fullName(node)), lines: lines.filter(Boolean) };
}

/** Figures of one op besides the one that is shown. */
function otherFigures(model: TreeModel, op: number): string {
  const { structure, figure } = model;
  const parts = FIGURES.filter(({ key }) => key !== figure.key && key !== "occurrence")
    .filter(({ key }) => structure.figures.some((known) => known.key === key) && model.values(key)[op] > 0)
    .map(
      (other) =>
        `${other.text.toLowerCase().replace("cpu", "CPU")} ${formatFigure(other, model.values(other.key)[op])}`,
    );
  return parts.slice(0, 4).join(" · ");
}
