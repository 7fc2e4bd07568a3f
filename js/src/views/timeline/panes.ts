/** Turns the choice between tracks, flame and table of slices into what fills the place of the tracks. */

import { KEEP_ALL, NOT_KNOWN } from "../../model/time/left_out";
import type { Span } from "../../model/time/viewport";
import { type Choice, h, segmented, setAria } from "../../ui/dom";
import { offerKept } from "../../ui/missing";
import type { TraceView } from "../../ui/view";
import { SlicesPane } from "./aggregate_table";
import { FlamePane } from "./flame";
import type { TimelineState } from "./state";

export type Mode = "tracks" | "flame" | "slices";

const CHOICES: readonly Choice<Mode>[] = [
  { value: "tracks", text: "Tracks" },
  { value: "flame", text: "Flame" },
  { value: "slices", text: "Slices" },
];

export interface Pane {
  readonly element: HTMLElement;
  /** A part of a frame; whether there is more to do. */
  update(): boolean;
  focus(): void;
  forgetColors(): void;
}

export class Panes {
  /** The switch, for the toolbar. */
  readonly element: HTMLElement;
  /** Lies over the tracks while they are not what is shown. */
  readonly place = h("div.tl-place");
  mode: Mode = "tracks";
  /** In place of sums over slices of which some are not here. */
  readonly #why = h("div.tfp-left-out", { role: "note" });
  #missing = "";
  #flame: FlamePane | null = null;
  #slices: SlicesPane | null = null;

  constructor(
    readonly view: TraceView,
    readonly state: TimelineState,
    readonly signal: AbortSignal,
    /** Gives the keys back to the timeline. */
    readonly onTracks: () => void,
  ) {
    this.element = segmented<Mode>(
      "What is shown of the slices",
      CHOICES,
      "tracks",
      (mode) => this.#show(mode),
      signal,
    );
    this.place.hidden = true;
    // The canvas below answers the pointer and the wheel in its own way.
    for (const type of ["pointerdown", "pointermove", "pointerup", "wheel", "click", "dblclick", "contextmenu"]) {
      this.place.addEventListener(type, (event) => event.stopPropagation(), { signal });
    }
  }

  /** The next mode, for a key. */
  next() {
    const at = CHOICES.findIndex(({ value }) => value === this.mode);
    this.show(CHOICES[(at + 1) % CHOICES.length].value);
  }

  show(mode: Mode) {
    for (const [k, { value }] of CHOICES.entries()) {
      setAria(this.element.children[k], "pressed", value === mode);
    }
    this.#show(mode);
    const pane = this.#pane;
    pane?.focus();
    // A pane with nothing in it yet cannot take the focus, and the one that had it is gone.
    if (!pane?.element.contains(document.activeElement)) this.onTracks();
  }

  #show(mode: Mode) {
    this.mode = mode;
    if (mode === "flame") this.#flame ??= new FlamePane(this.view.root, this.state, this.signal);
    if (mode === "slices") this.#slices ??= new SlicesPane(this.view, this.state);
    const pane = this.#pane;
    this.place.hidden = pane === null;
    // What lies below must not take the focus.
    for (const below of this.place.parentElement?.querySelectorAll<HTMLElement>(".tl-scroll, .tl-pinned, .tl-dock") ??
      []) {
      below.inert = pane !== null;
    }
    if (pane && pane.element.parentElement !== this.place) this.place.replaceChildren(this.#why, pane.element);
    this.state.invalidate();
  }

  get #pane(): Pane | null {
    if (this.mode === "flame") return this.#flame;
    return this.mode === "slices" ? this.#slices : null;
  }

  /** What is looked at: of a flame or a table the range, if there is one. */
  get span(): Span {
    const { range, view } = this.state;
    return this.mode === "tracks" ? view : (range ?? view);
  }

  /** With each frame: the place below the head of the canvas. */
  update(top: number, height: number) {
    const pane = this.#pane;
    if (!pane) return;
    this.place.style.top = `${top}px`;
    this.place.style.height = `${height}px`;
    if (pane.update()) this.state.invalidate();
    this.#sayMissing();
  }

  #sayMissing() {
    const isKnown = this.state.events.hasAll(this.span);
    const { window, isOffline } = this.view.data;
    const about = isKnown ? "" : `${isOffline} ${this.view.link.timeRange}`;
    if (about === this.#missing) return;
    this.#missing = about;
    this.place.classList.toggle("tfp-unknown", !isKnown);
    const why = `Sums are ${NOT_KNOWN}: some slices of this span are not. ${KEEP_ALL}`;
    this.#why.replaceChildren(...(isKnown ? [] : isOffline && window ? offerKept(this.view, window) : [why]));
  }

  forgetColors() {
    this.#flame?.forgetColors();
  }
}
