/** The bar above the views in which the reader chooses a host. */

import { numbers } from "../data/columns";
import type { Link } from "../data/link";
import { EMPTY_TABLE } from "../data/pack";
import type { TraceData } from "../data/store";
import { findHosts, hostCuts, hostsOf, pythonText, roleOf, shortHost } from "../model/hosts";
import { formatCount, plural } from "../model/text";
import { button, copyButton, h, on, setAria, textFits, unspoken } from "./dom";

/** Of more hosts than this the list has only the first; typing finds the others. */
const MOST_OPTIONS = 100;
/** Room for a name in the box and in the list, as the style sheet has it. */
const NAME_PX = 180;
const LIST_NAME_PX = 230;
const PAGE_KEYS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };

interface HostChoice {
  readonly hosts: readonly string[];
  /** For each its role, "" unknown. */
  readonly roles: readonly string[];
  /** The chosen host, "" for all. */
  readonly chosen: () => string;
  readonly onChoose: (host: string) => void;
}

class HostSelect {
  readonly element: HTMLElement;
  readonly #input: HTMLInputElement;
  readonly #box: HTMLElement;
  readonly #list: HTMLElement;
  readonly #count = h("div.n", { role: "status" });
  /** Rows of the hosts in the list; -1 is all of them. */
  #rows: readonly number[] = [];
  #active = 0;

  constructor(
    readonly choice: HostChoice,
    signal: AbortSignal,
  ) {
    const id = `tfp-hosts-${Math.random().toString(36).slice(2)}`;
    this.#list = h("ul", { id, role: "listbox", "aria-label": "Hosts" });
    this.#input = h("input", {
      ...{ type: "text", role: "combobox", autocomplete: "off", spellcheck: "false" },
      ...{ "aria-label": "Host", "aria-expanded": "false", "aria-controls": id, "aria-autocomplete": "list" },
      ...{ placeholder: "Type to find a host" },
    });
    this.#box = h("div.tfp-host-list", { hidden: true }, this.#count, this.#list);
    const attributes = { class: "tfp-host-select", "data-lm-suppress-shortcuts": "true" };
    this.element = h("span", attributes, this.#input, unspoken("span.v", "▾"), this.#box);
    this.#listen(signal);
    this.show();
  }

  /** Writes what is chosen, unless the reader is typing. */
  show(): void {
    if (!this.#box.hidden) return;
    const name = this.choice.chosen();
    const all = `All ${plural(this.choice.hosts.length, "host")}`;
    this.#input.value = name === "" ? all : hostCuts([name], this.choice.hosts, textFits(this.element, NAME_PX))(name);
    this.#input.title = name === "" ? "Choose the host that all views are about" : name;
  }

  #listen(signal: AbortSignal): void {
    on(this.#input, signal, {
      focus: () => this.#open(),
      pointerdown: () => this.#open(),
      input: () => this.#find(),
      blur: () => this.#close(),
      keydown: (event) => this.#key(event),
    });
    // The box keeps the focus: a click in the list must not close it first.
    on(this.#box, signal, { pointerdown: (event) => event.preventDefault() });
    on(this.#list, signal, {
      click: (event) => {
        const item = (event.target as Element).closest<HTMLElement>("[role=option]");
        if (item) this.#choose(Number(item.dataset.place));
      },
    });
  }

  #open(): void {
    if (!this.#box.hidden) return;
    this.#input.value = "";
    this.#find();
  }

  #close(): void {
    this.#box.hidden = true;
    setAria(this.#input, "expanded", false);
    this.#input.removeAttribute("aria-activedescendant");
    this.show();
  }

  #find(): void {
    this.#box.hidden = false;
    setAria(this.#input, "expanded", true);
    const { hosts, roles, chosen } = this.choice;
    const text = this.#input.value;
    const found = findHosts(hosts, roles, text);
    const shown = found.slice(0, MOST_OPTIONS);
    const isSearch = text.trim() !== "";
    this.#rows = isSearch ? shown : [-1, ...shown];
    this.#active = Math.max(0, isSearch ? 0 : this.#rows.indexOf(hosts.indexOf(chosen())));
    const of = `${formatCount(isSearch ? found.length : hosts.length)} of ${plural(hosts.length, "host")}`;
    const isCut = found.length > shown.length;
    const rest = isCut ? ` · the first ${formatCount(shown.length)} listed, type to find others` : "";
    this.#count.textContent = (isSearch || rest ? of : plural(hosts.length, "host")) + rest;
    const names = shown.map((row) => hosts[row]);
    const cut = hostCuts(names, hosts, textFits(this.element, LIST_NAME_PX));
    const items = this.#rows.map((row, place) => this.#item(row, place, cut));
    this.#list.replaceChildren(...items);
    this.#mark();
  }

  #item(row: number, place: number, cut: (name: string) => string): HTMLElement {
    const { hosts, roles, chosen } = this.choice;
    const name = row < 0 ? "" : hosts[row];
    const text = row < 0 ? `All ${plural(hosts.length, "host")}` : cut(name);
    const attributes = { role: "option", "aria-selected": String(name === chosen()), title: name, "data-place": place };
    const parts = [h("span", text), h("span.q", roles[row] ?? "")];
    return h("li", { id: `${this.#list.id}-${place}`, ...attributes }, ...parts);
  }

  #mark(): void {
    [...this.#list.children].forEach((item, place) => {
      item.classList.toggle("active", place === this.#active);
    });
    const active = this.#list.children[this.#active];
    if (active) this.#input.setAttribute("aria-activedescendant", active.id);
    else this.#input.removeAttribute("aria-activedescendant");
    active?.scrollIntoView?.({ block: "nearest" });
  }

  #choose(place: number): void {
    const row = this.#rows[place];
    if (row === undefined) return;
    this.#close();
    this.choice.onChoose(row < 0 ? "" : this.choice.hosts[row]);
  }

  #key(event: KeyboardEvent): void {
    const move = PAGE_KEYS[event.key];
    if (move !== undefined) {
      if (this.#box.hidden) this.#open();
      else this.#active = Math.max(0, Math.min(this.#rows.length - 1, this.#active + move));
      this.#mark();
    } else if (event.key === "Enter") {
      if (this.#box.hidden) this.#open();
      else this.#choose(this.#active);
    } else if (event.key === "Escape" && !this.#box.hidden) this.#close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

interface HostBarOptions {
  readonly link: Link;
  readonly data: TraceData;
  readonly signal: AbortSignal;
  /** Opens a host in full, where the page can; the code for it is shown where it cannot. */
  readonly onOpen?: (host: string) => void;
}

export class HostBar {
  readonly element: HTMLElement;
  readonly #select: HostSelect;
  readonly #about = h("span.q", { role: "status" });
  readonly #clear: HTMLButtonElement;
  readonly #full = h("span.tfp-host-full");

  constructor(readonly options: HostBarOptions) {
    const { link, data, signal } = options;
    const hosts = hostsOf(data.meta);
    const choose = (host: string) => link.setHost(host);
    const roles = data.meta.host_roles ?? [];
    this.#select = new HostSelect({ hosts, roles, chosen: () => this.#host, onChoose: choose }, signal);
    this.#clear = button("All hosts", () => choose(""), signal, { title: "Show all hosts again" });
    const label = h("b", "Host");
    this.element = h("div.tfp-host-bar", label, this.#select.element, this.#clear, this.#about, this.#full);
    link.on("host", () => this.#show(), signal);
    data.onTables(() => this.#show(), signal, ["steps"]);
    this.#show();
  }

  /** The linked host, "" where it is none of the trace's. */
  get #host(): string {
    const { link, data } = this.options;
    return hostsOf(data.meta).includes(link.host) ? link.host : "";
  }

  #show(): void {
    const host = this.#host;
    this.#select.show();
    this.#clear.hidden = host === "";
    this.#about.textContent = host === "" ? "" : this.#words(host);
    this.#showFull(host);
  }

  #words(host: string): string {
    const { data } = this.options;
    const { meta } = data;
    const row = hostsOf(meta).indexOf(host);
    const steps = data.table("steps") ?? EMPTY_TABLE;
    const own = Array.from(numbers(steps, "host")).filter((one) => one === row).length;
    const n = own < steps.n ? `${own.toLocaleString("en-US")} of ${plural(steps.n, "step")}` : plural(own, "step");
    return [roleOf(meta, row), steps.n > 0 ? n : ""].filter(Boolean).join(" · ");
  }

  #showFull(host: string): void {
    const { data, onOpen, signal } = this.options;
    let parts: HTMLElement[] = [];
    if (host !== "" && data.meta.is_summed && (!onOpen || data.isOffline)) parts = openCode(host, signal);
    else if (host !== "" && data.meta.is_summed) {
      const title = "Reads this host's file as a whole: every event, every execution, all memory";
      const text = `Open ${shortHost(host, hostsOf(data.meta))} in full`;
      parts = [button(text, () => onOpen?.(host), signal, { title })];
    }
    this.#full.replaceChildren(...parts);
  }
}

/** Where no kernel answers: what to run. */
export function openCode(host: string, signal: AbortSignal): HTMLElement[] {
  const code = `prof.host(${pythonText(host)})`;
  return [h("span", "In full: "), h("code", { title: code }, code), copyButton("Copy", () => code, signal)];
}
