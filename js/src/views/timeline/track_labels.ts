/** Turns the track layout into the label columns: those of pinned tracks, of tracks that scroll (only what is visible), of
 * counters at the bottom. One label has the tab stop; arrows walk. */

import { atEnd } from "../../host/failures";
import type { Span } from "../../model/time/viewport";
import type { TrackKey } from "../../model/tracks/arrangement";
import { pinning } from "../../model/tracks/pinning";
import { type CounterTrack, firstTrackBelow, type Track } from "../../model/tracks/tracks";
import { h, on, onKeys } from "../../ui/dom";
import { labelOf, nameTree } from "./label_elements";
import { counterWords, planeInfo } from "./label_text";
import type { TimelineState } from "./state";
import { allTracks, hide, openLevels, pin, setOpen } from "./track_actions";

/** Labels this far out of sight are there already, so that scrolling never shows a gap. */
const MARGIN_PX = 150;
/** Of a plane with more lines the words follow the view when it rests. */
const MANY_LINES = 64;
const REST_MS = 120;

export interface LabelPlaces {
  /** In the scroller. */
  readonly column: HTMLElement;
  readonly pinned: HTMLElement;
  readonly dock: HTMLElement;
}

export class TrackLabels {
  /** The label with the tab stop. */
  active: TrackKey = "";
  readonly #made = new Map<TrackKey, HTMLElement>();
  #layout: unknown = null;
  #view: Span | null = null;
  #cursor: number | null = null;
  #counters: unknown = null;
  #nLoaded = -1;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #pinnedInner = h("div");

  constructor(
    readonly places: LabelPlaces,
    readonly state: TimelineState,
    readonly actions: {
      /** Opens the menu of a track beside an element. */
      readonly menu: (track: Track, opener: HTMLElement) => void;
      readonly scrollTo: (y: number) => void;
      readonly leave: () => void;
    },
    readonly signal: AbortSignal,
  ) {
    places.pinned.append(this.#pinnedInner);
    for (const place of Object.values(places)) {
      onKeys(place, signal, (event) => this.#onKey(event));
      on(place, signal, {
        focusin: (event) => this.#onFocus(event),
        click: (event) => this.#onClick(event),
        contextmenu: (event) => this.#onContextMenu(event),
      });
    }
    atEnd(signal, () => clearTimeout(this.#timer));
  }

  /** Brings the labels up to date; cheap when nothing changed. */
  update() {
    const { state } = this;
    const { layout, view, board } = state;
    if (this.#layout !== layout) this.#rebuild();
    else this.#fill();
    if (this.#view !== view || this.#nLoaded !== state.events.nLoaded) {
      this.#view = view;
      this.#nLoaded = state.events.nLoaded;
      this.#tellPlanes();
    }
    if (this.#cursor !== board.cursor || this.#counters !== board.counters) this.tellCounters();
  }

  /** The labels of counters tell the value at the moment of the cursor. */
  tellCounters() {
    const { board, layout } = this.state;
    this.#cursor = board.cursor;
    this.#counters = board.counters;
    for (const [key, element] of this.#made) {
      if (key[0] !== "c" || key === "counters") continue;
      const track = layout.byKey.get(key) as CounterTrack | undefined;
      const counter = track && board.counters[track.counter];
      if (!counter) continue;
      const [value, rest] = counterWords(counter, board.cursor);
      const [valueText, restText] = element.querySelectorAll(".tl-value > span");
      if (valueText.textContent !== value) valueText.textContent = value;
      if (restText.textContent !== rest) restText.textContent = rest;
    }
  }

  /** Moves the focus to a label, scrolled into sight. */
  focus(key: TrackKey) {
    const { layout, scrollTop, tracksHeight } = this.state;
    const track = layout.byKey.get(key) ?? allTracks(layout)[0];
    if (!track) return;
    this.active = track.key;
    const isFree = layout.tracks.includes(track) && !track.isPinned;
    const { shown } = pinning(layout, scrollTop, tracksHeight);
    if (isFree && track.y < scrollTop + shown) this.actions.scrollTo(Math.max(0, track.y - shown));
    else if (isFree && track.y + track.height > scrollTop + tracksHeight) {
      this.actions.scrollTo(track.y + track.height - tracksHeight);
    }
    this.#fill();
    for (const [other, element] of this.#made) element.tabIndex = other === this.active ? 0 : -1;
    this.#made.get(track.key)?.focus({ preventScroll: true });
  }

  #rebuild() {
    const focused = this.#focusedKey();
    this.#layout = this.state.layout;
    this.#view = null;
    this.#counters = null;
    for (const element of this.#made.values()) element.remove();
    this.#made.clear();
    if (!this.state.layout.byKey.get(this.active)) this.active = allTracks(this.state.layout)[0]?.key ?? "";
    this.#fill();
    if (focused) this.focus(this.state.layout.byKey.has(focused) ? focused : this.active);
  }

  #focusedKey(): TrackKey {
    const focused = document.activeElement as HTMLElement | null;
    const element = focused?.closest<HTMLElement>("[data-key]");
    const isOwn = element && Object.values(this.places).some((place) => place.contains(element));
    return isOwn ? (element.dataset.key ?? "") : "";
  }

  /** Makes the labels that are in sight, and the one with the focus; removes the others. */
  #fill() {
    const { layout, scrollTop, tracksHeight } = this.state;
    const { column, pinned, dock } = this.places;
    const { shown, scroll } = pinning(layout, scrollTop, tracksHeight);
    (column.parentElement as HTMLElement).style.clipPath = shown > 0 ? `inset(${shown}px 0 0 0)` : "";
    pinned.style.height = `${shown}px`;
    this.#pinnedInner.style.transform = `translateY(${-scroll}px)`;
    const wanted = new Set<TrackKey>();
    const from = firstTrackBelow(layout, scrollTop - MARGIN_PX);
    let nPinned = 0;
    for (; layout.tracks[nPinned]?.isPinned; nPinned++) {
      wanted.add(layout.tracks[nPinned].key);
      this.#ensure(layout.tracks[nPinned], this.#pinnedInner);
    }
    for (let k = Math.max(from, nPinned); k < layout.tracks.length; k++) {
      const track = layout.tracks[k];
      if (track.y > scrollTop + tracksHeight + MARGIN_PX) break;
      wanted.add(track.key);
      this.#ensure(track, column);
    }
    for (const track of layout.dock) {
      wanted.add(track.key);
      this.#ensure(track, dock);
    }
    wanted.add(this.active);
    for (const [key, element] of this.#made) {
      if (wanted.has(key)) continue;
      element.remove();
      this.#made.delete(key);
    }
    nameTree(column, "Tracks", layout.tracks.length - nPinned);
    nameTree(this.#pinnedInner, "Pinned tracks", nPinned);
    nameTree(dock, "Pinned counters", layout.dock.length);
  }

  #ensure(track: Track, place: HTMLElement) {
    if (this.#made.has(track.key)) return;
    const element = labelOf(this.state, track);
    if (track.key === this.active) element.tabIndex = 0;
    this.#made.set(track.key, element);
    place.append(element);
    if (track.kind === "plane") this.#tellPlane(element, track.key);
    // A new label of a counter has no value yet.
    if (track.kind === "counter") this.#counters = null;
  }

  #tellPlanes() {
    clearTimeout(this.#timer);
    let isLater = false;
    for (const [key, element] of this.#made) {
      if (key[0] !== "p") continue;
      const track = this.state.layout.byKey.get(key);
      if (track?.kind === "plane" && track.lines.length > MANY_LINES) isLater = true;
      else this.#tellPlane(element, key);
    }
    if (!isLater) return;
    this.#timer = setTimeout(() => {
      for (const [key, element] of this.#made) if (key[0] === "p") this.#tellPlane(element, key);
    }, REST_MS);
  }

  #tellPlane(element: HTMLElement, key: TrackKey) {
    const track = this.state.layout.byKey.get(key);
    const info = element.querySelector(".tl-info");
    if (track?.kind !== "plane" || !info) return;
    const text = planeInfo(this.state, track);
    if (info.textContent !== text) info.textContent = text;
  }

  #trackOfEvent(event: Event): { track: Track; element: HTMLElement } | null {
    const element = (event.target as Element).closest<HTMLElement>("[data-key]");
    const track = element && this.state.layout.byKey.get(element.dataset.key ?? "");
    return track ? { track, element } : null;
  }

  #onFocus(event: Event) {
    const found = this.#trackOfEvent(event);
    if (!found || found.track.key === this.active) return;
    this.active = found.track.key;
    for (const [key, element] of this.#made) element.tabIndex = key === this.active ? 0 : -1;
  }

  #onClick(event: MouseEvent) {
    const found = this.#trackOfEvent(event);
    if (!found) return;
    const { track, element } = found;
    const target = event.target as Element;
    const level = target.closest<HTMLElement>("button.tl-level");
    if (target.closest(".tl-more")) this.actions.menu(track, element);
    else if (level && track.kind === "line") {
      const at = Number(level.dataset.level);
      openLevels(this.state, track, at < track.levels.length ? at : at + 1);
    } else if (target.closest(".tl-levels") && track.kind === "line") {
      setOpen(this.state, track, !this.state.tracks.deepLines.has(track.line));
    } else if (track.kind !== "line" && track.kind !== "counter") setOpen(this.state, track, !track.isOpen);
  }

  #onContextMenu(event: MouseEvent) {
    const found = this.#trackOfEvent(event);
    if (!found) return;
    event.preventDefault();
    this.actions.menu(found.track, found.element);
  }

  #onKey(event: KeyboardEvent): boolean {
    const found = this.#trackOfEvent(event);
    return (
      found !== null &&
      !event.ctrlKey &&
      !event.metaKey &&
      !event.altKey &&
      this.#act(event, found.track, found.element)
    );
  }

  #act(event: KeyboardEvent, track: Track, element: HTMLElement): boolean {
    const { state } = this;
    const { key } = event;
    const isMenu = key === "ContextMenu" || (event.shiftKey && key === "F10");
    if (isMenu || ((key === "Enter" || key === " ") && (track.kind === "line" || track.kind === "counter"))) {
      this.actions.menu(track, element);
    } else if (event.shiftKey) return false;
    else if (key === "Enter" || key === " ")
      setOpen(state, track, !(track.kind !== "counter" && "isOpen" in track && track.isOpen));
    else if (key === "ArrowUp" || key === "ArrowDown") this.#walk(track, key === "ArrowUp" ? -1 : 1);
    else if (key === "Home" || key === "End") this.#walkTo(key === "Home" ? 0 : allTracks(state.layout).length - 1);
    else if (key === "ArrowRight" || key === "ArrowLeft") setOpen(state, track, key === "ArrowRight");
    else if (key === "p" || key === "P") pin(state, track);
    else if (key === "h" || key === "H") this.#hide(track);
    else if (key === "Escape") this.actions.leave();
    else return false;
    return true;
  }

  #walk(track: Track, by: 1 | -1) {
    const all = allTracks(this.state.layout);
    this.#walkTo(Math.max(0, Math.min(all.length - 1, all.findIndex((other) => other.key === track.key) + by)));
  }

  #walkTo(index: number) {
    const track = allTracks(this.state.layout)[index];
    if (track) this.focus(track.key);
  }

  /** The label after the one that goes gets the focus. */
  #hide(track: Track) {
    const all = allTracks(this.state.layout);
    const at = all.findIndex((other) => other.key === track.key);
    const next = all[at + 1] ?? all[at - 1];
    if (next) this.focus(next.key);
    hide(this.state, track);
  }
}
