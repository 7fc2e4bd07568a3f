/** What is known of a training while it runs -> how its steps do, what stood out, and the windows that were profiled. */

import { atEnd } from "../../host/failures";
import { emptyState, h } from "../../ui/dom";
import { inFrame } from "../../ui/page";
import type { View, ViewBuilder } from "../../ui/view";
import { Answers } from "./answers";
import { drawCards } from "./cards";
import { LiveChart } from "./chart";
import { Head } from "./head";
import { Heard } from "./heard";
import { type LiveState, readState } from "./payload";
import { Windows } from "./windows";

const LOOK_MS = 1000;
const TRAITS = ["head", "bins", "samples", "opened"] as const;

class Live {
  readonly #heard = new Heard();
  readonly #head = new Head();
  readonly #notices = h("div");
  readonly #foot = h("p.foot.q.small");
  readonly #body: HTMLElement;
  readonly #empty = h("div.none");
  readonly #chart: LiveChart;
  readonly #cards = h("section.odd", { "aria-label": "Anomalies" });
  readonly #windows: Windows;
  readonly #answers: Answers;
  #state: LiveState;

  readonly #toggle = (index: number) => this.#windows.toggle(index);

  constructor(readonly view: View) {
    const { signal, root, model, guard } = view;
    this.#chart = new LiveChart(view, this.#toggle);
    this.#windows = new Windows(view, () => this.#chart.show(this.#state, this.#windows.opened));
    const steps = h(
      "section.steps",
      { "aria-label": "Steps" },
      h("div.bar", h("b", "Every step"), this.#head.legend),
      this.#chart.element,
    );
    this.#body = h("div.body", steps, this.#cards);
    root.append(
      this.#notices,
      this.#head.element,
      this.#empty,
      this.#body,
      this.#windows.element,
      this.#foot,
      this.#windows.place,
    );
    this.#state = readState(model);
    this.#answers = new Answers(
      model,
      guard(() => this.#showWindows()),
      signal,
    );
    const update = inFrame(() => this.#read(), signal);
    const hear = guard(() => {
      this.#heard.note();
      update();
    });
    for (const trait of TRAITS) model.on(`change:${trait}`, hear);
    const look = setInterval(
      guard(() => this.#look()),
      LOOK_MS,
    );
    atEnd(signal, () => {
      clearInterval(look);
      for (const trait of TRAITS) model.off(`change:${trait}`, hear);
    });
    this.#show();
  }

  #read(): void {
    this.#state = readState(this.view.model);
    this.#show();
  }

  #show(): void {
    const { head, run } = this.#state;
    const isEmpty = run.nSteps === 0;
    this.#tellNone(isEmpty && head.is_recorded ? head.state : "");
    this.#body.hidden = isEmpty;
    this.#head.show(this.#state);
    this.#say();
    this.#notices.replaceChildren(...head.notices.map((text) => h("div.note", text)));
    drawCards(this.#cards, head, this.#toggle, this.view.signal);
    this.#showWindows();
    if (!isEmpty) this.#chart.show(this.#state, this.#windows.opened);
    this.#foot.textContent = [head.n_kept_text, head.file && `steps are kept in ${head.file}`]
      .filter(Boolean)
      .join(" · ");
  }

  /** Say why there is no step, anew only when that is another reason: a reader of the screen hears it each time. */
  #tellNone(state: string): void {
    if (this.#empty.dataset.state === state) return;
    this.#empty.dataset.state = state;
    const [title, reason] =
      state === "running"
        ? [
            "Waiting for the first step",
            "It shows here as soon as it has ended; the first one also traces and compiles, which may take minutes.",
          ]
        : ["No step of training was told", "So nothing is known of it."];
    const own = `${reason} Keras' fit tells its steps; in a loop of your own wrap what it loops over:`;
    const code = "for batch in tfprof.trace_steps(dataset):";
    this.#empty.replaceChildren(...(state ? [emptyState(title, own, code, this.view.signal)] : []));
  }

  #showWindows(): void {
    const { head } = this.#state;
    this.#askWhetherHeard();
    this.#windows.show({ ...head, can_ask: head.can_ask && this.#answers.isHeard });
  }

  /** Runs each second. */
  #look(): void {
    this.#say();
    this.#askWhetherHeard();
  }

  #askWhetherHeard(): void {
    if (this.#state.head.can_ask) this.#answers.ask(performance.now());
  }

  #say(): void {
    this.#head.say(this.#state.head, this.#heard.words(this.#state.head));
  }
}

export const live: ViewBuilder = {
  name: "live",
  build(view) {
    new Live(view);
  },
};
