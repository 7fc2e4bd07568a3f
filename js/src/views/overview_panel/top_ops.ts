/** Op occurrences of the averaged steps -> the ops of one side with the most self time, as buttons that select them. */

import type { OpRow } from "../../model/ops/ops";
import { opColors } from "../../model/ops/ranged_ops";
import { formatShare, topOps } from "../../model/overview/overview";
import { cutNames } from "../../model/text/cut";
import { formatNumber, plural } from "../../model/text/format";
import { button, h, segmented } from "../../ui/dom";
import { inFrame, textFits, watchSize } from "../../ui/page";
import { toggleSelection } from "../../ui/selecting";
import type { TraceView } from "../../ui/view";

const N_TOP_OPS = 6;

export class TopOps {
  readonly list = h("ol");
  readonly unit = h("span.unit");
  /** Which side the ops are of; empty where only one has any. */
  readonly side: HTMLElement;
  #isDevice: boolean;

  constructor(readonly view: TraceView) {
    const { op_device } = view.data.meta;
    const sides = [1, 0].filter((side) => op_device.includes(side));
    this.#isDevice = sides[0] === 1;
    const choices = sides.map((side) => ({ value: String(side), text: side === 1 ? "device" : "host" }));
    const choose = (side: string) => {
      this.#isDevice = side === "1";
      this.draw();
    };
    this.side =
      choices.length > 1
        ? segmented("Side of the ops", choices, choices[0].value, choose, view.signal, "tfp-words")
        : h("span");
    const draw = inFrame(() => this.draw(), view.signal);
    view.link.on("selection", () => this.#followSelection(), view.signal);
    view.data.onTables(draw, view.signal, ["occurrences", "steps"]);
    watchSize(this.list, draw, view.signal);
    this.draw();
  }

  draw(): void {
    if (this.list.hidden) return;
    const { data } = this.view;
    const top = topOps(
      data.meta,
      (name) => data.table(name),
      N_TOP_OPS,
      this.#isDevice ? 1 : 0,
      data.isWhole("occurrences"),
    );
    const unit = top.nSteps > 0 ? "self time, ms a step · %" : "self time, ms · %";
    this.unit.textContent = unit;
    if (top.rows.length === 0) {
      this.list.replaceChildren(h("li.q", "No op was recorded."));
      return;
    }
    const room = (this.list.clientWidth || 400) * 0.78 - 110;
    const names = top.rows.map((row) => row.name);
    const cuts = cutNames(names, textFits(this.view.root, room));
    const most = top.rows[0].selfPs;
    const items = top.rows.map((row) => this.#item(row, cuts.get(row.name) ?? row.name, most, top.nSteps));
    this.list.replaceChildren(...items);
    this.#followSelection();
  }

  #item(row: OpRow, text: string, most: number, nSteps: number): HTMLElement {
    const { link, data, signal } = this.view;
    const { categoryOf } = opColors(data.meta, (name) => data.table(name));
    const color = `var(--c-${categoryOf(row.op)})`;
    const bar = h("i", { style: { width: `max(1px, ${(row.selfPs / most) * 100}%)`, background: color } });
    const ms = row.selfPs / 1e9 / Math.max(1, nSteps);
    const title = `${row.name}\n${row.type} on the ${row.device ? "device" : "host"}, ${plural(row.occurrences, "time")}`;
    const cells = [
      h("span.name.cut", text),
      bar,
      h("span.v", formatNumber(ms)),
      h("span.v.q", formatShare(row.selfRatio)),
    ];
    const attributes = { title, "data-op-name": row.name, class: "bare" };
    return h(
      "li",
      button("", () => toggleSelection(link, [row.name]), signal, attributes, ...cells),
    );
  }

  #followSelection(): void {
    const chosen = new Set(this.view.link.selection);
    for (const element of this.list.querySelectorAll("button")) {
      element.setAttribute("aria-pressed", String(chosen.has(element.getAttribute("data-op-name") ?? "")));
    }
  }
}
