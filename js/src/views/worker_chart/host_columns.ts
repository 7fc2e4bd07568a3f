/** The hosts shown -> one stacked column a host on a common scale, the straggler marked; arrows walk, Enter chooses. */

import { shortHosts } from "../../model/hosts/host_names";
import { formatMs, formatNumber } from "../../model/text/format";
import { median } from "../../model/time/statistics";
import { niceTicks } from "../../model/time/step_bars";
import { h, on, onKeys, unspoken } from "../../ui/dom";
import { inFrame, watchSize } from "../../ui/page";
import type { WorkerModel } from "./model";
import { card } from "./words";

/** Room over the longest column, for what is written on it. */
const HEADROOM = 1.14;
/** About the width of a character, and what a name is given at most; a column is not wider than the style sheet has it. */
const CHARACTER_PX = 6.3;
const NAME_GAP_PX = 3;
const LONGEST_PX = 64;
const MOST_PX = 64;

export class HostColumns {
  readonly element: HTMLElement;
  readonly #axis = unspoken("div.axis");
  readonly #list: HTMLElement;
  /** Place of the host with the cursor. */
  #active = 0;

  constructor(
    readonly model: WorkerModel,
    /** Shows the card of a host beside its column; null hides it. */
    readonly onHover: (host: number, column: DOMRect | null) => void,
    signal: AbortSignal,
  ) {
    this.#list = h("div", {
      class: "cols",
      role: "listbox",
      tabindex: 0,
      "aria-label": "Hosts, by the parts of a step",
    });
    this.element = h("div", { class: "tfp-host-columns" }, this.#axis, this.#list);
    const columnOf = (event: Event) => (event.target as Element).closest<HTMLElement>("[role=option]");
    const leave = () => this.onHover(-1, null);
    on(this.#list, signal, {
      pointermove: (event) => {
        const column = columnOf(event);
        this.onHover(column ? Number(column.dataset.host) : -1, column?.getBoundingClientRect() ?? null);
      },
      pointerleave: leave,
      blur: leave,
      click: (event) => {
        const column = columnOf(event);
        if (column) model.chooseHost(Number(column.dataset.host));
      },
    });
    onKeys(this.#list, signal, ({ key }) => this.#key(key));
    const redraw = inFrame(() => this.draw(), signal);
    watchSize(this.#list, redraw, signal);
  }

  draw(): void {
    const { rows } = this.model;
    const most = rows.reduce((max, { stepTimeMs }) => Math.max(max, stepTimeMs), 0) * HEADROOM || 1;
    const { short, prefix } = shortHosts(rows.map(({ host }) => this.model.hosts[host]));
    const named = this.#named(short);
    this.#active = Math.min(this.#active, Math.max(0, rows.length - 1));
    this.#axis.replaceChildren(...this.#lines(most), h("span", { class: "q host" }, prefix ? `${prefix}…` : "host"));
    this.#axis.title = prefix;
    this.#list.replaceChildren(...rows.map((_, place) => this.#column(place, most, named[place])));
    this.#tellActive();
  }

  /** As many names as there is room for, those of stragglers in any case; numbers without their zeros in front. */
  #named(short: readonly string[]): readonly string[] {
    const { model } = this;
    const names = short.every((name) => /^\d+$/.test(name)) ? short.map((name) => String(Number(name))) : short;
    const longest = names.reduce((most, name) => Math.max(most, name.length), 1) * CHARACTER_PX + NAME_GAP_PX;
    const pitch = Math.min(MOST_PX, this.#list.clientWidth / Math.max(1, names.length));
    const every = pitch > 0 ? Math.max(1, Math.ceil(Math.min(longest, LONGEST_PX) / pitch)) : 1;
    const held = new Set(model.rows.flatMap(({ host }, place) => (model.stragglerOf(host) ? [place] : [])));
    const isNear = (place: number) => [...held].some((other) => other !== place && Math.abs(other - place) < every);
    return names.map((name, place) => (held.has(place) || (place % every === 0 && !isNear(place)) ? name : ""));
  }

  /** Hairlines of the scale, and the median of the own times, which a straggler rises above. */
  #lines(most: number): HTMLElement[] {
    const at = (ms: number, text: string, kind = "") => {
      const line = h("div", { class: `line ${kind}` }, h("span", {}, text));
      line.style.bottom = `${(ms / most) * 100}%`;
      return line;
    };
    const ticks = niceTicks(most, 4).filter((ms) => ms < most);
    const lines = ticks.map((ms) => at(ms, ms === 0 ? "0 ms" : formatNumber(ms, 6).replace(/\.?0+$/, "")));
    const own = this.model.rows.filter(({ host }) => this.model.isWorker(host)).map(({ ownMs }) => ownMs);
    if (this.model.hasOwn && own.length > 1) {
      const medianMs = median(own);
      lines.push(at(medianMs, `median own work ${formatMs(medianMs)}`, "median"));
    }
    return [h("div", { class: "plot" }, ...lines)];
  }

  #column(place: number, most: number, name: string): HTMLElement {
    const { model } = this;
    const { stack, categories, hosts, roles, what, view } = model;
    const row = model.rows[place];
    const held = model.stragglerOf(row.host);
    const { title, lines } = card(row, hosts[row.host], categories, what, { role: roles[row.host], held });
    const pieces = stack.map((c) => {
      const piece = h("i");
      piece.style.height = `${(row.parts[c] / most) * 100}%`;
      piece.style.background = `var(--c-${categories[c]})`;
      return piece;
    });
    const mark = held ? h("b", { class: "mark", "data-text": `+${formatNumber(held.excess_ms)}` }) : null;
    const isChosen = view.link.host === hosts[row.host];
    return h(
      "div",
      {
        role: "option",
        id: this.#id(place),
        class: `col${held ? " held" : ""}`,
        "data-host": row.host,
        "aria-selected": String(isChosen),
        "aria-label": [title, ...lines].join(", "),
      },
      // Short texts come from the style sheet: the label has the whole ones.
      h("div", { class: "stack" }, ...pieces, mark),
      h("div", { class: "name", "data-text": name }),
    );
  }

  /** Ids are of the page, where several charts may be. */
  readonly #prefix = `tfp-host-${Math.random().toString(36).slice(2)}`;
  #id(place: number): string {
    return `${this.#prefix}-${place}`;
  }

  #tellActive(): void {
    this.#list.setAttribute("aria-activedescendant", this.#id(this.#active));
    [...this.#list.children].forEach((column, place) => {
      column.classList.toggle("active", place === this.#active);
    });
  }

  #key(key: string): boolean {
    const { rows, view } = this.model;
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -rows.length, End: rows.length };
    const move = by[key as keyof typeof by];
    if (move !== undefined) {
      this.#active = Math.max(0, Math.min(rows.length - 1, this.#active + move));
      this.#tellActive();
      const column = this.#list.children[this.#active];
      this.onHover(rows[this.#active].host, column.getBoundingClientRect());
    } else if (key === "Enter" || key === " ") this.model.chooseHost(rows[this.#active].host);
    else if (key === "Escape" && view.link.host !== "") view.link.setHost("");
    else return false;
    return true;
  }
}
