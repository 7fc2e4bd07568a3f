/** A panel that opens beside a button: one at a time, closed by Esc, by a press elsewhere or by its button; focus goes back. */
import { type Child, h, on, setAria } from "../../ui/dom";

/** What can have the focus; in a panel with a field to begin with, that. */
const FIRST = "[data-first], button:not(:disabled), input, select, textarea";

export class Popover {
  readonly element = h("div.tl-pop");
  #opener: HTMLElement | null = null;
  #key = "";

  /** `home`: what the panel lies in and is measured against. */
  constructor(
    readonly home: HTMLElement,
    signal: AbortSignal,
  ) {
    this.element.hidden = true;
    home.append(this.element);
    on(this.element, signal, {
      keydown: (event) => this.#onKey(event),
      focusout: (event) => this.#onLeave(event),
    });
    on(home.ownerDocument, signal, { pointerdown: (event) => this.#onPress(event) }, { capture: true });
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Which panel is open, "" for none. */
  get key() {
    return this.isOpen ? this.#key : "";
  }

  /** Opens with `content` at the element, or at a place in it; a second call from the same opener closes. */
  toggle(key: string, opener: HTMLElement, label: string, role: "dialog" | "menu", ...content: Child[]) {
    if (this.isOpen && this.#key === key && this.#opener === opener) {
      this.close();
      return;
    }
    this.#key = key;
    if (this.#opener) setAria(this.#opener, "expanded", false);
    this.#opener = opener;
    setAria(opener, "expanded", true);
    this.element.setAttribute("role", role);
    this.element.setAttribute("aria-label", label);
    this.fill(...content);
    this.element.hidden = false;
    this.#place(opener);
    this.focus();
  }

  /** Replaces what is inside; a focus inside stays there, on the element of the same `data-key` if there is one. */
  fill(...content: Child[]) {
    const focused = document.activeElement as HTMLElement | null;
    const isInside = focused !== null && this.element.contains(focused);
    const key = focused?.dataset.key;
    this.element.replaceChildren(...content.filter((child): child is Node | string => Boolean(child)));
    if (isInside) this.focus(key);
  }

  /** The element with this `data-key`, else the first one. */
  focus(key = "") {
    const keyed = [...this.element.querySelectorAll<HTMLElement>("[data-key]")];
    const same = key ? keyed.find((element) => element.dataset.key === key) : undefined;
    (same ?? this.element.querySelector<HTMLElement>(FIRST))?.focus({ preventScroll: true });
  }

  close(isFocusBack = true) {
    if (!this.isOpen) return;
    this.element.hidden = true;
    if (this.#opener) setAria(this.#opener, "expanded", false);
    if (isFocusBack) this.#opener?.focus({ preventScroll: true });
    this.#opener = null;
  }

  #place(opener: HTMLElement) {
    const home = this.home.getBoundingClientRect();
    const box = opener.getBoundingClientRect();
    const own = this.element.getBoundingClientRect();
    const left = Math.max(0, Math.min(box.left - home.left, home.width - own.width - 4));
    const below = box.bottom - home.top + 2;
    const above = box.top - home.top - own.height - 2;
    const isTooLow = below + own.height > home.height && above >= 0;
    this.element.style.left = `${left}px`;
    this.element.style.top = `${isTooLow ? above : below}px`;
    this.element.style.maxHeight = `${Math.max(120, home.height - (isTooLow ? 0 : below) - 4)}px`;
  }

  #onKey(event: KeyboardEvent) {
    if (event.key === "Escape") this.close();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (event.target instanceof HTMLTextAreaElement || !this.#walk(event.key === "ArrowDown" ? 1 : -1)) return;
    } else {
      // Keys of the timeline do not act on what lies under an open panel.
      event.stopPropagation();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #walk(direction: 1 | -1): boolean {
    const items = [...this.element.querySelectorAll<HTMLElement>("button:not(:disabled), input, select")];
    const at = items.indexOf(document.activeElement as HTMLElement);
    items[(at + direction + items.length) % items.length]?.focus();
    return items.length > 0;
  }

  /** In an isolated or shadow tree the target is the host, so the path says where the press was. */
  #onPress(event: Event) {
    if (!this.isOpen) return;
    const path = event.composedPath();
    if (!path.includes(this.element) && !(this.#opener && path.includes(this.#opener))) this.close(false);
  }

  #onLeave(event: FocusEvent) {
    const to = event.relatedTarget;
    if (to instanceof Node && !this.element.contains(to) && to !== this.#opener) this.close(false);
  }
}
