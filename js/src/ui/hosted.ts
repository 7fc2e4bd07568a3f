/** A view of one trace -> the same view of the linked host: it follows, is built anew, or says that this host has none of it. */

import { within } from "../host/failures";
import { OneHost } from "../host/one_host";
import { hostsOf, shortHost } from "../model/hosts/hosts";
import { button, emptyState, h } from "./dom";
import { keptControls } from "./kept_controls";
import { sayWhatIsMissing } from "./missing";
import type { OfHost } from "./of_host";
import type { Needs, TraceView } from "./view";

const NO_RANGE =
  "A reduced profile has no op times of a range; those without one are shown here. Open a host in full for a range.";

export class Hosted {
  readonly #one: OneHost;
  readonly #of: OfHost;
  readonly #note = h("div.tfp-left-out", { role: "note" });
  #built: AbortController | null = null;
  #isEmpty = false;

  constructor(
    readonly view: TraceView,
    readonly build: (view: TraceView) => void | Promise<void>,
    readonly needs: Needs & { readonly ofHost: OfHost },
  ) {
    const { link, data, signal } = view;
    this.#of = needs.ofHost;
    const ignoresRange = () => this.#of.needsExecutions === true && data.meta.is_reduced === true;
    this.#one = new OneHost(link, data, ignoresRange);
    link.on("host", () => this.#follow(), signal);
    link.on("time_range", () => this.#say(), signal);
    data.onTables(() => this.#one.tell(), signal, ["host_totals"]);
  }

  async start(): Promise<void> {
    if (this.view.signal.aborted) return;
    const built = within(this.view.signal);
    this.#built = built;
    const one = this.#one;
    const view: TraceView = {
      ...this.view,
      link: one.link,
      data: one.data,
      whole: { link: this.view.link, data: this.view.data },
      signal: built.signal,
      // What was built for another host must not draw.
      onTheme: (listener) => this.view.onTheme(() => !built.signal.aborted && listener()),
    };
    this.#isEmpty = this.#hasNone();
    if (this.#isEmpty) this.view.root.append(this.#emptyState());
    else {
      await this.build(view);
      if (built.signal.aborted) return;
      sayWhatIsMissing(view, this.needs);
    }
    this.#say();
  }

  #follow(): void {
    const last = this.#one.name;
    void this.view.data.ready(["host_totals"]);
    this.#one.choose();
    if (this.#one.name === last) return;
    if (this.#of.follows && !this.#isEmpty && !this.#hasNone()) {
      this.#one.tell();
      this.#say();
    } else void this.#rebuild();
  }

  async #rebuild(): Promise<void> {
    const { root } = this.view;
    this.#built?.abort();
    const keep = keptControls(root);
    // The page must not jump.
    root.style.minHeight = `${root.offsetHeight}px`;
    root.replaceChildren();
    try {
      await this.start();
      keep(root);
    } catch (error) {
      this.view.fail(error);
    } finally {
      root.style.minHeight = "";
    }
  }

  #hasNone(): boolean {
    const { isEmpty } = this.#of;
    return isEmpty !== undefined && this.#one.name !== "" && isEmpty(this.#one.data) && !isEmpty(this.view.data);
  }

  #emptyState(): HTMLElement {
    const { signal, link } = this.view;
    const box = emptyState(
      `${shortHost(this.#one.name, hostsOf(this.view.data.meta))} ${this.#of.emptyWords ?? "has nothing to show here"}`,
      "Other hosts did. Choose another one, or all of them.",
      "",
      signal,
    );
    box.append(
      h(
        "p",
        button("All hosts", () => link.setHost(""), signal),
      ),
    );
    return box;
  }

  /** What the figures are not of, above the view. */
  #say(): void {
    const { root, link, data } = this.view;
    const isRanged = this.#of.needsExecutions === true && data.meta.is_reduced === true && link.timeRange !== null;
    const ofAll = this.#one.name !== "" && !this.#isEmpty ? (this.#of.ofAll?.(this.#one.data) ?? "") : "";
    const words = [isRanged ? NO_RANGE : "", ofAll].filter(Boolean).join(" ");
    this.#note.textContent = words;
    if (words === "") this.#note.remove();
    else if (!this.#note.isConnected) root.prepend(this.#note);
  }
}
