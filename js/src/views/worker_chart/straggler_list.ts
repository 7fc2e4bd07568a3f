/** Hosts that hold the others up -> a short table: who, in what, by how much, what it costs; a click chooses the host. */

import { cutNames } from "../../model/text/cut";
import { formatCount, formatMs, formatPercent } from "../../model/text/format";
import { button, h } from "../../ui/dom";
import { categorySwatch } from "../../ui/legend";
import { textFits } from "../../ui/page";
import type { WorkerModel } from "./model";
import { label } from "./words";

/** Room for the name of a host, as the style sheet has it. */
const HOST_PX = 112;

export class StragglerList {
  readonly element = h("div", { class: "tfp-stragglers" });
  readonly #body = h("tbody");
  readonly #title = h("caption");

  constructor(
    readonly model: WorkerModel,
    readonly signal: AbortSignal,
  ) {
    const head = ["Host", "Slower in", "Over the median", "Costs all"].map((text, k) =>
      h("th", { scope: "col", class: k < 2 ? "l" : "" }, text),
    );
    const last = h("th", { scope: "col", class: "opt" }, "Last in");
    const table = h(
      "table",
      { class: "tfp-workers" },
      this.#title,
      h("thead", {}, h("tr", {}, ...head, last)),
      this.#body,
    );
    this.element.append(table);
  }

  draw(): void {
    const { stragglers, nStragglers } = this.model;
    this.element.hidden = stragglers.length === 0;
    if (stragglers.length === 0) return;
    const count =
      nStragglers > stragglers.length ? `${formatCount(stragglers.length)} of ${formatCount(nStragglers)} hosts` : "";
    this.#title.replaceChildren(h("b", {}, "Who holds the others up"), ` ${count}`);
    const { hosts, shortNames } = this.model;
    const nameOf = (host: string) => shortNames[hosts.indexOf(host)] ?? host;
    const names = stragglers.map(({ host }) => nameOf(host));
    const cuts = cutNames(names, textFits(this.element, HOST_PX));
    this.#body.replaceChildren(
      ...stragglers.map((one) => {
        const isChosen = this.model.view.link.host === one.host;
        const choose = () => this.model.chooseHost(hosts.indexOf(one.host));
        const attributes = { class: "link", title: one.host, "aria-pressed": String(isChosen) };
        return h(
          "tr",
          { class: isChosen ? "on" : "" },
          h("th", { scope: "row" }, button(cuts.get(nameOf(one.host)) ?? one.host, choose, this.signal, attributes)),
          h("td", { class: "l" }, categorySwatch(one.category), label(one.category)),
          h("td", {}, formatMs(one.excess_ms)),
          h("td", {}, `${formatMs(one.cost_ms)} · ${formatPercent(one.cost_ratio)}`),
          h("td", { class: "opt" }, `${formatCount(one.n_steps)} of ${formatCount(one.n_aligned)}`),
        );
      }),
    );
  }
}
