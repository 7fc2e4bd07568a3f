/** A box of the drawn graph -> its SVG elements and the words about it. */

import { nodeOfOp } from "../../model/graph/cost_tree";
import { heatMarks } from "../../model/graph/heat";
import type { GraphBox } from "../../model/graph/op_graph";
import type { PlacedBox } from "../../model/graph/op_graph_layout";
import { opsUnder } from "../../model/graph/scopes";
import { formatFigure } from "../../model/graph/structure";
import { cutNames } from "../../model/text/cut";
import { formatPercent, plural } from "../../model/text/format";
import { h, svg, unspoken } from "../../ui/dom";
import type { Tip } from "../../ui/plot";
import type { TreeModel } from "./model";
import { nodeTip } from "./words";

export interface BoxLook extends BoxWords {
  /** Per cent of the hot colour. */
  readonly heat: number;
  /** Of the largest. */
  readonly share: number;
  readonly isCurrent: boolean;
  readonly fits: (text: string) => boolean;
}

/** What a box says and how it is marked. */
export interface BoxWords {
  readonly name: string;
  readonly figure: string;
  /** In the lower right corner. */
  readonly note: string;
  readonly spoken: string;
  readonly marked: "all" | "some" | "none";
  readonly found?: "hit" | "dim" | undefined;
  /** The whole name, by which tests and style sheets find it. */
  readonly node?: string | undefined;
}

export function boxElement({ kind, isOpen }: GraphBox, place: PlacedBox, look: BoxLook): SVGGElement {
  const { x, y, width, height } = place;
  const { name, figure, marked } = look;
  const states = [isOpen && "open", marked === "some" && "some", look.found, look.isCurrent && "current"];
  const group = svg("g", {
    class: ["box", kind, ...states].filter(Boolean).join(" "),
    transform: `translate(${x} ${y})`,
    role: "button",
    "aria-description": look.spoken,
    "aria-pressed": kind === "rest" ? undefined : String(marked === "all"),
    "aria-expanded": kind === "scope" ? String(isOpen) : undefined,
    "data-node": look.node,
  });
  group.style.setProperty("--heat", `${isOpen ? 0 : look.heat}%`);
  const shape = { x: 0.5, y: 0.5, width: Math.max(0, width - 1), height: Math.max(0, height - 1), rx: 3 };
  group.append(svg("rect.ground", { ...shape }));
  const lead = kind === "scope" ? 18 : 7;
  if (kind === "scope") group.append(twist(isOpen));
  const fits = isOpen ? (text: string) => text.length * 6.2 + figure.length * 6.2 < width - lead - 20 : look.fits;
  const text = cutNames([name], fits).get(name) ?? name;
  group.append(svg("text.nm", { x: lead, y: 15 }, `${text} `));
  if (isOpen) group.append(svg("text.v", { x: width - 7, y: 15, "text-anchor": "end" }, figure));
  else group.append(...figures(look, lead, place));
  return group;
}

function figures({ figure, note, share }: BoxLook, lead: number, { width, height }: PlacedBox): SVGElement[] {
  const parts: SVGElement[] = [svg("text.v", { x: lead, y: 30 }, `${figure} `)];
  if (note) parts.push(svg("text.v.q", { x: width - 7, y: 30, "text-anchor": "end" }, note));
  const length = Math.max(share > 0 ? 1 : 0, share * (width - 2));
  parts.push(svg("rect.len", { x: 1, y: height - 5, width: length, height: 4 }));
  return parts;
}

/** Opens or closes a scope. */
function twist(isOpen: boolean): SVGGElement {
  const sign = svg("path", { d: isOpen ? "M5 7 h8 l-4 6 z" : "M6 6 v8 l6 -4 z" });
  return svg("g.tw", { "aria-hidden": "true" }, svg("rect", { x: 0, y: 0, width: 18, height: 20 }), sign);
}

/** What the box of a scope, an op or the rest says. */
export function scopeBoxLook(model: TreeModel, box: GraphBox, hits: ReadonlySet<number> | null): BoxWords {
  const name = boxName(model, box);
  const figure = formatFigure(model.figure, box.value);
  const note = box.kind === "op" ? "" : plural(box.nOps, "op");
  const found = hits === null ? undefined : hasHit(model, box, hits) ? "hit" : "dim";
  const known = box.kind === "rest" ? undefined : model.fullName(box.id);
  const marked = box.kind === "rest" ? "none" : model.marked(box.id);
  return {
    name,
    figure,
    note,
    spoken: `${name}: ${[figure, note].filter(Boolean).join(", ")}`,
    marked,
    found,
    node: known,
  };
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

export function heatLegend(text: string, largest: number, format: (value: number) => string): HTMLElement[] {
  const name = h("span.q", text);
  if (!(largest > 0)) return [name, h("span", "none")];
  const [none, , most] = heatMarks(largest).map(format);
  return [name, h("span", none), unspoken("i.ramp"), h("span", most)];
}
