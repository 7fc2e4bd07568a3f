/** The windows of a training that were profiled -> a row of them, how to get another, and the dashboard of the opened one. */

import { within } from "../../host/failures";
import { renderWidget } from "../../ui/child";
import { button, copyButton, h } from "../../ui/dom";
import type { View } from "../../ui/view";
import type { LiveHead, ProfileWindow } from "./payload";
import { renew } from "./renew";
import { windowTitle, windowWords } from "./words";

const N_ASKED = 10;

export class Windows {
  readonly element = h("section.windows", { "aria-label": "Profiled windows" });
  /** Where the dashboard of the opened window is. */
  readonly place = h("div.opened", { hidden: true });
  /** The number of the window that is opened. */
  opened: number | null = null;
  readonly #chips = h("span");
  readonly #next = h("span");
  readonly #asked = h("span.q", { role: "status" });
  #head: LiveHead | null = null;
  #ref: unknown = null;
  #drawn: AbortController | null = null;

  constructor(
    readonly view: View,
    /** After another window is opened, or none. */
    readonly onOpened: () => void,
  ) {
    this.element.append(h("b", "Profiled"), this.#chips, this.#next, this.#asked);
  }

  show(head: LiveHead): void {
    const { windows, state, trigger_file, can_ask, budget } = head;
    const isOn = state === "running";
    if (windows.length !== this.#head?.windows.length) this.#asked.textContent = "";
    this.#head = head;
    this.element.hidden = windows.length === 0 && !(isOn && (trigger_file || can_ask));
    renew(this.#chips, [windows, this.opened], () =>
      windows.length > 0 ? windows.map((one) => this.#chip(one)) : [h("span.q", "no window yet")],
    );
    renew(this.#next, [isOn, trigger_file, can_ask, budget], () => (isOn ? this.#ways(head) : []));
    if (this.opened !== null && this.#refOf(this.opened) !== this.#ref) this.#draw();
  }

  /** Opens a window in place, or closes it where it is open. */
  toggle(index: number): void {
    const isReady = this.#head?.windows.some((one) => one.index === index && one.state === "ready");
    this.opened = this.opened === index || !isReady ? null : index;
    this.#draw();
    if (this.#head) this.show(this.#head);
    this.onOpened();
  }

  #chip(one: ProfileWindow): HTMLElement {
    const { index, state } = one;
    const words = windowWords(one);
    const says = { "data-key": index, disabled: state !== "ready", title: words };
    const isOpen = state === "ready" && String(index === this.opened);
    const rest = { class: "chip", "aria-expanded": isOpen };
    return button(
      windowTitle(one),
      () => this.toggle(index),
      this.view.signal,
      { ...says, ...rest },
      h("span.q", words),
    );
  }

  /** How to have the next steps profiled. */
  #ways({ trigger_file, can_ask, budget }: LiveHead): HTMLElement[] {
    const { signal, model } = this.view;
    const ask = () => {
      model.send({ kind: "capture", n: N_ASKED });
      this.#asked.textContent = "asked for";
    };
    // As a shell takes any path.
    const command = `touch '${trigger_file.replaceAll("'", "'\\''")}'`;
    const byFile = () => [
      h("span.q", "To profile the next steps:"),
      h("code.cut", { title: command }, command),
      copyButton("Copy", () => command, signal),
    ];
    return [
      h("span.q", budget),
      ...(can_ask ? [button(`Profile the next ${N_ASKED} steps`, ask, signal)] : []),
      ...(trigger_file ? byFile() : []),
    ];
  }

  #refOf(index: number | null): unknown {
    const ready = this.#head?.windows.filter(({ state }) => state === "ready") ?? [];
    const opened = this.view.model.get("opened");
    return (Array.isArray(opened) && opened[ready.findIndex((one) => one.index === index)]) || null;
  }

  #draw(): void {
    this.#drawn?.abort();
    this.place.replaceChildren();
    const { opened: index, view } = this;
    const shown = this.#head?.windows.find((one) => one.index === index);
    this.place.hidden = shown === undefined;
    this.#ref = this.#refOf(index);
    if (shown === undefined || index === null) return;
    this.#drawn = within(view.signal);
    const { signal } = this.#drawn;
    const close = button("Close", () => this.toggle(index), signal);
    const bar = h(
      "div.tfp-host-bar",
      { role: "region", "aria-label": "Opened window" },
      h("b", windowTitle(shown)),
      close,
    );
    const place = h("div");
    this.place.append(bar, place);
    if (this.#ref === null)
      place.textContent = "Its dashboard is not here: a page that was exported holds the steps alone.";
    else void renderWidget({ host: view.host, signal }, this.#ref, "window", place);
    bar.scrollIntoView?.({ block: "nearest" });
  }
}
