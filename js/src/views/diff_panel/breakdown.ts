/** The categories of a step in both runs -> two stacked bars on one scale, joined, and the figures below. */
import { formatMs, formatNumber } from "../../model/text/format";
import { niceTicks } from "../../model/time/step_bars";
import { CATEGORIES, CATEGORY_LABELS } from "../../model/wire/categories";
import { h, svg, unspoken } from "../../ui/dom";
import { labelList, labelled } from "../../ui/label_list";
import { categorySwatch } from "../../ui/legend";
import type { Category, StepTimes } from "./payload";
import { isChanged, runBadge, signed, stateMark } from "./words";

const MOST_TICKS = 8;

/** Null without steps. */
export function breakdown(categories: readonly Category[], steps: StepTimes | null): HTMLElement | null {
  const ordered = CATEGORIES.flatMap((name) => categories.filter((one) => one.category === name));
  if (ordered.length === 0) return null;
  const sums = [sum(ordered, "a_ms"), sum(ordered, "b_ms")];
  const top = Math.max(...sums);
  if (!(top > 0)) return null;
  return h(
    "section.tfp-diff-parts",
    { "aria-label": "A step by category, in a and in b" },
    h("div.head", h("b", "What a step is made of"), h("span.q", "ms a step, both on one scale")),
    h(
      "div.stacks",
      runBadge(0),
      stack(ordered, "a_ms", top),
      total(steps?.a_ms ?? sums[0]),
      h("span"),
      joints(ordered, top),
      h("span"),
      runBadge(1),
      stack(ordered, "b_ms", top),
      total(steps?.b_ms ?? sums[1]),
      h("span"),
      axis(top),
    ),
    figures(ordered),
  );
}

type Side = "a_ms" | "b_ms";

function sum(categories: readonly Category[], side: Side): number {
  return categories.reduce((all, one) => all + Math.max(0, one[side]), 0);
}

function total(ms: number): HTMLElement {
  return h("span.total", formatMs(ms));
}

function label(category: string): string {
  return CATEGORY_LABELS[category] ?? category;
}

function stack(categories: readonly Category[], side: Side, top: number): HTMLElement {
  const words = categories.map((one) => `${label(one.category)} ${formatMs(one[side])}`).join(", ");
  const track = h("div.track", { role: "img", "aria-label": `${side[0]}: ${words}` });
  for (const one of categories) {
    if (!(one[side] > 0)) continue;
    const style = { width: `${(one[side] / top) * 100}%`, background: `var(--c-${one.category})` };
    track.append(h("i", { title: `${label(one.category)} in ${side[0]}: ${formatMs(one[side])}`, style }));
  }
  return track;
}

/** Lines from where a category ends in a to where it ends in b: their slant is the change. */
function joints(categories: readonly Category[], top: number): SVGSVGElement {
  const lines: SVGElement[] = [];
  let [a, b] = [0, 0];
  for (const one of categories) {
    a += Math.max(0, one.a_ms);
    b += Math.max(0, one.b_ms);
    if (one.a_ms <= 0 && one.b_ms <= 0) continue;
    const ends = { x1: (a / top) * 100, y1: 0, x2: (b / top) * 100, y2: 10 };
    lines.push(svg("line", { ...ends, "vector-effect": "non-scaling-stroke" }));
  }
  return svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, ...lines);
}

function axis(top: number): HTMLElement {
  const mark = (tick: number) => h("span.tick", { style: { left: `${(tick / top) * 100}%` } }, String(tick));
  return unspoken("div.axis", ...niceTicks(top, MOST_TICKS).map(mark));
}

function figures(categories: readonly Category[]): HTMLElement {
  const isThere = (one: Category) => one.a_ms !== 0 || one.b_ms !== 0;
  const list = labelList("cats", "The parts of a step", ...categories.filter(isThere).map(entry));
  const others = categories.filter((one) => !isThere(one)).map((one) => label(one.category));
  const none = others.length > 0 && h("div.q", `0 in both runs: ${others.join(", ")}`);
  return h("div", list, none);
}

function entry(one: Category): HTMLElement {
  const noise = one.noise_ms === null ? "" : `, noise ${formatMs(one.noise_ms)}`;
  const title = `${label(one.category)}: ${formatMs(one.a_ms)} in a, ${formatMs(one.b_ms)} in b${noise}`;
  const values = [`${formatNumber(one.a_ms)} → ${formatNumber(one.b_ms)}`, signed(one.change_ms), stateMark(one.state)];
  const name = h("span", categorySwatch(one.category), label(one.category));
  return labelled(name, values, { class: isChanged(one.state) ? "cat top" : "cat", title });
}
