/** Turns one track into its label: name, what it tells, where it folds, its menu. Pinning and folding are done elsewhere. */

import { roleOf } from "../../model/hosts/hosts";
import { formatMs, plural } from "../../model/text/format";
import { formatValue, loadOf } from "../../model/tracks/counters";
import {
  type CounterTrack,
  GROUP_PX,
  type HostTrack,
  type LineTrack,
  ROW_PX,
  type Track,
} from "../../model/tracks/tracks";
import { h, setAria, unspoken } from "../../ui/dom";
import { foldInfo, foldName, planeName } from "./label_text";
import type { TimelineState } from "./state";
import { isOpen } from "./track_actions";

/** A tree item without a tab stop, placed at the track's height; `data-name` is what it is called. */
export function labelOf(state: TimelineState, track: Track): HTMLElement {
  const element =
    track.kind === "line"
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
  return h(
    "div",
    { class: `tl-head tl-${track.kind}${isInner ? " inner" : ""}`, "data-name": name, title: info || undefined },
    arrow(track.isOpen),
    h("b", name),
    track.kind === "plane" ? h("span.tl-info") : null,
  );
}

/** Beside the host's steps, which are drawn under the rest of the line. */
function hostLabel(state: TimelineState, track: HostTrack, name: string): HTMLElement {
  const isChosen = state.hosted.source?.chosen === track.host;
  const role = roleOf(state.meta, track.host);
  const text = state.hosted.shortNames[track.host] ?? name;
  return h(
    "div",
    {
      class: `tl-head tl-host${isChosen ? " on" : ""}`,
      "data-name": name,
      "aria-label": role ? `${name}, ${role}` : name,
      title: [name, role, stragglerWords(state, name)].filter(Boolean).join(" · "),
    },
    arrow(track.isOpen),
    h("b", text),
  );
}

/** What the others lose by a host. */
function stragglerWords({ meta }: TimelineState, name: string): string {
  const found = meta.stragglers?.find(({ host }) => host === name);
  return found ? `holds the others up by ${formatMs(found.cost_ms)} a step` : "";
}

/** What a plane does in the window follows later. */
function headWords(state: TimelineState, track: HeadTrack): readonly [string, string] {
  if (track.kind === "host") return [state.hosted.source?.names[track.host] ?? "", ""];
  if (track.kind === "plane") return [planeName(state, track.plane), ""];
  if (track.kind === "fold") return [foldName(state, track), foldInfo(state, track)];
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
  return h("span", h("span.base.cut", base), number ? h("span.nr", number) : null);
}

/** Names what holds labels; without any it is no tree, which would be an error to a screen reader. */
export function nameTree(place: HTMLElement, name: string, nItems: number) {
  const set = (attribute: string, value: string) => {
    if (nItems === 0) place.removeAttribute(attribute);
    else if (place.getAttribute(attribute) !== value) place.setAttribute(attribute, value);
  };
  set("role", "tree");
  set("aria-label", name);
}
