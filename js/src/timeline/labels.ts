/** Turns the track layout into the label column: group heads that fold, names of lines, what is hidden and how much. */
import { formatCount, formatPercent, formatTime, plural } from "../core/format";
import { gapsIn } from "../core/idle";
import { coveredTime } from "../core/lod";
import { timeInside } from "../core/sessions";
import { type LineTrack, ROW_PX, type Track } from "../core/tracks";
import type { Span } from "../core/viewport";
import { h } from "../draw/dom";
import type { TimelineState } from "./state";

export class TrackLabels {
  #shownLayout: unknown = null;
  #shownView: Span | null = null;
  readonly #infos = new Map<number, HTMLElement>();

  constructor(
    readonly root: HTMLElement,
    readonly state: TimelineState,
    readonly signal: AbortSignal,
  ) {}

  /** Brings the column up to date; cheap when nothing changed. */
  update() {
    const { layout, view } = this.state;
    if (this.#shownLayout !== layout) {
      this.#shownLayout = layout;
      this.#shownView = null;
      this.#build();
    }
    if (this.#shownView !== view) {
      this.#shownView = view;
      for (const [plane, info] of this.#infos) {
        const text = planeInfo(this.state, plane);
        if (info.textContent !== text) info.textContent = text;
      }
    }
  }

  #build() {
    const focused = this.root.ownerDocument.activeElement;
    const focusedKey = focused && this.root.contains(focused) ? (focused as HTMLElement).dataset.key : undefined;
    this.#infos.clear();
    this.root.replaceChildren(...this.state.layout.tracks.map((track) => this.#element(track)));
    this.root.style.height = `${this.state.layout.height}px`;
    if (focusedKey) this.root.querySelector<HTMLElement>(`[data-key="${focusedKey}"]`)?.focus();
  }

  #element(track: Track): HTMLElement {
    const { meta } = this.state;
    let element: HTMLElement;
    if (track.kind === "plane") element = this.#planeHead(track);
    else if (track.kind === "fold") element = this.#foldHead(track);
    else {
      element = h(
        "div",
        { class: "tl-line", title: meta.lines[track.line].name },
        lineName(this.state.lineNames[track.line]),
      );
      const hasMore = track.nHidden > 0 || this.state.tracks.deepLines.has(track.line);
      // One band is too low for a second line of text; a line that folds its only child loses nothing.
      if (hasMore && track.height > 2 * ROW_PX) element.append(this.#depthButton(track));
    }
    element.style.top = `${track.y}px`;
    element.style.height = `${track.height - 1}px`;
    return element;
  }

  #planeHead(track: Track & { kind: "plane" }): HTMLElement {
    const plane = this.state.meta.planes[track.plane];
    const hosts = new Set(this.state.meta.planes.map((p) => p.host));
    const kind = { host: "Host", device: "Device", other: "Other" }[plane.kind];
    const info = h("span", { class: "tl-info" });
    this.#infos.set(track.plane, info);
    const where = hosts.size > 1 ? `${kind} ${plane.host}` : kind;
    const head = this.#toggle(`plane${track.plane}`, track.isOpen, this.state.tracks.closedPlanes, track.plane, where);
    head.classList.add("tl-plane");
    head.append(info);
    return head;
  }

  #foldHead(track: Track & { kind: "fold" }): HTMLElement {
    const { lines } = this.state.meta;
    const busy = track.lines.reduce((sum, line) => sum + lines[line].busy_ps, 0);
    const noun = this.state.meta.planes[track.plane].kind === "host" ? "thread" : "stream";
    const label = plural(track.lines.length, `more ${noun}`);
    const head = this.#toggle(`fold${track.plane}`, track.isOpen, this.state.tracks.openFolds, track.plane, label);
    head.classList.add("tl-fold");
    head.append(h("span", { class: "tl-info" }, `together busy for ${formatTime(busy)}`));
    return head;
  }

  #toggle(key: string, isOpen: boolean, set: Set<number>, id: number, label: string): HTMLButtonElement {
    const head = h(
      "button",
      { type: "button", "aria-expanded": String(isOpen), "data-key": key },
      h("span", { class: "tl-arrow", "aria-hidden": "true" }, isOpen ? "▾" : "▸"),
      h("b", {}, label),
    );
    const flip = () => {
      if (!set.delete(id)) set.add(id);
      this.state.relayout();
    };
    head.addEventListener("click", flip, { signal: this.signal });
    return head;
  }

  #depthButton(track: LineTrack): HTMLButtonElement {
    const isDeep = this.state.tracks.deepLines.has(track.line);
    const button = h(
      "button",
      {
        type: "button",
        class: "link",
        "data-key": `line${track.line}`,
        "aria-expanded": String(isDeep),
        title: isDeep
          ? "Fold levels that only wrap others, show the first six"
          : `Show ${plural(track.nHidden, "more level")}: deeper ones, and those that only wrap others`,
      },
      isDeep ? "fewer levels" : `+${plural(track.nHidden, "level")}`,
    );
    const flip = () => {
      const { deepLines } = this.state.tracks;
      if (!deepLines.delete(track.line)) deepLines.add(track.line);
      this.state.relayout();
    };
    button.addEventListener("click", flip, { signal: this.signal });
    return button;
  }
}

/** Cut at its end, but never its number: two visible names stay two. */
function lineName(name: string): HTMLElement {
  const [, base, number] = /^(.*?)( \d+)?$/s.exec(name) ?? ["", name, ""];
  return h("span", {}, h("span", { class: "base" }, base), number ? h("span", { class: "nr" }, number) : null);
}

/** "/host:CPU · 3 of 16 threads did work in this window", or how busy a device was and how long it waited. */
function planeInfo(state: TimelineState, plane: number): string {
  const { meta, rows, view } = state;
  const { kind, name } = meta.planes[plane];
  const lines = meta.lines.flatMap((line, id) => (line.plane === plane && line.n_events > 0 ? [id] : []));
  const isBusy = (line: number) => rows.firstRow[line] < rows.firstRow[line + 1] && hasEvents(state, line);
  if (kind === "device") {
    const main = lines
      .filter((id) => !meta.lines[id].is_derived)
      .sort((a, b) => meta.lines[b].busy_ps - meta.lines[a].busy_ps)[0];
    return main === undefined ? name : `${name} · ${deviceInfo(state, main)}`;
  }
  const nBusy = lines.filter(isBusy).length;
  const noun = kind === "host" ? "thread" : "line";
  return `${name} · ${formatCount(nBusy)} of ${plural(lines.length, noun)} did work in this window, ${formatTime(view.t1 - view.t0)}`;
}

function hasEvents(state: TimelineState, line: number): boolean {
  return coveredTime(state.rows, state.rows.firstRow[line], state.view) > 0;
}

function deviceInfo(state: TimelineState, line: number): string {
  const { rows, view, uncaptured } = state;
  const row = rows.firstRow[line];
  if (rows.firstRow[line + 1] === row) return "no events here";
  const captured = view.t1 - view.t0 - timeInside(uncaptured, view);
  const busy = coveredTime(rows, row, view) / Math.max(1, captured);
  const { count, meanPs } = gapsIn(state.gapsOf(row), view);
  const gaps = count > 0 ? ` · ${plural(count, "gap")} over 1 ms, ${formatTime(meanPs)} on average` : "";
  return `busy ${formatPercent(busy)} of this window${gaps}`;
}
