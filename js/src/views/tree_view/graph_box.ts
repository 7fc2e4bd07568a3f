/** A box of the drawn graph -> its SVG elements and the words about it. */

import { nodeOfOp } from "../../model/graph/cost_tree";
import { heatMarks } from "../../model/graph/heat";
import type { GraphBox } from "../../model/graph/op_graph";
import type { PlacedBox } from "../../model/graph/op_graph_layout";
import { opsUnder } from "../../model/graph/scopes";
import { type Figure, formatFigure } from "../../model/graph/structure";
import { cutNames } from "../../model/text/cut";
import { formatPercent, plural } from "../../model/text/format";
import { h, svg } from "../../ui/dom";
import type { Tip } from "../../ui/plot";
import type { TreeModel } from "./model";
import { nodeTip } from "./words";

export interface BoxLook {
  /** Per cent of the hot colour. */
  readonly heat: number;
  /** Of the largest. */
  readonly share: number;
  readonly hits: ReadonlySet<number> | null;
  readonly isCurrent: boolean;
  readonly fits: (text: string) => boolean;
}

export function boxElement(model: TreeModel, box: GraphBox, place: PlacedBox, look: BoxLook): SVGGElement {
  const { x, y, width, height } = place;
  const name = boxName(model, box);
  const figure = formatFigure(model.figure, box.value);
  const marked = box.kind === "rest" ? "none" : model.marked(box.id);
  const found = look.hits === null ? "" : hasHit(model, box, look.hits) ? " hit" : " dim";
  const states = `${box.isOpen ? " open" : ""}${marked === "some" ? " some" : ""}${found}${look.isCurrent ? " current" : ""}`;
  const group = svg("g", {
    class: `box ${box.kind}${states}`,
    transform: `translate(${x} ${y})`,
    role: "button",
    "aria-description": `${name}: ${figure}${box.kind === "op" ? "" : `, ${plural(box.nOps, "op")}`}`,
    "aria-pressed": box.kind === "rest" ? undefined : String(marked === "all"),
    "aria-expanded": box.kind === "scope" ? String(box.isOpen) : undefined,
    "data-node": box.kind === "rest" ? undefined : model.fullName(box.id),
  });
  group.style.setProperty("--heat", `${box.isOpen ? 0 : look.heat}%`);
  const shape = { x: 0.5, y: 0.5, width: Math.max(0, width - 1), height: Math.max(0, height - 1), rx: 3 };
  group.append(svg("rect.ground", { ...shape }));
  const lead = box.kind === "scope" ? 18 : 7;
  if (box.kind === "scope") group.append(twist(box.isOpen));
  const fits = box.isOpen ? (text: string) => text.length * 6.2 + figure.length * 6.2 < width - lead - 20 : look.fits;
  const text = cutNames([name], fits).get(name) ?? name;
  group.append(svg("text.nm", { x: lead, y: 15 }, `${text} `));
  if (box.isOpen) group.append(svg("text.v", { x: width - 7, y: 15, "text-anchor": "end" }, figure));
  else group.append(...figures(box, { figure, share: look.share, lead, width, height }));
  return group;
}

function figures(
  { kind, nOps }: GraphBox,
  at: { figure: string; share: number; lead: number; width: number; height: number },
): SVGElement[] {
  const { figure, share, lead, width, height } = at;
  const parts: SVGElement[] = [svg("text.v", { x: lead, y: 30 }, `${figure} `)];
  if (kind !== "op") {
    parts.push(svg("text.v.q", { x: width - 7, y: 30, "text-anchor": "end" }, plural(nOps, "op")));
  }
  const length = Math.max(share > 0 ? 1 : 0, share * (width - 2));
  parts.push(svg("rect.len", { x: 1, y: height - 5, width: length, height: 4 }));
  return parts;
}

/** Opens or closes a scope. */
function twist(isOpen: boolean): SVGGElement {
  const sign = svg("path", { d: isOpen ? "M5 7 h8 l-4 6 z" : "M6 6 v8 l6 -4 z" });
  return svg("g.tw", { "aria-hidden": "true" }, svg("rect", { x: 0, y: 0, width: 18, height: 20 }), sign);
}

function boxName(model: TreeModel, box: GraphBox): string {
  if (box.kind === "rest") return `${plural(box.nOps, "smaller op")}`;
  if (box.kind === "op") return model.nameOf(box.id);
  return box.chain.map((row) => model.nameOf(row)).join("/");
}

function hasHit(model: TreeModel, box: GraphBox, hits: ReadonlySet<number>): boolean {
  if (box.kind === "rest") return false;
  if (hits.has(box.id) || box.chain.some((row) => hits.has(row))) return true;
  const { tree } = model;
  if (box.kind === "op") return false;
  return opsUnder(tree, box.id).some((op) => hits.has(nodeOfOp(tree, op)));
}

export function boxTip(model: TreeModel, box: GraphBox): Tip {
  if (box.kind === "rest") {
    const share = formatPercent(model.whole > 0 ? box.value / model.whole : 0);
    const lines = [`${formatFigure(model.figure, box.value)} · ${share} of ${model.figure.noun}`];
    return {
      title: boxName(model, box),
      lines: [...lines, "each costs less than what is drawn beside it; click for more"],
    };
  }
  const tip = nodeTip(model, box.id);
  const what = box.kind === "op" ? "click selects" : "click selects its ops, double click or ▸ opens it";
  return { ...tip, lines: [...tip.lines, what] };
}

export function heatLegend(figure: Figure, largest: number): HTMLElement[] {
  const name = h("span.q", figure.text);
  if (!(largest > 0)) return [name, h("span", "none")];
  const [none, , most] = heatMarks(largest).map((value) => formatFigure(figure, value));
  return [name, h("span", none), h("i.ramp", { "aria-hidden": "true" }), h("span", most)];
}
