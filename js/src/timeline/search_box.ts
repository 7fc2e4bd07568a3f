/** Turns the search field into found slices: text or regular expression, "3 of 40", next and previous. */
import { formatCount } from "../core/format";
import { neighbour } from "../core/search";
import { button, h } from "../draw/dom";
import type { TimelineState } from "./state";

const WAIT_MS = 120;

export class SearchBox {
  readonly element: HTMLElement;
  readonly #input: HTMLInputElement;
  readonly #regex: HTMLButtonElement;
  readonly #count: HTMLElement;
  readonly #walk: HTMLElement;
  #place = -1;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly state: TimelineState,
    readonly onLeave: () => void,
    signal: AbortSignal,
  ) {
    this.#input = h("input", {
      type: "text",
      class: "tl-search",
      placeholder: "Find a slice  /",
      "aria-label": "Find slices by name",
      spellcheck: "false",
    });
    this.#regex = button(".*", () => this.#flipRegex(), signal, {
      "aria-pressed": "false",
      title: "Regular expression",
      "aria-label": "Regular expression",
      class: "tl-regex",
    });
    this.#count = h("span", { class: "q tl-count", role: "status" });
    const previous = button("◂", () => this.go(-1), signal, {
      "aria-label": "Previous match",
      title: "Previous match",
    });
    const next = button("▸", () => this.go(1), signal, { "aria-label": "Next match", title: "Next match" });
    this.#walk = h("span", { class: "tl-walk" }, this.#count, previous, next);
    this.#walk.hidden = true;
    this.element = h("span", { class: "tl-find", role: "search" }, this.#walk, this.#input, this.#regex);
    this.#input.addEventListener("input", () => this.#later(), { signal });
    this.#input.addEventListener("keydown", (event) => this.#onKey(event), { signal });
    signal.addEventListener("abort", () => clearTimeout(this.#timer), { once: true });
  }

  focus() {
    this.#input.focus();
    this.#input.select();
  }

  /** Forgets the search; false when there was none. */
  clear(): boolean {
    if (this.#input.value === "") return false;
    this.#input.value = "";
    this.#search();
    return true;
  }

  /** After new data: the same search over all of it. */
  refresh() {
    if (this.#input.value !== "") this.#search();
  }

  /** Selects the next (1) or previous (-1) match and brings it into the window. */
  go(direction: 1 | -1) {
    const { state } = this;
    clearTimeout(this.#timer);
    if (this.#timer !== undefined) this.#search();
    if (state.found.length === 0) return;
    this.#place = neighbour(state.events, state.found, state.focus, direction, state.view.t0);
    const event = state.found[this.#place];
    state.select(event);
    state.show(event);
    this.#say();
  }

  #onKey(event: KeyboardEvent) {
    event.stopPropagation();
    if (event.key === "Enter") this.go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      if (!this.clear()) this.onLeave();
    } else return;
    event.preventDefault();
  }

  #flipRegex() {
    this.#regex.setAttribute("aria-pressed", String(this.#regex.getAttribute("aria-pressed") !== "true"));
    this.#search();
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#search(), WAIT_MS);
  }

  #search() {
    this.#timer = undefined;
    this.#place = -1;
    const isRegex = this.#regex.getAttribute("aria-pressed") === "true";
    const text = this.#input.value;
    this.#walk.hidden = text === "";
    try {
      this.state.search({ text, isRegex });
      this.#input.removeAttribute("aria-invalid");
      this.#say();
    } catch (error) {
      this.state.search({ text: "", isRegex: false });
      this.#input.setAttribute("aria-invalid", "true");
      this.#count.textContent = "not a regular expression";
      this.#count.title = String(error);
    }
  }

  #say() {
    const n = this.state.found.length;
    this.#count.title = "";
    this.#count.textContent =
      n === 0 ? "no match" : this.#place < 0 ? formatCount(n) : `${formatCount(this.#place + 1)} of ${formatCount(n)}`;
  }
}
