/** The linked host -> a bar above the views: the box to choose it, what it is, and how to see it in full. */

import type { TraceData } from "../host/data";
import type { Link } from "../host/link";
import { HostTables } from "../model/hosts/host_tables";
import { hostsOf, pythonText, roleOf, shortHost } from "../model/hosts/hosts";
import { plural } from "../model/text/format";
import { EMPTY_TABLE } from "../model/wire/wire";
import { button, copyButton, h } from "./dom";
import { HostSelect } from "./host_select";

export interface HostBarOptions {
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

  /** "worker · 12 of 96 steps". */
  #words(host: string): string {
    const { data } = this.options;
    const { meta } = data;
    const steps = data.table("steps") ?? EMPTY_TABLE;
    const own = steps.n > 0 ? new HostTables(meta, data.table, host).stepRows().length : 0;
    const n = own < steps.n ? `${own.toLocaleString("en-US")} of ${plural(steps.n, "step")}` : plural(own, "step");
    return [roleOf(meta, hostsOf(meta).indexOf(host)), steps.n > 0 ? n : ""].filter(Boolean).join(" · ");
  }

  #showFull(host: string): void {
    const { data, onOpen, signal } = this.options;
    if (host === "" || !data.meta.is_reduced) {
      this.#full.replaceChildren();
      return;
    }
    if (onOpen && !data.isOffline) {
      const title = "Reads this host's file as a whole: every event, every execution, all memory";
      this.#full.replaceChildren(
        button(`Open ${shortHost(host, hostsOf(data.meta))} in full`, () => onOpen(host), signal, { title }),
      );
    } else this.#full.replaceChildren(...openCode(host, signal));
  }
}

/** Where no kernel answers: what to run. */
export function openCode(host: string, signal: AbortSignal): HTMLElement[] {
  const code = `prof.host(${pythonText(host)})`;
  return [h("span", "In full: "), h("code", { title: code }, code), copyButton("Copy", () => code, signal)];
}
