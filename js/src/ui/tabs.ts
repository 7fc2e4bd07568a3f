/** Titles -> tabs and their panels, of which one is shown; arrow keys walk along the tabs. */
import { button, type Child, h, onKeys, setAria } from "./dom";

export interface TabTitle {
  readonly text: string;
  /** Behind the text, such as how many rows there are. */
  readonly note?: Child;
  /** On hover. */
  readonly title?: string;
  /** Not offered, as there is nothing in it, until something chooses it. */
  readonly isHidden?: boolean;
}

export class TabBar {
  /** The bar; more may stand behind the tabs. */
  readonly bar: HTMLElement;
  readonly panels: readonly HTMLElement[];
  readonly #buttons: readonly HTMLButtonElement[];

  constructor(
    label: string,
    titles: readonly TabTitle[],
    readonly onChoose: (index: number) => void,
    signal: AbortSignal,
  ) {
    const id = Math.random().toString(36).slice(2);
    this.#buttons = titles.map(({ text, note, title, isHidden }, i) => {
      const [own, panel] = [`tfp-tab-${id}-${i}`, `tfp-panel-${id}-${i}`];
      const attributes = { role: "tab", id: own, "aria-controls": panel, title, hidden: isHidden };
      const element = button(text, () => this.choose(i), signal, attributes);
      if (note) element.append(h("span.n.tfp-narrow-off", note));
      return element;
    });
    this.panels = titles.map((_, i) =>
      h("section.tfp-panel", {
        role: "tabpanel",
        id: `tfp-panel-${id}-${i}`,
        "aria-labelledby": `tfp-tab-${id}-${i}`,
        hidden: true,
      }),
    );
    const list = h("div", { role: "tablist", "aria-label": label }, ...this.#buttons);
    onKeys(list, signal, (event) => this.#key(event));
    this.bar = h("div.tfp-tabs", list);
  }

  /** Chooses a tab, which from then on is offered. */
  choose(chosen: number): void {
    this.#buttons[chosen].hidden = false;
    this.#buttons.forEach((element, i) => {
      setAria(element, "selected", i === chosen);
      element.tabIndex = i === chosen ? 0 : -1;
      this.panels[i].hidden = i !== chosen;
    });
    this.onChoose(chosen);
  }

  focus(index: number): void {
    this.#buttons[index].focus();
  }

  #key(event: KeyboardEvent): boolean {
    const offered = this.#buttons.filter((element) => !element.hidden);
    const now = offered.indexOf(event.target as HTMLButtonElement);
    const last = offered.length - 1;
    const next = { ArrowRight: now === last ? 0 : now + 1, ArrowLeft: now === 0 ? last : now - 1, Home: 0, End: last }[
      event.key
    ];
    if (now < 0 || next === undefined) return false;
    const index = this.#buttons.indexOf(offered[next]);
    this.choose(index);
    this.focus(index);
    return true;
  }
}
