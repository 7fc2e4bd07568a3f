/** The panel of the tracks: filter by name, what is hidden and how to get it back; and what stands where no track is left. */

import { formatCount, plural } from "../../model/text/format";
import { showAll, type TrackKey } from "../../model/tracks/arrangement";
import { button, type Child, h, on } from "../../ui/dom";
import type { Popover } from "./popover";
import type { TimelineState } from "./state";

const KEY = "tracks";
/** Hidden tracks listed by name; all come back with one press. */
const MOST_NAMES = 40;
const NO_EVENTS = "This trace has no events: nothing that the profiler sees was running while it was captured.";

export class TracksPanel {
  /** In place of the tracks when none is left. */
  readonly none = h("div.tl-none", { role: "status" });
  #toldLayout: unknown = null;

  constructor(
    readonly state: TimelineState,
    readonly popover: Popover,
    readonly opener: HTMLButtonElement,
    readonly signal: AbortSignal,
  ) {
    this.none.hidden = true;
  }

  toggle() {
    this.popover.toggle(KEY, this.opener, "Tracks", "dialog", ...this.#content());
  }

  /** Says on the button how many tracks are shown, and in place of the tracks why there are none. */
  update() {
    const { layout } = this.state;
    if (this.#toldLayout === layout) return;
    this.#toldLayout = layout;
    const isCut = layout.nShown < layout.nTracks;
    // Of several hosts a reader looks for one, not for a thread.
    const what = layout.nHosts > 0 ? ` ${plural(layout.nHosts, "host")}` : " tracks";
    const text = isCut ? this.#count() : `Filter${what}`;
    const more = isCut ? [] : [h("span.opt", what)];
    if (this.opener.textContent !== text) this.opener.replaceChildren(isCut ? text : "Filter", ...more);
    this.opener.classList.toggle("on", isCut);
    this.#tellNone(layout.tracks.length === 0);
    if (this.popover.key === KEY) this.#refresh();
  }

  #tellNone(isNone: boolean) {
    this.none.hidden = !isNone;
    if (!isNone) return;
    const { tracks } = this.state;
    const { nTracks, nHidden } = this.state.layout;
    if (this.state.meta.n_events === 0) {
      this.none.replaceChildren(h("p", NO_EVENTS), whatToCapture());
      return;
    }
    const why = tracks.filter
      ? `No track's name has “${tracks.filter}”.`
      : `All ${formatCount(nTracks)} tracks are hidden or pinned.`;
    const items: Child[] = [h("p", why)];
    if (tracks.filter) items.push(button("Clear the filter", () => this.setFilter(""), this.signal));
    if (nHidden > 0) items.push(button("Show all tracks", () => this.#showAll(), this.signal));
    this.none.replaceChildren(...items.filter((item): item is Node => item instanceof Node));
  }

  setFilter(filter: string) {
    this.state.board.change((tracks) => {
      tracks.filter = filter;
    });
  }

  #showAll() {
    this.state.board.change(showAll);
  }

  #count(): string {
    const { nShown, nTracks, nHosts, nHostsShown } = this.state.layout;
    // Of many hosts most lines are folded: how many hosts there are says more.
    if (nHostsShown < nHosts) return `${formatCount(nHostsShown)} of ${plural(nHosts, "host")}`;
    return `${formatCount(nShown)} of ${plural(nTracks, "track")}`;
  }

  #refresh() {
    const { element } = this.popover;
    const count = element.querySelector(".tl-count");
    if (count) count.textContent = this.#count();
    const hidden = element.querySelector(".tl-hidden");
    const focused = hidden?.contains(document.activeElement) ?? false;
    const key = (document.activeElement as HTMLElement | null)?.dataset.key;
    hidden?.replaceWith(this.#hidden());
    if (focused) this.popover.focus(key);
    const input = element.querySelector<HTMLInputElement>("input");
    if (input && input !== document.activeElement) input.value = this.state.tracks.filter;
  }

  #content(): Child[] {
    const input = h("input", {
      type: "text",
      placeholder: "Filter by name",
      "aria-label": "Filter tracks by name",
      "data-first": true,
      spellcheck: "false",
    });
    input.value = this.state.tracks.filter;
    const keydown = (event: KeyboardEvent) => {
      if (event.key === "Enter") this.popover.close();
    };
    on(input, this.signal, { input: () => this.setFilter(input.value), keydown });
    const count = h("span.q.tl-count", { role: "status" }, this.#count());
    return [h("div.tl-pophead", input, count), this.#hidden()];
  }

  /** What is hidden, each with the way back. */
  #hidden(): HTMLElement {
    const { board, layout } = this.state;
    const hidden = [...this.state.tracks.hidden];
    const box = h("div.tl-hidden");
    if (hidden.length === 0) {
      box.append(h("p.q", "None hidden. H on a track's name hides it, P pins it."));
    } else {
      box.append(h("div.sub", `${plural(layout.nHidden, "track")} hidden`));
      for (const key of hidden.slice(0, MOST_NAMES)) box.append(this.#hiddenRow(key));
      if (hidden.length > MOST_NAMES) box.append(h("p.q", `and ${hidden.length - MOST_NAMES} more`));
      box.append(button("Show all tracks", () => this.#showAll(), this.signal, { "data-key": "all" }));
    }
    const { n_lines: nLines = 0, n_counters: nCounters = 0, lines, counters = [] } = this.state.meta;
    const nLeftOut = Math.max(0, nLines - lines.length);
    if (nLeftOut > 0) box.append(h("p.q", `The ${formatCount(nLeftOut)} least busy lines are not here.`));
    if (nCounters > counters.length) {
      box.append(h("p.q", `${formatCount(counters.length)} of ${formatCount(nCounters)} counters are here.`));
    }
    if (board.isTouched) {
      box.append(
        button("As at first", () => board.reset(), this.signal, {
          "data-key": "reset",
          title: "Undo all pinning, hiding and folding",
        }),
      );
    }
    return box;
  }

  #hiddenRow(key: TrackKey): HTMLElement {
    const show = button("Show", () => this.state.board.change((tracks) => tracks.hidden.delete(key)), this.signal, {
      "data-key": `show-${key}`,
    });
    return h("div.tl-note", h("span.base.cut", this.#name(key)), show);
  }

  #name(key: TrackKey): string {
    const { meta, lineNames, board } = this.state;
    const id = Number(key.slice(1));
    if (key[0] === "h") return this.state.hosted.source?.names[id] ?? key;
    if (key[0] === "p") return meta.planes[id]?.name ?? key;
    return (key[0] === "c" ? board.counterNames[id] : lineNames[id]) ?? key;
  }
}

function whatToCapture(): HTMLElement {
  const code = (text: string) => h("code.nb", text);
  const before = [
    "Capture again around the code to look at: ",
    code("%%tfprofile"),
    " on top of the cell that trains, or ",
  ];
  return h("p.q", ...before, code("with tfprof.profile():"), " around one step or more.");
}
