/** The label column: a label for each track, its menu, and what the reader does with tracks: pin, hide, fold, open. */

import type { Span } from "../../data/columns";
import { atEnd } from "../../data/widget";
import { keyOf, MOST_DOCKED, type TrackKey, togglePin } from "../../model/arrangement";
import { roleOf } from "../../model/hosts";
import { axisTop, type Counter, coveredTime, formatValue, loadOf, valueAt } from "../../model/lod";
import { timeInside } from "../../model/range";
import { gapsIn } from "../../model/rows";
import { formatCount, formatMs, formatPercent, formatTime, plural } from "../../model/text";
import {
  type CounterTrack,
  type FoldTrack,
  firstTrackBelow,
  GROUP_PX,
  type HostTrack,
  type LineTrack,
  type PlaneTrack,
  pinning,
  ROW_PX,
  setCountersOpen,
  setHostOpen,
  type Track,
  type TrackLayout,
} from "../../model/tracks";
import { h, hasModifier, on, onKeys, setAria, unspoken } from "../../ui/dom";
import type { TimelineState } from "./state";

/** Labels this far out of sight are there already, so that scrolling never shows a gap. */
const MARGIN_PX = 150;
/** Of a plane with more lines the words follow the view when it rests. */
const MANY_LINES = 64;
const REST_MS = 120;

export class TrackLabels {
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
    readonly places: Readonly<Record<"column" | "pinned" | "dock", HTMLElement>>,
    readonly state: TimelineState,
    readonly actions: {
      readonly menu: (track: Track, opener: HTMLElement) => void;
      readonly scrollTo: (y: number) => void;
      readonly leave: () => void;
    },
  ) {
    const { signal } = state;
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

  focus(key: TrackKey) {
    const { layout, scrollTop, tracksHeight } = this.state;
    const track = layout.byKey.get(key) ?? allTracks(layout)[0];
    if (!track) return;
    this.active = track.key;
    const isFree = layout.tracks.includes(track) && !track.isPinned;
    const { shown } = pinning(layout, scrollTop, tracksHeight);
    if (isFree && track.y < scrollTop + shown) this.actions.scrollTo(Math.max(0, track.y - shown));
    else if (isFree && track.y + track.height > scrollTop + tracksHeight)
      this.actions.scrollTo(track.y + track.height - tracksHeight);
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
    const ensure = (track: Track, place: HTMLElement) => {
      wanted.add(track.key);
      this.#ensure(track, place);
    };
    const from = firstTrackBelow(layout, scrollTop - MARGIN_PX);
    let nPinned = 0;
    for (; layout.tracks[nPinned]?.isPinned; nPinned++) ensure(layout.tracks[nPinned], this.#pinnedInner);
    for (let k = Math.max(from, nPinned); k < layout.tracks.length; k++) {
      if (layout.tracks[k].y > scrollTop + tracksHeight + MARGIN_PX) break;
      ensure(layout.tracks[k], column);
    }
    for (const track of layout.dock) ensure(track, dock);
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
    return found !== null && !hasModifier(event) && this.#act(event, found.track, found.element);
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

function foldInfo(state: TimelineState, track: FoldTrack): string {
  const { lines } = state.meta;
  const total = formatTime(track.lines.reduce((sum, line) => sum + lines[line].busy_ps, 0));
  return `${total} in total. Pale: up to all the time of one; dark: the share of the time of all.`;
}

/** "/host:CPU · 3 of 16 threads did work in this window", or how busy a device was and how long it waited. */
function planeInfo(state: TimelineState, track: PlaneTrack): string {
  const { meta, view } = state;
  const { kind, name } = meta.planes[track.plane];
  const hidden = track.nHidden > 0 ? ` · ${formatCount(track.nHidden)} hidden` : "";
  if (kind === "device") {
    const main = busiest(state, track.lines);
    const streams = track.lines.filter((line) => !meta.lines[line].is_derived);
    // Of several streams the share is that of one: how much they overlap is not told.
    const which = streams.length > 1 ? (/^[^(]+/.exec(state.lineNames[main] ?? "")?.[0] ?? "") : "";
    const busy = main < 0 ? "" : deviceInfo(state, main);
    return [name, which && busy ? `${which} ${busy}` : busy].filter(Boolean).join(" · ") + hidden;
  }
  const lines = plural(track.lines.length, kind === "host" ? "thread" : "line");
  const isSample = state.sampled.some(({ t0, t1 }) => t0 < view.t1 && t1 > view.t0);
  const more = `${hidden}${isSample ? " · grey: the longest slices only" : ""}`;
  if (!isKnown(state)) return `${name} · ${lines}${more}`;
  const nBusy = track.lines.filter((line) => isBusy(state, line)).length;
  return `${name} · ${formatCount(nBusy)} of ${lines} ran in ${shown(state)}${more}`;
}

/** Whether the window shows the whole capture, of which Python says how long each line was busy. */
function isOfCapture({ view, bounds }: TimelineState): boolean {
  return view.t0 <= bounds.t0 && view.t1 >= bounds.t1;
}

/** "all 3.30 s", or how long the window is: another base than the steps of the averages. */
function shown(state: TimelineState): string {
  const time = formatTime(state.view.t1 - state.view.t0);
  return isOfCapture(state) ? `all ${time}` : `these ${time}`;
}

function isKnown(state: TimelineState): boolean {
  return isOfCapture(state) || state.events.hasAll(state.view);
}

function busiest({ meta }: TimelineState, lines: readonly number[]): number {
  let best = -1;
  for (const line of lines) {
    if (!meta.lines[line].is_derived && (best < 0 || meta.lines[line].busy_ps > meta.lines[best].busy_ps)) best = line;
  }
  return best;
}

function isBusy(state: TimelineState, line: number): boolean {
  const { events, rows, view, meta } = state;
  if (isOfCapture(state)) return meta.lines[line].busy_ps > 0;
  const row = rows.firstRow[line];
  return row < rows.firstRow[line + 1] && coveredTime(events, row, view) > 0;
}

function deviceInfo(state: TimelineState, line: number): string {
  const { events, rows, view, uncaptured, meta } = state;
  const row = rows.firstRow[line];
  if (rows.firstRow[line + 1] === row) return "no events here";
  const captured = view.t1 - view.t0 - timeInside(uncaptured, view);
  if (!isKnown(state)) return "";
  const busyPs = isOfCapture(state) ? meta.lines[line].busy_ps : coveredTime(events, row, view);
  const busy = `busy ${formatPercent(busyPs / Math.max(1, captured))} of ${shown(state)}`;
  if (!events.hasAll(view)) return busy;
  const { count, meanPs } = gapsIn(state.gapsOf(row), view);
  const gaps = count > 0 ? ` · ${plural(count, "gap")} over 1 ms, ${formatTime(meanPs)} on average` : "";
  return busy + gaps;
}

/** ["", "up to 3.5 GiB in use"], with a moment ["1.2 GiB", " of 3.5 GiB"]. */
function counterWords(counter: Counter, cursor: number | null): readonly [string, string] {
  if (counter.max <= 0 && counter.min >= 0) return ["", "always 0"];
  const top = formatValue(axisTop(counter), counter.unit);
  const value = cursor === null ? Number.NaN : valueAt(counter, cursor);
  return Number.isNaN(value)
    ? ["", `up to ${top}${counter.kind === "memory" ? " in use" : ""}`]
    : [formatValue(value, counter.unit), ` of ${top}`];
}

interface TrackAction {
  readonly text: string;
  /** Key cap, "" for none. */
  readonly key: string;
  readonly run: () => void;
  /** Why it cannot be done now, "" when it can. */
  readonly obstacle: string;
}

/** Every track on the screen from top to bottom, the pinned counters last. */
function allTracks(layout: TrackLayout): Track[] {
  return [...layout.tracks, ...layout.dock];
}

export function pin(state: TimelineState, track: Track) {
  if (track.kind === "line" || track.kind === "counter")
    state.board.change((tracks) => void togglePin(tracks, track.key));
}

export function hide(state: TimelineState, track: Track) {
  if (track.kind === "group" || track.kind === "fold") {
    const kind = track.kind === "group" ? "counter" : "line";
    state.board.change((tracks) => {
      for (const id of track.lines) tracks.hidden.add(keyOf(kind, id));
    });
  } else state.board.change((tracks) => tracks.hidden.add(track.key));
}

function hideOthers(state: TimelineState, track: Track) {
  const { meta, board, hosted } = state;
  const { lines, planes } = meta;
  const others = (kind: "line" | "plane" | "host", ids: Iterable<number>, own: number) =>
    [...ids].filter((id) => id !== own).map((id) => keyOf(kind, id));
  let keys: TrackKey[] = [];
  if (track.kind === "line") {
    const beside = lines.flatMap(({ plane, n_events }, id) =>
      plane === lines[track.line].plane && n_events > 0 ? [id] : [],
    );
    keys = others("line", beside, track.line);
  } else if (track.kind === "plane") keys = others("plane", planes.keys(), track.plane);
  else if (track.kind === "host") keys = others("host", (hosted.source?.names ?? []).keys(), track.host);
  board.change((tracks) => {
    for (const key of keys) if (!tracks.pinned.includes(key)) tracks.hidden.add(key);
  });
}

/** Whether a track shows less than it can, or nothing of it can be folded. */
function isOpen(state: TimelineState, track: Track): boolean | null {
  if (track.kind === "counter") return null;
  if (track.kind === "line") {
    if (state.tracks.flatLines.has(track.line)) return false;
    if (track.levels.length > 0) return true;
    if (track.closed) return false;
    return track.bands.length > 1 || track.nHidden > 0 ? true : null;
  }
  return track.isOpen;
}

function openLevels(state: TimelineState, { line }: LineTrack, n: number) {
  state.board.change(({ openLevels }) => void (n > 0 ? openLevels.set(line, n) : openLevels.delete(line)));
}

/** Opens or closes a track, a level of it where it has any; of another line the first opening shows some depths, the next all. */
function setOpen(state: TimelineState, track: Track, opens: boolean) {
  if (track.kind === "line" && (opens ? track.closed : track.levels.length > 0))
    return openLevels(state, track, track.levels.length + (opens ? 1 : -1));
  state.board.change((tracks) => {
    if (track.kind === "host") setHostOpen(tracks, track.host, opens);
    else if (track.kind === "group") setCountersOpen(tracks, opens);
    else if (track.kind === "plane") tracks.closedPlanes[opens ? "delete" : "add"](track.plane);
    else if (track.kind === "fold") tracks.openFolds[opens ? "add" : "delete"](track.plane);
    else if (track.kind === "line") {
      const { flatLines, deepLines } = tracks;
      if (opens && !flatLines.delete(track.line)) deepLines.add(track.line);
      if (!opens && !deepLines.delete(track.line)) flatLines.add(track.line);
    }
  });
}

export function actionsOf(state: TimelineState, track: Track): TrackAction[] {
  const { pinned, flatLines, deepLines } = state.tracks;
  const isOwn = track.kind === "line" || track.kind === "counter";
  const isPinned = pinned.includes(track.key);
  const nDocked = pinned.filter((key) => key[0] === "c").length;
  const isFull = track.kind === "counter" && !isPinned && nDocked >= MOST_DOCKED;
  const where = track.kind === "counter" ? "Pin below the tracks" : "Pin above the tracks";
  const actions: TrackAction[] = [];
  const add = (text: string, key: string, run: () => void, obstacle = "") => actions.push({ text, key, run, obstacle });
  if (isOwn) {
    const full = isFull ? `${MOST_DOCKED} counters are pinned: unpin one first` : "";
    add(isPinned ? "Unpin" : where, "P", () => pin(state, track), full);
  }
  add(track.kind === "fold" ? "Hide these" : "Hide", "H", () => hide(state, track));
  if (track.kind !== "fold" && track.kind !== "group" && track.kind !== "counter")
    add("Hide the others", "", () => hideOthers(state, track));
  if (track.kind === "line") {
    const { line, levels: open, closed } = track;
    if (closed) add(`Open ${closed}`, "→", () => setOpen(state, track, true));
    if (open.length > 0) add(`Fold ${open[open.length - 1]}`, "←", () => setOpen(state, track, false));
    const levels = (flat: boolean, deep: boolean) => () =>
      state.board.change((tracks) => {
        tracks.flatLines.delete(line);
        tracks.deepLines.delete(line);
        if (flat) tracks.flatLines.add(line);
        if (deep) tracks.deepLines.add(line);
      });
    if (flatLines.has(line) || deepLines.has(line)) add("Usual levels", "", levels(false, false));
    if (track.bands.length > 1) add("Outermost level only", "←", levels(true, false));
    if (track.nHidden > 0) add("All levels", "→", levels(false, true));
  } else if (track.kind !== "counter") {
    if (track.kind === "host") {
      const isChosen = state.hosted.source?.chosen === track.host;
      const name = state.hosted.source?.names[track.host] ?? "";
      const choose = () => state.link.setHost(isChosen ? "" : name);
      add(isChosen ? "All views: all hosts" : "All views: this host", "", choose);
    }
    const own = track.isOpen;
    add(own ? "Fold" : "Unfold", own ? "←" : "→", () => setOpen(state, track, !own));
  }
  return actions;
}

/** A tree item without a tab stop, placed at the track's height; `data-name` is what it is called. */
function labelOf(state: TimelineState, track: Track): HTMLElement {
  const isLine = track.kind === "line";
  const element = isLine
    ? lineLabel(state, track)
    : track.kind === "counter"
      ? counterLabel(state, track)
      : headLabel(state, track);
  const open = isOpen(state, track);
  const isTop = track.kind === "host" || track.kind === "group" || track.isPinned;
  const level = isTop ? 1 : (track.kind === "plane" ? 1 : 2) + Number(state.hosted.source !== null);
  element.dataset.key = track.key;
  element.tabIndex = -1;
  element.setAttribute("role", "treeitem");
  element.setAttribute("aria-level", String(level));
  if (open !== null) setAria(element, "expanded", open);
  element.style.top = `${track.y}px`;
  // Below the head of a device the canvas shows what it waits for.
  element.style.height = `${(track.kind === "plane" ? GROUP_PX : track.height) - 1}px`;
  const menu = { type: "button", class: "tl-more", tabindex: -1, "aria-label": `Menu of ${element.dataset.name}` };
  element.append(h("button", menu, "⋯"));
  return element;
}

const arrow = (isOpen: boolean) => unspoken("span.tl-arrow", isOpen ? "▾" : "▸");

type HeadTrack = Exclude<Track, LineTrack | CounterTrack>;

function headLabel(state: TimelineState, track: HeadTrack): HTMLElement {
  const [name, info] = headWords(state, track);
  if (track.kind === "host") return hostLabel(state, track, name);
  const isInner = track.kind === "plane" && state.hosted.source !== null;
  const about = { class: `tl-head tl-${track.kind}${isInner ? " inner" : ""}`, "data-name": name };
  const more = track.kind === "plane" && h("span.tl-info");
  return h("div", { ...about, title: info || undefined }, arrow(track.isOpen), h("b", name), more);
}

/** Beside the host's steps, which are drawn under the rest of the line. */
function hostLabel(state: TimelineState, track: HostTrack, name: string): HTMLElement {
  const isChosen = state.hosted.source?.chosen === track.host;
  const role = roleOf(state.meta, track.host);
  const text = state.hosted.shortNames[track.host] ?? name;
  const found = state.meta.stragglers?.find(({ host }) => host === name);
  const holds = found ? `holds the others up by ${formatMs(found.cost_ms)} a step` : "";
  const title = [name, role, holds].filter(Boolean).join(" · ");
  const about = { "data-name": name, "aria-label": role ? `${name}, ${role}` : name, title };
  return h(isChosen ? "div.tl-head.tl-host.on" : "div.tl-head.tl-host", about, arrow(track.isOpen), h("b", text));
}

/** What a plane does in the window follows later. */
function headWords(state: TimelineState, track: HeadTrack): readonly [string, string] {
  if (track.kind === "host") return [state.hosted.source?.names[track.host] ?? "", ""];
  const kind = track.kind === "group" ? "other" : state.meta.planes[track.plane].kind;
  if (track.kind === "plane") return [{ host: "Host", device: "Device", other: "Other" }[kind], ""];
  if (track.kind === "fold") {
    const name = plural(track.lines.length, `quieter ${kind === "host" ? "thread" : "stream"}`);
    return [name, foldInfo(state, track)];
  }
  const load = state.board.counters[loadOf(track.lines, state.board.counters)];
  return ["Counters", plural(track.lines.length, "counter") + (load ? `; folded: ${load.name}` : "")];
}

function lineLabel(state: TimelineState, track: LineTrack): HTMLElement {
  const name = state.lineNames[track.line];
  const mark = track.isPinned ? h("span.tl-pin", { title: "pinned" }, "▴") : null;
  const { plane, name: full } = state.meta.lines[track.line];
  const title = `${full} · ${state.meta.planes[plane].name}`;
  const label = h("div.tl-line", { title, "data-name": name }, mark, levelButton(track, 0, ""), nameText(name));
  for (let k = 1; k <= track.levels.length; k++)
    label.append(levelButton(track, k, track.levels[k] ?? track.closed ?? "kernels") ?? "");
  const isChanged = state.tracks.deepLines.has(track.line) || state.tracks.flatLines.has(track.line);
  // One band is too low for a second line of text; a line that folds its only child loses nothing.
  if ((track.nHidden > 0 || isChanged) && track.height > 2 * ROW_PX) label.append(levelsButton(state, track));
  return label;
}

/** Folds or opens a level: its number among those that are open, which for the next one is theirs. */
function levelButton({ levels, closed }: LineTrack, k: number, text: string): HTMLElement | null {
  const isOpen = k < levels.length;
  if (!isOpen && !closed) return text ? h("span.tl-level", text) : null;
  const title = isOpen ? `Fold ${levels.slice(k).join(", ")}` : `Open ${closed}`;
  const attributes = { type: "button", class: "tl-level", tabindex: -1, title, "data-level": k };
  return h("button", attributes, arrow(isOpen), text);
}

function levelsButton(state: TimelineState, track: LineTrack): HTMLElement {
  const isDeep = state.tracks.deepLines.has(track.line);
  const title = isDeep
    ? "Fold levels that only wrap others, show the first six"
    : `Show ${plural(track.nHidden, "more level")}: deeper ones, and those that only wrap others`;
  const text = isDeep ? "fewer levels" : `+${plural(track.nHidden, "level")}`;
  return h("button", { type: "button", class: "link tl-levels", tabindex: -1, title }, text);
}

function counterLabel(state: TimelineState, track: CounterTrack): HTMLElement {
  const name = state.board.counterNames[track.counter];
  const value = h("span.tl-value", h("span"), h("span.cut"));
  const counter = state.board.counters[track.counter];
  const title = counter ? `${name} · at most ${formatValue(counter.max, counter.unit)}` : name;
  return h("div.tl-line", { title, "data-name": name }, nameText(name), value);
}

/** Cut at its end, but never its number: two visible names stay two. */
function nameText(name: string): HTMLElement {
  const [, base, number] = /^(.*?)( \d+)?$/s.exec(name) ?? ["", name, ""];
  return h("span", h("span.base.cut", base), number ? h("span.nr.fix", number) : null);
}

/** Names what holds labels; without any it is no tree, which would be an error to a screen reader. */
function nameTree(place: HTMLElement, name: string, nItems: number) {
  const set = (attribute: string, value: string) => {
    if (nItems === 0) place.removeAttribute(attribute);
    else if (place.getAttribute(attribute) !== value) place.setAttribute(attribute, value);
  };
  set("role", "tree");
  set("aria-label", name);
}
