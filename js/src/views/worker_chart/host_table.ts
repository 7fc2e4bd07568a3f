/** The hosts shown -> a table: a stacked bar and the figures of each. */

import { decimalsOf, formatPart } from "../../model/overview/overview";
import { cutNames } from "../../model/text/cut";
import { formatCount, formatMs } from "../../model/text/format";
import { CATEGORY_LABELS } from "../../model/wire/categories";
import { h, on } from "../../ui/dom";
import { categorySwatch } from "../../ui/legend";
import { textFits } from "../../ui/page";
import type { WorkerModel } from "./model";
import { isSpecial, label } from "./words";

/** Room for the name of a host, as the style sheet has it. */
const HOST_PX = 176;
/** Rows of a table that anybody reads; more make a page slow. */
const MOST_ROWS = 300;

export class HostTable {
  readonly element: HTMLElement;
  readonly #head = h("thead");
  readonly #body = h("tbody");
  readonly #foot = h("p", { class: "q tfp-workers-more", role: "status" });

  constructor(
    readonly model: WorkerModel,
    /** Shows the card of a host beside its row; null hides it. */
    readonly onHover: (host: number, row: DOMRect | null) => void,
    signal: AbortSignal,
  ) {
    this.element = h(
      "div",
      { class: "tfp-workers-place" },
      h("table", { class: "tfp-workers" }, this.#head, this.#body),
      this.#foot,
    );
    const rowOf = (event: Event) => (event.target as Element).closest<HTMLElement>("tr");
    on(this.#body, signal, {
      pointermove: (event) => {
        const row = rowOf(event);
        if (row) this.onHover(Number(row.dataset.host), row.getBoundingClientRect());
      },
      pointerleave: () => this.onHover(-1, null),
      click: (event) => {
        const row = rowOf(event);
        if (row && model.hosts.length > 1) model.chooseHost(Number(row.dataset.host));
      },
    });
  }

  draw(): void {
    const { rows } = this.model;
    const most = rows.reduce((max, { stepTimeMs }) => Math.max(max, stepTimeMs), 0);
    this.#head.replaceChildren(this.#heads(most));
    const shown = rows.slice(0, MOST_ROWS);
    const several = this.model.hosts.length > 1 ? shown.map(({ host }) => this.model.shortNames[host]) : [];
    // Cut so that several stay apart; of one the style sheet leaves out the end.
    const cuts = cutNames(several, textFits(this.element, HOST_PX));
    this.#body.replaceChildren(...shown.map((_, i) => this.#row(i, most, cuts)));
    this.#foot.textContent =
      rows.length > shown.length ? `${formatCount(shown.length)} of ${formatCount(rows.length)} hosts` : "";
  }

  #heads(most: number): HTMLElement {
    const { stack, categories, hasOwn } = this.model;
    return h(
      "tr",
      {},
      h("th", { class: "l", scope: "col" }, "Host"),
      h("th", { class: "l stack", scope: "col" }, `Time of a step, 0 to ${formatMs(most)}`),
      h("th", { scope: "col" }, "Step, ms"),
      hasOwn && h("th", { scope: "col", title: "Step time without communication" }, "Own, ms"),
      ...stack.map((c) =>
        h("th", { scope: "col" }, categorySwatch(categories[c]), CATEGORY_LABELS[categories[c]] ?? ""),
      ),
      this.#remarks !== "" && h("th", { class: "l", scope: "col" }, this.#remarks),
    );
  }

  #row(i: number, most: number, cuts: ReadonlyMap<string, string>): HTMLElement {
    const { model } = this;
    const { stack, hasOwn, view } = model;
    const row = model.rows[i];
    const decimals = decimalsOf(most);
    const isSlowest = model.rows.length > 1 && row.stepTimeMs === most && !hasOwn;
    const name = model.hosts[row.host] || "unnamed host";
    const role = model.roles[row.host];
    const cells = stack.map((c) => {
      const emphasis = row.parts[c] === 0 ? "z" : c === row.bottleneck ? "top" : "";
      return h("td", { class: emphasis }, formatPart(row.parts[c], decimals));
    });
    const isChosen = view.link.host !== "" && view.link.host === name;
    const choose = h("button", { type: "button", class: "link", "aria-pressed": String(isChosen), title: name });
    const short = model.shortNames[row.host];
    choose.append(cuts.get(short) ?? short);
    return h(
      "tr",
      { "data-host": row.host, class: isChosen ? "on" : "" },
      h(
        "th",
        { scope: "row", title: name },
        model.hosts.length > 1 ? choose : name,
        isSpecial(role) && h("span", { class: "q" }, ` ${role}`),
      ),
      h("td", { class: "stack" }, this.#bar(row.parts, most)),
      h("td", { class: isSlowest ? "top" : "" }, row.stepTimeMs.toFixed(decimals)),
      hasOwn && h("td", {}, row.ownMs.toFixed(decimals)),
      ...cells,
      this.#remarks !== "" && h("td", { class: "l" }, this.#remark(i)),
    );
  }

  #bar(parts: readonly number[], most: number): HTMLElement {
    const { stack, categories } = this.model;
    const pieces = stack.map((c) => {
      const piece = h("i");
      piece.style.width = parts[c] > 0 ? `max(1px, ${(parts[c] / most) * 100}%)` : "0";
      piece.style.background = `var(--c-${categories[c]})`;
      return piece;
    });
    return h("div", {}, ...pieces);
  }

  /** Head of the last column; "" where it would be empty. */
  get #remarks(): string {
    const { hasOwn, stragglers } = this.model;
    if (!hasOwn) return "Bottleneck";
    return stragglers.length > 0 ? "Holds the others up" : "";
  }

  /** What the others lose by a host, or what it is busy with. */
  #remark(i: number): Node | string {
    const { rows, categories, hasOwn } = this.model;
    const held = this.model.stragglerOf(rows[i].host);
    if (held) return h("b", {}, `by ${label(held.category)}, ${formatMs(held.cost_ms)} a step`);
    if (hasOwn) return "";
    return rows[i].bottleneck < 0 ? "none" : label(categories[rows[i].bottleneck]);
  }
}
