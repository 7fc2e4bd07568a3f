/** What ops cost in the averaged steps -> the ops of one side with the most self time, as buttons that select them. */

import { opColors } from "../../colors/op_colors";
import { formatShare, type TopOp, topOps } from "../../model/overview/overview";
import { cutNames } from "../../model/text/cut";
import { formatNumber, plural } from "../../model/text/format";
import { numbers } from "../../model/wire/column";
import { EMPTY_TABLE } from "../../model/wire/wire";
import { button, h, segmented, setAria } from "../../ui/dom";
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
    view.data.onTables(draw, view.signal, ["top_ops"]);
    watchSize(this.list, draw, view.signal);
    this.draw();
  }

  draw(): void {
    if (this.list.hidden) return;
    const { data } = this.view;
    const side = this.#isDevice ? 1 : 0;
    const top = topOps(data.meta, data.table("top_ops") ?? EMPTY_TABLE, side).slice(0, N_TOP_OPS);
    const isOfStep = numbers(data.table("steps") ?? EMPTY_TABLE, "is_averaged").some(Boolean);
    this.unit.textContent = `self time, ms ${isOfStep ? "a step " : ""}· %`;
    if (top.length === 0) {
      this.list.replaceChildren(h("li.q", "No op was recorded."));
      return;
    }
    const room = (this.list.clientWidth || 400) * 0.78 - 110;
    const names = top.map((row) => row.name);
    const cuts = cutNames(names, textFits(this.view.root, room));
    const items = top.map((row) => this.#item(row, cuts.get(row.name) ?? row.name, top[0].ms));
    this.list.replaceChildren(...items);
    this.#followSelection();
  }

  #item(row: TopOp, text: string, most: number): HTMLElement {
    const { link, data, signal } = this.view;
    const { categoryOf } = opColors(data.meta);
    const color = `var(--c-${categoryOf(row.op)})`;
    const bar = h("i", { style: { width: `max(1px, ${(row.ms / most) * 100}%)`, background: color } });
    const title = `${row.name}\n${row.type} on the ${this.#isDevice ? "device" : "host"}, ${plural(row.occurrences, "time")}`;
    const cells = [
      h("span.name.cut", text),
      bar,
      h("span.v", formatNumber(row.ms)),
      h("span.v.q", formatShare(row.ratio)),
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
      setAria(element, "pressed", chosen.has(element.getAttribute("data-op-name") ?? ""));
    }
  }
}
