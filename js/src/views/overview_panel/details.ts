/** What the overview knows beyond its header -> a button, and the facts in a box below it. */

import { overviewFacts } from "../../model/overview/overview_facts";
import { button, h, on, onKeys, setAria } from "../../ui/dom";
import { labelList, labelled } from "../../ui/label_list";
import type { TraceView } from "../../ui/view";

export class Details {
  readonly element = h("span.tfp-more");
  readonly #button: HTMLButtonElement;
  readonly #box: HTMLElement;

  constructor(view: TraceView, label: string) {
    const { signal } = view;
    const id = `tfp-more-${Math.random().toString(36).slice(2)}`;
    this.#button = button(`${label} ▾`, () => this.#show(this.#box.hidden === true), signal, {
      "aria-expanded": "false",
      "aria-controls": id,
      title: "The machine, the capture and more figures",
    });
    this.#box = h("div.tfp-facts", { id, role: "region", "aria-label": "Details", hidden: true });
    for (const { title, facts, notes } of overviewFacts(view.data.meta)) {
      const rows = facts.map(({ name, value, hint }) => labelled(name, [value], { title: hint }));
      const said = notes.map((note) => h("p", note));
      this.#box.append(
        h("section", h("h3", title), rows.length > 0 && labelList("tfp-fact-list", title, ...rows), ...said),
      );
    }
    this.element.append(this.#button, this.#box);
    const close = (event: Event) => {
      if (!event.composedPath().includes(this.element)) this.#show(false);
    };
    on(document, signal, { pointerdown: close });
    onKeys(this.element, signal, ({ key }) => this.#key(key));
  }

  #show(isShown: boolean): void {
    this.#box.hidden = !isShown;
    setAria(this.#button, "expanded", isShown);
  }

  #key(key: string): boolean {
    if (key !== "Escape" || this.#box.hidden) return false;
    this.#show(false);
    this.#button.focus();
    return true;
  }
}
