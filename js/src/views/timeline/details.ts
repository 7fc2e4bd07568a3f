/** Turns the selected slice (or the op selected in another view) into the details pane. */

import { statsOfEvent } from "../../model/events/stats";
import { formatInstant, formatLength, formatPercent, formatTime, plural } from "../../model/text/format";
import { shortName } from "../../model/text/labels";
import { KEEP_ALL, NOT_KNOWN } from "../../model/time/left_out";
import { stepWords } from "../../model/time/span_text";
import { stepAt } from "../../model/time/steps";
import { FAMILIES, FAMILY_LABELS } from "../../model/wire/categories";
import { button, copyButton, h } from "../../ui/dom";
import { type Filling, insideRows, sameSlices, usualStrip } from "./detail_figures";
import { flowRows } from "./detail_flows";
import { originRows, viewLink } from "./detail_origin";
import { heading, kernelTitle, keyValues, type Pair, title } from "./detail_parts";
import { alongRow, toSameOp } from "./moves";
import type { TimelineState } from "./state";

const MAX_COMPILED = 5;
const MAX_IDS = 5;
/** Part of a frame that the figures may take. */
const FILL_MS = 4;
/** Stats that take longer are said not to be here. */
const STATS_MS = 700;
/** Ids that only link events inside the file tell the reader nothing by themselves; they come last. */
const INTERNAL_STAT = /^_|^(correlation_id|group_id|id|producer_id|consumer_id)$/;

export class Details {
  #about = "";
  #range = "";
  #arrows = "";
  /** What depends on the range, and what does not; filled in parts of frames. */
  #inRange: (() => Filling) | null = null;
  #places: { readonly place: HTMLElement; filling: Filling; isDone: boolean }[] = [];
  #arrowsPlace: HTMLElement | null = null;

  constructor(
    readonly pane: HTMLElement,
    readonly live: HTMLElement,
    readonly state: TimelineState,
    readonly signal: AbortSignal,
  ) {}

  /** Brings the pane up to date; cheap when the selection, the range and the data are as before. */
  update() {
    const { state } = this;
    const { focus, events, selectedIds, range, link, steps, finding } = state;
    // While tiles arrive the figures follow in a few steps.
    const tenth = Math.floor((10 * events.nLoaded) / Math.max(1, events.n));
    const about = [focus, selectedIds.join(), link.selection.join("\n"), steps.n].join("|");
    const isNew = about !== this.#about;
    if (isNew) this.#show(focus);
    this.#about = about;
    const inRange = `${range?.t0}|${range?.t1}|${tenth}`;
    if (!isNew && inRange !== this.#range) this.#refill();
    this.#range = inRange;
    const arrows = `${finding.shownKinds.join("")}|${tenth}`;
    if (focus >= 0 && !isNew && arrows !== this.#arrows) this.#showArrows(focus);
    this.#arrows = arrows;
    this.#fill();
  }

  #show(focus: number) {
    this.pane.scrollTop = 0;
    this.#places = [];
    this.#inRange = null;
    this.#arrowsPlace = null;
    if (focus >= 0) this.#showEvent(focus);
    else if (this.state.link.selection.length > 0) this.#showSelection();
    else this.#showNothing();
  }

  /** A place for figures that come in a moment. */
  #placeFor(filling: Filling): HTMLElement {
    const place = h("div", filling.element);
    this.#places.push({ place, filling, isDone: false });
    return place;
  }

  /** The figures of the range anew; the old ones stay until they are there. */
  #refill() {
    const [first] = this.#places;
    if (!this.#inRange || !first) return;
    first.filling = this.#inRange();
    first.isDone = false;
  }

  #fill() {
    const stop = performance.now() + FILL_MS;
    const isOver = () => performance.now() > stop;
    for (const one of this.#places) {
      if (one.isDone) continue;
      one.isDone = one.filling.step(isOver);
      if (one.isDone) one.place.replaceChildren(one.filling.element);
      else this.state.invalidate();
    }
  }

  #showNothing() {
    this.live.textContent = "";
    const hint =
      "Click a slice for its op, time and stats. Drag over the ruler to select a range: the other views are then about that range.";
    const isEmpty = this.state.meta.n_events === 0;
    this.pane.replaceChildren(h("h2", "Nothing selected"), ...(isEmpty ? [] : [h("p.q", hint)]));
  }

  #showEvent(event: number) {
    const { state } = this;
    const { events, meta, steps } = state;
    const own = meta.names[events.name[event]];
    const op = events.launcherOf(event, meta.names);
    const name = op < 0 ? own : meta.names[op];
    const duration = events.duration[event];
    const step = events.step[event] >= 0 ? events.step[event] : stepAt(steps, events.start[event]);
    const isInstant = duration === 0;
    const share =
      step >= 0 && !isInstant ? ` · ${formatPercent(duration / (steps.end[step] - steps.start[step]))} of step` : "";
    this.live.textContent = `Selected ${name}, ${formatLength(duration)}${step >= 0 ? `, ${stepWords(meta.step_names, step)}` : ""}`;
    const rows: Pair[] = [
      ["type", ...typeOf(state, event, this.signal)],
      ...(op < 0 ? [] : [["kernel", shortName(own)] as const]),
      ["duration", h("b", formatLength(duration)), share],
      ...(isInstant ? [] : [["self", formatTime(events.self[event])] as const]),
      ["start", formatInstant(events.start[event], 1e6)],
    ];
    if (step >= 0) rows.push(["step", `${steps.names[step]}${steps.isInferred ? " (inferred)" : ""}`]);
    const line = events.lineOf(event);
    rows.push(["thread", h("span", { title: meta.lines[line].name }, state.lineNames[line])]);
    const key = events.keyOf(event);
    this.#inRange = () => sameSlices(state, key, event, this.signal);
    this.#arrowsPlace = h("div");
    this.pane.replaceChildren(
      ...(op < 0 ? title(own) : kernelTitle(name, own)),
      this.#moves(own),
      keyValues(rows),
      this.#placeFor(this.#inRange()),
      ...originRows(state, event, this.signal),
      ...this.#compiled(event),
      this.#arrowsPlace,
      this.#placeFor(insideRows(state, event)),
      this.#placeFor(usualStrip(state, key, event)),
      ...this.#stats(event),
    );
    this.#showArrows(event);
  }

  /** Neighbours on the row and of the same op, for those who do not use keys. */
  #moves(name: string): HTMLElement {
    const { state, signal } = this;
    const step = (text: string, label: string, go: () => void) =>
      button(text, go, signal, { title: label, "aria-label": label });
    return h(
      "div.tl-moves",
      h(
        "span",
        step("◂", "Previous slice of the row  Shift + ←", () => alongRow(state, -1)),
        " row ",
        step("▸", "Next slice of the row  Shift + →", () => alongRow(state, 1)),
      ),
      h(
        "span",
        step("◂", "Previous slice of the same op  [", () => toSameOp(state, -1)),
        " same op ",
        step("▸", "Next slice of the same op  ]", () => toSameOp(state, 1)),
      ),
      copyButton("Copy", () => name, signal),
    );
  }

  #showArrows(event: number) {
    this.#arrowsPlace?.replaceChildren(...flowRows(this.state, event, this.signal));
  }

  /** An op that another view selected: how often and how long, and the way to its longest slice. */
  #showSelection() {
    const { state } = this;
    const { link, meta, selectedIds } = state;
    this.live.textContent = `Selected ${link.selection.join(", ")}`;
    const children: Node[] = [
      ...title(link.selection.length === 1 ? link.selection[0] : plural(link.selection.length, "op")),
    ];
    const drawn = selectedIds.filter((id) => state.isDrawn(id));
    const say = (text: string) => children.push(h("p.q", text));
    const cut = drawn.length > MAX_IDS ? `; ${MAX_IDS} of ${drawn.length} are listed` : "";
    if (selectedIds.length === 0) say("No slice of this trace has this name.");
    else if (drawn.length > 0 && drawn.length < selectedIds.length)
      say(`XLA compiled it together with other ops. Marked are the slices with a share of it${cut}:`);
    const shown = [...(drawn.length > 0 ? drawn : selectedIds)].slice(0, MAX_IDS);
    const figures = () =>
      all(
        shown.map((id) => named(selectedIds.length > 1 ? meta.names[id] : "", sameSlices(state, id, -1, this.signal))),
      );
    if (selectedIds.length > 0) {
      this.#inRange = figures;
      children.push(this.#placeFor(figures()));
    }
    if (selectedIds.length === 1) children.push(this.#placeFor(usualStrip(state, selectedIds[0], -1)));
    this.pane.replaceChildren(...children);
  }

  /** The framework ops that a slice of a compiled program stands for, and how much of it each is. */
  #compiled(event: number): Node[] {
    const { events, meta, shares, link } = this.state;
    const found = events.op[event] >= 0 ? shares.ofUnit(events.unit[event]) : [];
    if (found.length === 0 || (found.length === 1 && meta.op_name[found[0].op] === events.name[event])) return [];
    const rows = found.slice(0, MAX_COMPILED).map(({ op, ratio }): Pair => {
      const name = meta.names[meta.op_name[op]];
      const go = () => link.setSelection([name]);
      return [formatPercent(ratio), button(shortName(name), go, this.signal, { class: "link", title: name })];
    });
    const cut = found.length > rows.length ? ` (${rows.length} of ${found.length})` : "";
    return [heading(`Compiled from${cut}`), keyValues(rows)];
  }

  /** Stats come later: they are inflated when they are asked for. */
  #stats(event: number): Node[] {
    const { trace, meta } = this.state;
    const place = h("div");
    const say = () => {
      const words = trace.data.eventsState.isOffline ? `${NOT_KNOWN}. ${KEEP_ALL}` : "not here yet";
      if (place.childElementCount === 0) place.append(heading("Stats in the trace"), h("div.q", words));
    };
    setTimeout(say, STATS_MS);
    const fill = async () => {
      const stats = statsOfEvent(await trace.data.stats(event), meta.names);
      // Nothing to show is also an answer.
      if (stats.length === 0) place.replaceChildren(h("span"));
      if (stats.length === 0) return;
      stats.sort((a, b) => Number(INTERNAL_STAT.test(a.key)) - Number(INTERNAL_STAT.test(b.key)));
      const rows = stats.map(({ key, value }): Pair => [key, h("span.small", value)]);
      place.replaceChildren(heading("Stats in the trace"), keyValues(rows));
    };
    trace.guard(fill)();
    return [place];
  }
}

function named(name: string, filling: Filling): Filling {
  const element = h("div", name ? heading(name) : null, filling.element);
  return { element, step: (isOver) => filling.step(isOver) };
}

/** Several fillings as one: they appear together. */
function all(fillings: readonly Filling[]): Filling {
  let next = 0;
  const step = (isOver: () => boolean) => {
    while (next < fillings.length && fillings[next].step(isOver)) next += 1;
    return next === fillings.length;
  };
  return { element: h("div", ...fillings.map(({ element }) => element)), step };
}

function typeOf(state: TimelineState, event: number, signal: AbortSignal): [Node | string, string?] {
  const { events, meta, family } = state;
  const op = events.op[event];
  if (op < 0) return [FAMILY_LABELS[FAMILIES[family[events.name[event]]]]];
  const where = meta.op_device[op] === 1 ? "device" : "host";
  const link = viewLink(state, meta.names[meta.op_type[op]], "op_table", signal, "Show it among all ops");
  return [link as Node, ` · ${where} op${meta.op_eager[op] === 1 ? ", eager" : ""}`];
}
