/** One iterator and its cost -> the SVG of its box, the arrow to the iterator that consumes it, and their legend. */

import { cutNames } from "../../model/text/cut";
import { formatCount, formatInstant, formatNumber, formatTime, plural } from "../../model/text/format";
import type { IteratorNode } from "../../model/wire/meta";
import { h, svg } from "../../ui/dom";

export interface IteratorCost {
  /** Sums in ps and calls. */
  readonly self: number;
  readonly total: number;
  readonly calls: number;
  /** When the first call of one execution began (Infinity where it has none); null for an average of many. */
  readonly startPs: number | null;
  /** What the sums are divided by. */
  readonly nBatches: number;
  /** Work for a batch that fills the bar, ps. */
  readonly scale: number;
}

export interface BoxPlace {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Boxes narrower than this have no room for the calls beside the work. */
const CALLS_FROM_PX = 112;

export interface BoxHead {
  /** The name, cut to the width of the box. */
  readonly name: string;
  readonly isCritical: boolean;
}

export function nodeBox(
  node: IteratorNode,
  { name, isCritical }: BoxHead,
  cost: IteratorCost,
  place: BoxPlace,
  fits: (text: string) => boolean,
): SVGGElement {
  const settings = paramText(node);
  const batch = perBatch(cost);
  const sums = `${spoken(cost)}, ${plural(cost.calls, "call")}`;
  const group = svg("g", {
    class: `tfp-node${isCritical ? " critical" : " aside"}`,
    transform: `translate(${place.x} ${place.y})`,
    tabindex: 0,
    role: "button",
    "aria-pressed": "false",
    "aria-description": `${spoken(batch)}, ${formatCalls(batch.calls)} calls a batch`,
  });
  group.setAttribute("data-op-name", node.long_name);
  const parts = boxParts(name, cutNames([settings], fits).get(settings) ?? "", cost, place);
  const title = [node.long_name, settings, sums, started(cost)].filter(Boolean).join("\n");
  // A name that holds all that can be read in the box, in that order; without the blanks its texts run into each other.
  for (const part of parts) if (part.textContent) part.append(" ");
  group.setAttribute("aria-label", [title, ...parts.map((part) => part.textContent)].join(" "));
  group.append(svg("title", title), ...parts);
  return group;
}

function started({ startPs }: IteratorCost): string {
  if (startPs === null) return "";
  return Number.isFinite(startPs) ? `from ${formatInstant(startPs, 1e6)}` : "not called";
}

type BatchCost = Pick<IteratorCost, "self" | "total" | "calls">;

function perBatch({ self, total, calls, nBatches }: IteratorCost): BatchCost {
  const per = Math.max(1, nBatches);
  return { self: self / per, total: total / per, calls: calls / per };
}

function spoken({ self, total }: BatchCost): string {
  return `work ${formatTime(self)}, waiting for its inputs ${formatTime(Math.max(0, total - self))}, total ${formatTime(total)}`;
}

/** The frame, the words and the bar of a box, from the back to the front. */
function boxParts(name: string, settings: string, cost: IteratorCost, { width, height }: BoxPlace): SVGElement[] {
  const { self, total, calls } = perBatch(cost);
  const bar = self > 0 ? Math.max(1, ((width - 16) * self) / cost.scale) : 0;
  const start = started(cost);
  const dy = start ? 13 : 0;
  const parts = [
    svg("rect.box", { width, height }),
    svg("rect.tint", { x: 2, y: 2, width: width - 4, height: height - 4 }),
    svg("text.b", { x: 8, y: 17 }, name),
    svg("text", { x: 8, y: 30 }, settings),
    svg("text.k", { x: 8, y: 46 }, `${formatTime(self)} work`),
    svg("text", { x: 8, y: 59 }, `${formatTime(total)} total`),
    svg("text", { x: 8, y: 72 }, start),
    svg("rect.track", { x: 8, y: 66 + dy, width: width - 16, height: 8 }),
    svg("rect.self", { x: 8, y: 66 + dy, width: bar, height: 8 }),
    svg("rect.ring", { x: -3, y: -3, width: width + 6, height: height + 6 }),
  ];
  if (width <= CALLS_FROM_PX) return parts;
  return [...parts, svg("text", { x: width - 7, y: 46, "text-anchor": "end" }, `${formatCalls(calls)} ×`)];
}

function formatCalls(calls: number): string {
  return Number.isInteger(calls) || calls >= 100 ? formatCount(calls) : formatNumber(calls, 2);
}

/** What is known about an iterator besides its name, in a few words. */
function paramText({ params, settings, is_async: isAsync }: IteratorNode): string {
  const words: string[] = isAsync ? ["runs ahead"] : [];
  if (typeof settings === "string") words.push(settings);
  else if (typeof params === "string") words.push(params);
  else if (params !== null && typeof params === "object") {
    for (const [key, value] of Object.entries(params)) words.push(`${key.replaceAll("_", " ")} ${String(value)}`);
  }
  return words.filter(Boolean).join(", ");
}

export type Points = readonly (readonly [number, number])[];

/** A line along `points`, moved down by `top`, and its head. */
export function arrow(points: Points, top: number, isCritical: boolean): SVGElement[] {
  const kind = isCritical ? " critical" : "";
  const last = points.length - 1;
  const [x1, y1] = points[last];
  // The line ends inside the head, so that its square end does not show.
  const path = points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${i === last ? x - 5 : x} ${y + top}`).join("");
  return [
    svg("path", { class: `tfp-arrow${kind}`, d: path }),
    svg("path", { class: `tfp-arrow-head${kind}`, d: `M${x1} ${y1 + top}l-7 -4v8z` }),
  ];
}

export function legend(): HTMLElement {
  const key = (text: string, kind: string) => {
    const line = svg("path", { class: `tfp-arrow${kind}`, d: "M0 4H22" });
    return h("span", svg("svg", { width: 26, height: 8, "aria-hidden": "true" }, line), text);
  };
  return h("span.tfp-keys", key("critical path", " critical"), key("not critical", ""));
}
