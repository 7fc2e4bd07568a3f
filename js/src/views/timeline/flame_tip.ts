/** Turns the rectangle of a flame under the pointer into a small frame beside it. */
import { ROOT } from "../../model/events/flame";
import type { Flame, FlameRect } from "../../model/events/flame_layout";
import { formatCount, formatPercent, formatTime } from "../../model/text/format";
import { h } from "../../ui/dom";
import type { TimelineState } from "./state";

const OFFSET_PX = 12;

export class FlameTip {
  readonly element = h("div", { class: "tl-tip", "aria-hidden": "true" });
  readonly #name = h("b", {});
  readonly #figures = h("div", { class: "q" });

  constructor(readonly state: TimelineState) {
    this.element.append(this.#name, this.#figures);
    this.element.hidden = true;
  }

  hide() {
    this.element.hidden = true;
  }

  /** Total, self, how many, share of what is around it and of the whole. */
  figures({ tree, self }: Flame, { node, nRest, ps }: FlameRect): string {
    const whole = tree.total[ROOT];
    const parent = nRest > 0 ? node : tree.parent[node];
    const parts = [formatTime(ps)];
    if (nRest === 0) parts.push(`self ${formatTime(self[node])}`, `${formatCount(tree.count[node])} ×`);
    if (nRest === 0 && tree.label[node] >= 0 && tree.count[node] > 1)
      parts.push(`mean ${formatTime(ps / tree.count[node])}`);
    if (parent > ROOT) parts.push(`${formatPercent(ps / tree.total[parent])} of what is around it`);
    if (node !== ROOT || nRest > 0) parts.push(`${formatPercent(ps / whole)} of all`);
    return parts.join(" · ");
  }

  show(flame: Flame, rect: FlameRect, name: string, x: number, y: number, box: DOMRect) {
    this.element.hidden = false;
    this.#name.textContent = name;
    this.#figures.textContent = this.figures(flame, rect);
    const own = this.element.getBoundingClientRect();
    const left = x + OFFSET_PX + own.width > box.width ? Math.max(0, x - OFFSET_PX - own.width) : x + OFFSET_PX;
    const top = y + OFFSET_PX + own.height > box.height ? Math.max(0, y - OFFSET_PX - own.height) : y + OFFSET_PX;
    this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }
}
