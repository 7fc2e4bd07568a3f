/** What stands around the slices and in their place: toolbar, labels, cursor, flags, panels; flame and table of slices. */

import type { Span } from "../../data/columns";
import { TRACKS_TOP_PX } from "../../draw/frame";
import { KEEP_ALL, NOT_KNOWN } from "../../model/range";
import { lineTrackOf } from "../../model/tracks";
import { button, type Choice, h, segmented, setAria } from "../../ui/dom";
import { offerKept, type TraceView } from "../../ui/view";
import { FlamePane, SlicesPane } from "./flame";
import type { Painter } from "./paint";
import { Flags, keyHint, Legend, Popover, Toolbar, TracksPanel } from "./panels";
import { Cursor } from "./pointer";
import type { TimelineState } from "./state";
import { actionsOf, hide, pin, TrackLabels } from "./tracks";

interface WorkbenchPlaces extends Readonly<Record<"section" | "area" | "scroller" | "live", HTMLElement>> {
  readonly help: () => void;
}

export class Workbench {
  readonly bar: Toolbar;
  readonly cursor: Cursor;
  readonly flags: Flags;
  readonly legend: Legend;
  readonly tracksPanel: TracksPanel;
  readonly popover: Popover;
  readonly #labels: TrackLabels;
  readonly #pinned = h("div.tl-labels.tl-pinned");
  readonly #dock = h("div.tl-labels.tl-dock");
  readonly #column = h("div.tl-labels");
  #bookmarks: unknown = null;

  constructor(
    readonly state: TimelineState,
    readonly painter: Painter,
    readonly places: WorkbenchPlaces,
  ) {
    const { signal } = state;
    const { section, area, scroller } = places;
    this.popover = new Popover(section, signal);
    this.bar = this.#toolbar();
    this.tracksPanel = new TracksPanel(state, this.popover, this.bar.tracksButton);
    this.cursor = new Cursor(state, painter, (text) => this.say(text));
    this.flags = new Flags(state, painter, this.popover, this.bar.bookmarksButton);
    this.legend = new Legend(state, keyHint());
    this.#labels = this.#trackLabels();
    scroller.append(this.#column);
    area.append(this.#pinned, this.#dock, this.tracksPanel.none, this.cursor.element, this.flags.element);
    this.#pinned.style.top = `${TRACKS_TOP_PX}px`;
    this.tracksPanel.none.style.top = `${TRACKS_TOP_PX}px`;
    state.onCursor = () => this.#labels.tellCounters();
  }

  #toolbar(): Toolbar {
    const fit = () => this.state.setView(this.state.bounds);
    const lists = { tracks: () => this.tracksPanel.toggle(), bookmarks: () => this.flags.toggleList() };
    return new Toolbar({ help: this.places.help, fit, ...lists }, this.popover, this.state.signal);
  }

  #trackLabels(): TrackLabels {
    const { state, places } = this;
    const labels = { column: this.#column, pinned: this.#pinned, dock: this.#dock };
    const actions = {
      menu: (track: Parameters<typeof actionsOf>[1], opener: HTMLElement) => {
        const items = actionsOf(state, track).map(({ text, key, run, obstacle }) => {
          const act = () => {
            this.popover.close();
            run();
          };
          const about = { role: "menuitem", title: obstacle, disabled: obstacle !== "" };
          return button(text, act, state.signal, about, key && h("kbd", key));
        });
        this.popover.toggle(`menu-${track.key}`, opener, `Track ${opener.dataset.name ?? ""}`, "menu", ...items);
      },
      scrollTo: (y: number) => {
        places.scroller.scrollTop = y;
        state.scrollTop = y;
        state.invalidate();
      },
      leave: () => places.section.focus({ preventScroll: true }),
    };
    return new TrackLabels(labels, state, actions);
  }

  say(text: string) {
    this.places.live.textContent = text;
  }

  /** Before the frame is painted: how high everything is. */
  place() {
    const { state, painter, places } = this;
    const bottom = painter.tracksBottom;
    state.tracksHeight = bottom - TRACKS_TOP_PX;
    places.scroller.style.height = `${state.tracksHeight}px`;
    this.#dock.style.top = `${bottom}px`;
    this.#dock.style.height = `${painter.height - bottom}px`;
    this.tracksPanel.none.style.height = `${state.tracksHeight}px`;
    this.#column.style.height = `${state.layout.height}px`;
    // The words on the ruler make room for them.
    this.flags.update();
  }

  /** When it is known where the tracks were scrolled to. */
  label() {
    this.#labels.update();
  }

  /** After the frame was painted. */
  update() {
    const { state } = this;
    this.cursor.update();
    this.tracksPanel.update();
    this.legend.update();
    if (this.#bookmarks !== state.board.bookmarks) {
      this.#bookmarks = state.board.bookmarks;
      this.flags.refresh();
      this.bar.nameBookmarks(state.board.bookmarks.length);
    }
  }

  /** From the cursor; without one the time of the selected slice becomes the range at once. */
  measure() {
    const { state } = this;
    const { focus, events, board } = state;
    if (focus >= 0 && !this.cursor.isMeasuring && board.cursor === null) {
      state.setRange({ t0: events.start[focus], t1: events.endOf(focus) });
    } else this.cursor.toggleMeasure();
    state.invalidate();
  }

  pinFocused() {
    this.#withFocused(pin, "P pins its track");
  }

  hideFocused() {
    this.#withFocused(hide, "H hides its track");
  }

  #withFocused(act: typeof pin, what: string) {
    const { focus, events, layout } = this.state;
    const track = focus < 0 ? undefined : lineTrackOf(layout, events.lineOf(focus));
    if (track) act(this.state, track);
    else this.say(`Select a slice first: ${what}`);
  }

  focusLabels() {
    this.#labels.focus(this.#labels.active);
  }

  /** Closes or cancels one thing; false when there was none. */
  escape(): boolean {
    return this.cursor.cancelMeasure();
  }
}

type Mode = "tracks" | "flame" | "slices";

const CHOICES: readonly Choice<Mode>[] = [
  { value: "tracks", text: "Tracks" },
  { value: "flame", text: "Flame" },
  { value: "slices", text: "Slices" },
];

interface Pane {
  readonly element: HTMLElement;
  /** A part of a frame; whether there is more to do. */
  update(): boolean;
  focus(): void;
  forgetColors(): void;
}

/** The choice between tracks, flame and table of slices, and what fills the place of the tracks. */
export class Panes {
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
    readonly onTracks: () => void,
  ) {
    const { signal } = view;
    const show = (mode: Mode) => this.#show(mode);
    this.element = segmented("What is shown of the slices", CHOICES, "tracks", show, signal);
    this.place.hidden = true;
    // The canvas below answers the pointer and the wheel in its own way.
    for (const type of ["pointerdown", "pointermove", "pointerup", "wheel", "click", "dblclick", "contextmenu"]) {
      this.place.addEventListener(type, (event) => event.stopPropagation(), { signal });
    }
  }

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
    if (mode === "flame") this.#flame ??= new FlamePane(this.view.root, this.state);
    if (mode === "slices") this.#slices ??= new SlicesPane(this.view, this.state);
    const pane = this.#pane;
    this.place.hidden = pane === null;
    // What lies below must not take the focus.
    const below = this.place.parentElement?.querySelectorAll<HTMLElement>(".tl-scroll, .tl-pinned, .tl-dock") ?? [];
    for (const part of below) part.inert = pane !== null;
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
