/** The timelines of both runs -> beside each other on one time scale: what is panned or zoomed in one moves the other. */

import { SHOW_WINDOW, SharedWindow, type ShownWindow, WINDOW_SHOWN } from "../../model/time/shared_window";
import { renderChild } from "../../ui/child";
import { button, h } from "../../ui/dom";
import type { View } from "../../ui/view";
import type { DiffContent } from "./payload";
import { runBadge } from "./words";

const TRAITS = ["timeline_a", "timeline_b"] as const;
/** Of what is shown at first, before the moments at which the runs are aligned, and behind it. */
const MARGIN = 0.03;

export class Timelines {
  readonly element: HTMLElement;
  readonly #places: readonly HTMLElement[];
  readonly #window: SharedWindow;

  constructor(
    readonly view: View,
    readonly content: DiffContent,
  ) {
    const { start_ps, span_ps } = content.alignment;
    const pad = content.is_per_step ? span_ps * MARGIN : 0;
    this.#places = TRAITS.map(() => h("div.place"));
    this.#window = new SharedWindow(start_ps, { t0: -pad, t1: span_ps + pad }, (run, wanted) => {
      const root = this.#places[run].querySelector('[data-tfprof="timeline"]');
      root?.dispatchEvent(new CustomEvent(SHOW_WINDOW, { detail: wanted }));
    });
    this.#places.forEach((place, run) => {
      place.addEventListener(
        WINDOW_SHOWN,
        (event) => {
          event.stopPropagation();
          this.#window.told(run, (event as CustomEvent<ShownWindow>).detail);
        },
        { signal: view.signal },
      );
    });
    const runs = this.#places.map((place, run) => h("div.run", this.#title(run as 0 | 1), place));
    this.element = h(
      "section.tfp-diff-lines",
      { "aria-label": "Timelines of both runs" },
      this.#head(),
      h("div.runs", ...runs),
    );
  }

  /** Draws both; one that fails says so in its place. */
  async draw(): Promise<void> {
    await Promise.all(this.#places.map((place, run) => this.#draw(place, run)));
  }

  async #draw(place: HTMLElement, run: number): Promise<void> {
    if (this.view.model.get(TRAITS[run])) await renderChild(this.view, TRAITS[run], place);
    else place.append(h("div.empty", { role: "status" }, h("p", "This run recorded no event: it has no timeline.")));
  }

  #head(): HTMLElement {
    const { step } = this.content.alignment;
    const where =
      step[0] && step[1]
        ? `aligned at the start of step ${step[0]} of a and step ${step[1]} of b`
        : "aligned at the start of the captures";
    const reset = button("Align again", () => this.#window.reset(), this.view.signal, {
      title: "Back to the steps at which the comparison began",
    });
    return h(
      "div.bar",
      h("b", "Timelines"),
      h("span.q", `one time scale, ${where}; pan or zoom one and the other follows`),
      h("span.sp"),
      reset,
    );
  }

  #title(run: 0 | 1): HTMLElement {
    const title = this.content.titles[run];
    return h("div.name", { title }, runBadge(run), h("span", title));
  }
}
