/** Builds what stands around the slices, and keeps it with the view: toolbar, labels, cursor, flags, colours, panels. */

import { TRACKS_TOP_PX } from "../../draw/frame";
import { lineTrackOf } from "../../model/tracks/tracks";
import { button, h } from "../../ui/dom";
import { Cursor } from "./cursor";
import { Flags } from "./flags";
import { Legend } from "./legend";
import type { Painter } from "./paint";
import { Popover } from "./popover";
import type { TimelineState } from "./state";
import { keyHint, Toolbar } from "./toolbar";
import { actionsOf, hide, pin } from "./track_actions";
import { TrackLabels } from "./track_labels";
import { TracksPanel } from "./tracks_panel";

export interface WorkbenchPlaces {
  readonly section: HTMLElement;
  readonly area: HTMLElement;
  readonly scroller: HTMLElement;
  readonly live: HTMLElement;
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
    readonly signal: AbortSignal,
  ) {
    const { section, area, scroller } = places;
    this.popover = new Popover(section, signal);
    this.bar = this.#toolbar();
    this.tracksPanel = new TracksPanel(state, this.popover, this.bar.tracksButton, signal);
    this.cursor = new Cursor(state, painter, (text) => this.say(text));
    this.flags = new Flags(state, painter, this.popover, this.bar.bookmarksButton, signal);
    this.legend = new Legend(state, keyHint(), signal);
    this.#labels = this.#trackLabels();
    scroller.append(this.#column);
    area.append(this.#pinned, this.#dock, this.tracksPanel.none, this.cursor.element, this.flags.element);
    this.#pinned.style.top = `${TRACKS_TOP_PX}px`;
    this.tracksPanel.none.style.top = `${TRACKS_TOP_PX}px`;
    state.onCursor = () => this.#labels.tellCounters();
  }

  #toolbar(): Toolbar {
    const { state } = this;
    const actions = {
      help: this.places.help,
      fit: () => state.setView(state.bounds),
      tracks: () => this.tracksPanel.toggle(),
      bookmarks: () => this.flags.toggleList(),
    };
    return new Toolbar(actions, this.popover, this.signal);
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
          const item = button(text, act, this.signal, { role: "menuitem", title: obstacle, disabled: obstacle !== "" });
          if (key) item.append(h("kbd", key));
          return item;
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
    return new TrackLabels(labels, state, actions, this.signal);
  }

  /** Tells those who cannot see it. */
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

  #focusedTrack() {
    const { focus, events, layout } = this.state;
    return focus < 0 ? undefined : lineTrackOf(layout, events.lineOf(focus));
  }

  pinFocused() {
    const track = this.#focusedTrack();
    if (track) pin(this.state, track);
    else this.say("Select a slice first: P pins its track");
  }

  hideFocused() {
    const track = this.#focusedTrack();
    if (track) hide(this.state, track);
    else this.say("Select a slice first: H hides its track");
  }

  focusLabels() {
    this.#labels.focus(this.#labels.active);
  }

  /** Closes or cancels one thing; false when there was none. */
  escape(): boolean {
    return this.cursor.cancelMeasure();
  }
}
