/** A host that the kernel opens in full -> its dashboard in place of that of all hosts, and the way back. */

import type { AnyModel } from "../../host/afm";
import { atEnd, within } from "../../host/failures";
import { hostsOf, shortHost } from "../../model/hosts/hosts";
import { renderChild } from "../../ui/child";
import { button, h } from "../../ui/dom";
import { openCode } from "../../ui/host_bar";
import type { TraceView } from "../../ui/view";

/** From then on it is said that reading takes a while. */
const SLOW_MS = 3000;

export class OpenedHost {
  /** The dashboard of the host, with its bar. */
  readonly element = h("div", { hidden: true });
  /** What becomes of the request to open one. */
  readonly say = h("div.tfp-opening", { role: "status", hidden: true });
  #drawn: AbortController | null = null;
  #asked: AbortController | null = null;
  #ref: unknown = null;

  constructor(
    readonly view: TraceView,
    /** What the host's dashboard stands in place of. */
    readonly place: HTMLElement,
  ) {
    const { model, signal, guard } = view;
    const update = guard(() => this.#update());
    model.on("change:opened", update);
    atEnd(signal, () => model.off("change:opened", update));
    this.#update();
  }

  /** Has the kernel read a host. Its answer is the dashboard, however long that takes. */
  async open(host: string): Promise<void> {
    this.#asked?.abort();
    const asked = within(this.view.signal);
    this.#asked = asked;
    const say = (...words: (string | HTMLElement)[]) => {
      this.say.hidden = false;
      this.say.replaceChildren(...words);
    };
    say(h("progress", { "aria-label": `Reading ${this.#short(host)}` }), ` Reading ${this.#short(host)} …`);
    const slow = setTimeout(() => {
      const reading = h("progress", { "aria-label": `Reading ${this.#short(host)}` });
      say(
        reading,
        ` Reading ${this.#short(host)} … The kernel answers when it is free. `,
        ...this.#code(host, asked.signal),
      );
    }, SLOW_MS);
    try {
      await this.view.data.call("open_host", { host }, asked.signal);
      if (!asked.signal.aborted) this.say.hidden = true;
    } catch (error) {
      if (asked.signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      const words = h("span", { role: "alert" }, `${this.#short(host)} could not be opened: ${reason} `);
      say(words, ...this.#code(host, asked.signal));
    } finally {
      clearTimeout(slow);
    }
  }

  #short(host: string): string {
    return shortHost(host, hostsOf(this.view.data.meta));
  }

  #code(host: string, signal: AbortSignal): HTMLElement[] {
    return openCode(host, signal);
  }

  #update(): void {
    const { model } = this.view;
    const ref = model.get("opened") ?? null;
    if (ref === this.#ref) return;
    this.#ref = ref;
    this.#drawn?.abort();
    this.element.replaceChildren();
    this.element.hidden = ref === null;
    this.place.hidden = ref !== null;
    if (ref === null) return;
    this.#drawn = within(this.view.signal);
    this.say.hidden = true;
    void this.#show(model, this.#drawn.signal);
  }

  async #show(model: AnyModel, signal: AbortSignal): Promise<void> {
    const close = () => {
      model.set("opened", null);
      model.save_changes();
    };
    const title = h("b", await this.#title());
    if (signal.aborted) return;
    const back = button("Back to all hosts", close, signal);
    const bar = h("div.tfp-host-bar", { role: "region", "aria-label": "Opened host" }, title, back);
    const place = h("div");
    this.element.append(bar, place);
    back.focus({ preventScroll: true });
    await renderChild({ ...this.view, signal }, "opened", place);
  }

  /** The dashboard of a host has its name for a title. */
  async #title(): Promise<string> {
    const { host, signal } = this.view;
    try {
      const opened = await host.getModel(String(this.#ref), { signal });
      const { title } = JSON.parse(String(opened.get("options") ?? "{}")) as { title?: unknown };
      return typeof title === "string" ? title : "";
    } catch {
      return "";
    }
  }
}
