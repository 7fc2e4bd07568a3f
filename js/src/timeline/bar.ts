/** The toolbar of the timeline (what is on screen, keys, search, fit) and the list of all keys. */
import { button, h } from "../draw/dom";
import { KEY_HELP } from "./keys";

const kbd = (name: string) => h("kbd", {}, name);

export class Toolbar {
  readonly element: HTMLElement;
  readonly #about = h("span", { class: "q tl-about" });

  constructor(search: HTMLElement, onHelp: () => void, onFit: () => void, signal: AbortSignal) {
    const help = button("?", onHelp, signal, { class: "tl-key", "aria-label": "All keys" });
    const optional = h("span", { class: "opt" });
    optional.append(kbd("F"), " fit selection ", kbd("M"), " mark ", kbd("["), " ", kbd("]"), " same op ");
    const keys = h("span", { class: "keys" });
    keys.append(kbd("W"), " ", kbd("S"), " zoom ", kbd("A"), " ", kbd("D"), " pan ", optional);
    keys.append(help, " all ", kbd("Esc"), " leave");
    const fit = button("Fit", onFit, signal, { title: "Show the whole capture" });
    const space = h("span", { class: "sp" });
    this.element = h("div", { class: "bar" }, h("b", {}, "Timeline"), this.#about, space, keys, search, fit);
  }

  /** Says what is on screen; `problem` is on hover. */
  say(text: string, problem: string) {
    if (this.#about.textContent !== text) this.#about.textContent = text;
    this.#about.title = problem;
  }
}

/** The list of all keys over the tracks. */
export class Help {
  readonly element = h("div", { class: "tl-help", role: "dialog", "aria-label": "Keys of the timeline" });
  readonly #close: HTMLButtonElement;

  constructor(
    readonly onClose: () => void,
    signal: AbortSignal,
  ) {
    const rows = KEY_HELP.flatMap(([keys, what]) => [kbd(keys), h("span", {}, what)]);
    this.#close = button("Close", () => this.toggle(), signal);
    const title = h("b", {}, "Keys, while the timeline has the focus");
    this.element.append(title, h("div", { class: "tl-keys" }, ...rows), this.#close);
    this.element.hidden = true;
  }

  get isOpen() {
    return !this.element.hidden;
  }

  toggle() {
    this.element.hidden = !this.element.hidden;
    if (this.isOpen) this.#close.focus({ preventScroll: true });
    else this.onClose();
  }
}
