/** The selected slice: its details at the side, and the ways from it to its neighbours. */

import { isWithin, lowerBound, numbers } from "../../data/columns";
import { childrenOf, parentOf } from "../../data/events";
import { FAMILIES, FAMILY_LABELS } from "../../data/meta";
import { EMPTY_TABLE, type Table } from "../../data/pack";
import { Inside, KeyFigures, statsOfEvent } from "../../model/aggregate";
import { shortName } from "../../model/names";
import { sideOf } from "../../model/ops";
import { KEEP_ALL, NOT_KNOWN, stepWords } from "../../model/range";
import {
  type Arrow,
  arrowsAt,
  type Direction,
  FLOW_KINDS,
  FLOW_LABELS,
  FLOW_SHORT,
  firstFrom,
  lastBefore,
} from "../../model/rows";
import { nextMarked } from "../../model/search";
import { PLACE_SECTIONS } from "../../model/source";
import { stepAt } from "../../model/steps";
import {
  formatBytes,
  formatCount,
  formatInstant,
  formatLength,
  formatPercent,
  formatTime,
  plural,
} from "../../model/text";
import { isInDashboard, SHOW_VIEW } from "../../ui/controls";
import { button, type Child, copyButton, h, svg, titledAlike, toggle } from "../../ui/dom";
import type { TimelineState } from "./state";

const MAX_COMPILED = 5;
const MAX_IDS = 5;
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
    this.pane.classList.toggle("none", focus < 0 && this.state.link.selection.length === 0);
    this.#places = [];
    this.#inRange = null;
    this.#arrowsPlace = null;
    if (focus >= 0) this.#showEvent(focus);
    else if (this.state.link.selection.length > 0) this.#showSelection();
    else this.#showNothing();
  }

  #placeFor(filling: Filling): HTMLElement {
    const place = h("div", filling.element);
    this.#places.push({ place, filling, isDone: false });
    return place;
  }

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
      ["type", ...typeOf(state, event)],
      ...(op < 0 ? [] : [["kernel", shortName(own)] as const]),
      ["duration", h("b", formatLength(duration)), share],
      ...(isInstant ? [] : [["self", formatTime(events.self[event])] as const]),
      ["start", formatInstant(events.start[event], 1e6)],
    ];
    if (step >= 0) rows.push(["step", `${steps.names[step]}${steps.isInferred ? " (inferred)" : ""}`]);
    const line = events.lineOf(event);
    rows.push(["thread", h("span", { title: meta.lines[line].name }, state.lineNames[line])]);
    const key = events.keyOf(event);
    this.#inRange = () => sameSlices(state, key, event);
    this.#arrowsPlace = h("div");
    this.pane.replaceChildren(
      ...(op < 0 ? title(own) : [h("h2", name), fullName(own)]),
      this.#moves(own),
      keyValues(rows),
      this.#placeFor(this.#inRange()),
      ...originRows(state, event),
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
    const { state } = this;
    const { signal } = state;
    const step = (text: string, label: string, go: () => void) => button(text, go, signal, titledAlike(label));
    const rows = [
      step("◂", "Previous slice of the row  Shift + ←", () => alongRow(state, -1)),
      " row ",
      step("▸", "Next slice of the row  Shift + →", () => alongRow(state, 1)),
    ];
    const ops = [
      step("◂", "Previous slice of the same op  [", () => toSameOp(state, -1)),
      " same op ",
      step("▸", "Next slice of the same op  ]", () => toSameOp(state, 1)),
    ];
    const copy = copyButton("Copy", () => name, signal);
    return h("div.tl-moves", h("span", ...rows), h("span", ...ops), copy);
  }

  #showArrows(event: number) {
    this.#arrowsPlace?.replaceChildren(...flowRows(this.state, event));
  }

  /** An op that another view selected: how often and how long, and the way to its longest slice. */
  #showSelection() {
    const { state } = this;
    const { link, meta, selectedIds } = state;
    this.live.textContent = `Selected ${link.selection.join(", ")}`;
    const { selection } = link;
    const children: Node[] = title(selection.length === 1 ? selection[0] : plural(selection.length, "op"));
    const drawn = selectedIds.filter((id) => state.isDrawn(id));
    const say = (text: string) => children.push(h("p.q", text));
    const cut = drawn.length > MAX_IDS ? `; ${MAX_IDS} of ${drawn.length} are listed` : "";
    if (selectedIds.length === 0) say("No slice of this trace has this name.");
    else if (drawn.length > 0 && drawn.length < selectedIds.length)
      say(`XLA compiled it together with other ops. Marked are the slices with a share of it${cut}:`);
    const shown = [...(drawn.length > 0 ? drawn : selectedIds)].slice(0, MAX_IDS);
    const nameOf = (id: number) => (selectedIds.length > 1 ? meta.names[id] : "");
    const figures = () => all(shown.map((id) => named(nameOf(id), sameSlices(state, id, -1))));
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
      return [formatPercent(ratio), button(shortName(name), go, this.state.signal, { class: "link", title: name })];
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

function all(fillings: readonly Filling[]): Filling {
  let next = 0;
  const step = (isOver: () => boolean) => {
    while (next < fillings.length && fillings[next].step(isOver)) next += 1;
    return next === fillings.length;
  };
  return { element: h("div", ...fillings.map(({ element }) => element)), step };
}

function typeOf(state: TimelineState, event: number): [Node | string, string?] {
  const { events, meta, family } = state;
  const op = events.op[event];
  if (op < 0) return [FAMILY_LABELS[FAMILIES[family[events.name[event]]]]];
  const where = sideOf(meta, op);
  const link = viewLink(state, meta.names[meta.op_type[op]], "op_table", "Show it among all ops");
  return [link as Node, ` · ${where} op${meta.op_eager[op] === 1 ? ", eager" : ""}`];
}

const LONG_NAME = 110;
const MAX_DOTS = 400;

/** Key, value and what is said beside it. */
type Pair = readonly [key: string, value: Child, more?: Child];

/** The name; of one that would fill the pane (C++ kernels) the telling part, and the whole in a box of its own. */
function title(name: string): Node[] {
  if (name.length <= LONG_NAME) return [h("h2", name)];
  return [h("h2", shortName(name)), fullName(name)];
}

function fullName(name: string): HTMLElement {
  return h("div.tl-full", { tabindex: 0, "aria-label": "Full name" }, name);
}

function distinctLabels(names: readonly string[]): string[] {
  const short = names.map(shortName);
  return short.map((label, i) => (short.indexOf(label) === short.lastIndexOf(label) ? label : names[i]));
}

function keyValues(rows: readonly Pair[]): HTMLElement {
  return h("div.kv", ...rows.flatMap(([key, ...value]) => [h("span", key), h("div", ...value)]));
}

function heading(text: string): HTMLElement {
  return h("div.sub", text);
}

/** Dots on one time axis: is `own` usual? */
function dotStrip(times: ArrayLike<number>, own: number): SVGElement {
  const stride = Math.max(1, Math.ceil(times.length / MAX_DOTS));
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < times.length; i++) {
    low = Math.min(low, times[i]);
    high = Math.max(high, times[i]);
  }
  const x = (time: number) => (high > low ? 4 + ((time - low) / (high - low)) * 172 : 90).toFixed(1);
  const label = `From ${formatTime(low)} to ${formatTime(high)}${Number.isNaN(own) ? "" : `, this one ${formatTime(own)}`}`;
  const size = { class: "tl-dots", viewBox: "0 0 180 34", width: 180, height: 34 };
  const strip = svg("svg", { ...size, role: "img", "aria-label": label });
  strip.append(svg("line", { x1: 4, x2: 176, y1: 20.5, y2: 20.5, class: "axis" }));
  for (let i = 0; i < times.length; i += stride) strip.append(svg("circle", { cx: x(times[i]), cy: 14, r: 2 }));
  if (!Number.isNaN(own)) strip.append(svg("path", { d: `M${x(own)} 20v-12`, class: "own" }));
  strip.append(svg("text", { x: 4, y: 32 }, formatTime(low)));
  if (high > low) strip.append(svg("text", { x: 176, y: 32, "text-anchor": "end" }, formatTime(high)));
  return strip;
}

function goTo(state: TimelineState, event: number) {
  if (event < 0) return;
  state.select(event);
  state.show(event);
}

/** The slice before or after of the same op; without a selected slice the nearest of the selected op. */
export function toSameOp(state: TimelineState, direction: 1 | -1) {
  const { events, focus, selected } = state;
  if (!selected) return;
  selected.advance();
  const from = focus >= 0 ? { time: events.start[focus], position: focus } : { time: state.view.t0, position: -1 };
  goTo(state, nextMarked(events, selected, from, direction));
}

export function alongRow(state: TimelineState, direction: 1 | -1) {
  const { events, focus } = state;
  if (focus < 0) return;
  const row = events.rowOf(focus);
  const next = focus + direction;
  if (next >= 0 && next < events.n && events.has(next) && events.rowOf(next) === row) goTo(state, next);
  else if (direction === 1) goTo(state, firstFrom(events, row, events.start[focus] + 1));
  else goTo(state, lastBefore(events, row, events.start[focus]));
}

export function toEnclosing(state: TimelineState) {
  if (state.focus >= 0) goTo(state, parentOf(state.events, state.focus));
}

export function toFirstInside(state: TimelineState) {
  if (state.focus < 0) return;
  const [low, high] = childrenOf(state.events, state.focus);
  if (high > low) goTo(state, low);
}

/** To what made the selected slice start ("up"), or to what it made start. */
export function alongFlow(state: TimelineState, direction: Direction) {
  goTo(state, state.finding.follow(state.focus, direction));
}

const MAX_INSIDE = 5;

/** A place of the pane that is filled when its figures are there; the old content stays until then. */
interface Filling {
  readonly element: HTMLElement;
  /** A part of a frame; whether it is done. */
  step(isOver: () => boolean): boolean;
}

/** What is filled with `parts` when `isReady` says that its figures are there; at once without that. */
function fillingOf(parts: () => readonly Node[] = () => [], isReady: Filling["step"] = () => true): Filling {
  const element = h("div");
  const step = (isOver: () => boolean) => {
    const isThere = isReady(isOver);
    if (isThere) element.replaceChildren(...parts());
    return isThere;
  };
  return { element, step };
}

/**
 * Events that count together with an event: the same side of the op, the same name, and not its copies on derived lines,
 * but of a reduced profile, which has nothing else.
 */
function peersOf({ events, meta }: TimelineState, event: number): (other: number) => boolean {
  const isDerived = (position: number) => !meta.is_summed && meta.lines[events.lineOf(position)].is_derived;
  if (event < 0) return (other) => !isDerived(other);
  const [op, name, own] = [events.op[event], events.name[event], isDerived(event)];
  return (other) => events.op[other] === op && events.name[other] === name && isDerived(other) === own;
}

/** How many slices of a key, how long, in the range or the whole capture; `event`: one of them, -1 for none. */
function sameSlices(state: TimelineState, id: number, event: number): Filling {
  const { events, range, selected, bounds } = state;
  if (!selected) return fillingOf();
  const all = markAll(state, event);
  const unknown = [notKnown(range ? "in range" : "in all"), ...(all ? [all] : [])];
  if (!events.hasAll(range ?? bounds)) return fillingOf(() => [keyValues(unknown)]);
  const counts = peersOf(state, event);
  const figures = new KeyFigures(events, selected, id, { span: range, nSteps: 0, counts, limit: 1 });
  const isReady = (isOver: () => boolean) => selected.isUpToDate && figures.step(isOver);
  return fillingOf(() => [keyValues(rowsOf(state, figures, event))], isReady);
}

function rowsOf(state: TimelineState, figures: KeyFigures, event: number): Pair[] {
  const { count, totalPs, minPs, maxPs, longest } = figures;
  const { range, meta } = state;
  const more = meta.is_summed ? h("span.q", " · of the events here") : "";
  const isInstant = count > 0 && maxPs === 0;
  const total = isInstant ? (count > 1 ? "all instant" : "instant") : formatTime(totalPs);
  const rows: Pair[] = [[range ? "in range" : "in all", `${formatCount(count)} × · ${total}`, more]];
  if (count > 1 && !isInstant) rows.push(["mean", formatTime(totalPs / count), ` · min ${formatTime(minPs)}`]);
  if (longest >= 0 && longest !== event) {
    const go = () => goTo(state, longest);
    const title = isInstant ? "Go to the first" : "Go to the longest";
    const link = button(formatLength(maxPs), go, state.signal, { class: "link", title });
    rows.push([count === 1 ? "its slice" : isInstant ? "first" : "longest", link]);
  } else if (longest >= 0 && count > 1 && !isInstant) rows.push(["longest", "this one"]);
  const all = markAll(state, event);
  return all ? [...rows, all] : rows;
}

function markAll({ events, finding, signal }: TimelineState, event: number): Pair | null {
  if (event < 0) return null;
  const all = () => finding.onName(events.name[event]);
  const tip = "Search for exactly this name: mark all, count, next and previous";
  return ["", button("mark all of this name", all, signal, { class: "link", title: tip })];
}

function notKnown(what: string): Pair {
  const title = `Some events that it takes are not here. ${KEEP_ALL}`;
  return [what, h("span.q", { title }, NOT_KNOWN)];
}

/** Dots on one time axis, one a step or one a slice: is this slice usual? */
function usualStrip(state: TimelineState, id: number, event: number): Filling {
  const { events, steps, selected } = state;
  if (!selected || !events.isComplete) return fillingOf();
  const counts = peersOf(state, event);
  const figures = new KeyFigures(events, selected, id, { span: null, nSteps: steps.n, counts, limit: MAX_DOTS });
  const isReady = (isOver: () => boolean) => selected.isUpToDate && figures.step(isOver);
  return fillingOf(() => stripOf(state, figures, event), isReady);
}

function stripOf({ events, steps }: TimelineState, figures: KeyFigures, event: number): Node[] {
  const { perStep, hasSteps, durations, count } = figures;
  const ownStep = event < 0 ? -1 : events.step[event];
  // Steps left out of the averages (the first compiles) would squeeze the others into one dot.
  const isShown = (ps: number, step: number) => !Number.isNaN(ps) && (steps.isAveraged[step] === 1 || step === ownStep);
  const times = hasSteps ? perStep.filter(isShown) : durations;
  if (times.length < 3 || times.every((time: number) => time === 0)) return [];
  const own = event < 0 ? Number.NaN : hasSteps ? (perStep[ownStep] ?? Number.NaN) : events.duration[event];
  const all = times.length === steps.n ? "all " : "";
  const text = hasSteps
    ? `This op in ${all}${plural(times.length, "step")}, time a step`
    : `All ${formatCount(count)} slices of this op, duration`;
  return [heading(text), dotStrip(times, own)];
}

function insideRows(state: TimelineState, event: number): Filling {
  const { events } = state;
  const inside = new Inside(events, event);
  if (!events.hasAll({ t0: events.start[event], t1: events.endOf(event) })) return fillingOf();
  return fillingOf(
    () => barsOf(state, inside),
    (isOver) => inside.step(isOver),
  );
}

function barsOf({ meta, family }: TimelineState, inside: Inside): Node[] {
  const rows = inside.rows();
  if (rows.length < 2) return [];
  const shown = rows.slice(0, MAX_INSIDE);
  const rest = rows.slice(MAX_INSIDE);
  const most = shown[0].selfPs || 1;
  const labels = distinctLabels(shown.map((row) => meta.names[row.name]));
  const lines = shown.map(({ name, count, selfPs }, i) => {
    const label = count > 1 ? `${labels[i]} × ${formatCount(count)}` : labels[i];
    const style = `width:${Math.max(1, (selfPs / most) * 100)}%;background:var(--e-${FAMILIES[family[name]]})`;
    const time = h("span.v", formatTime(selfPs));
    return h("div.ib", { title: meta.names[name] }, h("span.cut", label), h("i", { style }), time);
  });
  if (rest.length > 0) {
    const time = formatTime(rest.reduce((sum, row) => sum + row.selfPs, 0));
    lines.push(h("div.ib", h("span.cut", `${rest.length} more`), h("i"), h("span.v", time)));
  }
  return [heading("Inside it, self time"), ...lines];
}

const MAX_FLOWS = 3;
const ALL_KINDS = FLOW_KINDS.map(() => 1);

function flowRows(state: TimelineState, event: number): Node[] {
  const { events, finding } = state;
  const next = [...arrowsAt(events, event, "up", ALL_KINDS), ...arrowsAt(events, event, "down", ALL_KINDS)];
  const kinds = new Set(next.map(({ kind }) => kind));
  if (kinds.size === 0) return [];
  const up = arrowsAt(events, event, "up", finding.shownKinds);
  const down = arrowsAt(events, event, "down", finding.shownKinds);
  const rows = [...pairsOf(state, up, "up"), ...pairsOf(state, down, "down")];
  const { arrows, nMore, nAbsent } = finding.chainOf(event);
  const notes: string[] = [];
  const nFar = arrows.filter(({ hop }) => hop > 1).length;
  if (nFar > 0) notes.push(`${plural(nFar, "arrow")} further along`);
  if (nMore > 0) notes.push("more are left out");
  if (nAbsent > 0) notes.push(`${plural(nAbsent, "end")} not here yet`);
  return [
    heading("Arrows"),
    flowSwitch(state, kinds),
    ...(rows.length > 0 ? [keyValues(rows)] : []),
    ...(notes.length > 0 ? [h("div.q.tl-note", notes.join(" · "))] : []),
  ];
}

function pairsOf(state: TimelineState, arrows: readonly Arrow[], direction: Direction): Pair[] {
  const { events, meta } = state;
  const label = direction === "up" ? "started by" : "starts";
  const here = arrows.filter(({ from, to }) => events.has(direction === "up" ? from : to));
  const rows = here.slice(0, MAX_FLOWS).map(({ from, to, kind }): Pair => {
    const other = direction === "up" ? from : to;
    const name = meta.names[events.name[other]];
    const waited = events.start[to] - events.endOf(from);
    const thread = state.lineNames[events.lineOf(other)];
    // A number stays on the line of its unit.
    const when = waited >= 0 ? `+${formatTime(waited)}`.replace(" ", "\u00a0") : "at once";
    const title = `${FLOW_LABELS[kind]}; from the end of the one to the start of the other`;
    const more = h("span.q", { title }, ` ${when} · ${thread}`);
    const link = { class: "link", title: name };
    return [label, button(shortName(name), () => goTo(state, other), state.signal, link), more];
  });
  if (here.length > MAX_FLOWS) rows.push(["", h("span.q", `and ${here.length - MAX_FLOWS} more`)]);
  return rows;
}

/** A button for each kind of arrow that there is, pressed while it is drawn. */
function flowSwitch(state: TimelineState, kinds: ReadonlySet<number>): HTMLElement {
  const { shownKinds } = state.finding;
  const buttons = FLOW_KINDS.flatMap((_, kind) => {
    if (!kinds.has(kind)) return [];
    const show = (isOn: boolean) => {
      shownKinds[kind] = Number(isOn);
      state.invalidate();
    };
    const title = `Draw the arrows of this kind: ${FLOW_LABELS[kind]}`;
    return [toggle(FLOW_SHORT[kind], shownKinds[kind] === 1, show, state.signal, { title })];
  });
  return h("div.tl-kinds", { role: "group", "aria-label": "Kinds of arrows that are drawn" }, ...buttons);
}

/** Rows that may come later: of a big capture the tables of places are not in the first pack. */
function originRows(state: TimelineState, event: number): Node[] {
  const { trace, events } = state;
  const op = events.op[event];
  if (op < 0) return [];
  const place = h("div");
  const fill = async () => {
    await trace.data.ready(PLACE_SECTIONS);
    const rows = [...placeRows(state, op), ...memoryRows(state, event)];
    if (rows.length > 0) place.replaceChildren(keyValues(rows));
  };
  trace.guard(fill)();
  return [place];
}

function placeRows(state: TimelineState, op: number): Pair[] {
  const { meta, trace } = state;
  const places = trace.data.table("op_places") ?? EMPTY_TABLE;
  if (op >= places.n) return [];
  const rows: Pair[] = [];
  const line = meta.source_lines?.[numbers(places, "line")[op]];
  if (line) rows.push(["code", ...sourceOf(state, line)]);
  const layer = meta.layers?.[numbers(places, "layer")[op]];
  if (layer && layer.kind !== "other") rows.push(["layer", viewLink(state, layer.layer, "layer_table")]);
  return rows;
}

type SourceLine = NonNullable<TimelineState["meta"]["source_lines"]>[number];

function sourceOf(state: TimelineState, line: SourceLine): [Child, Child?] {
  const file = state.meta.source_files?.[line.file];
  if (!file) return [line.bucket];
  const link = viewLink(state, `${file.title}, line ${line.line}`, "source_view", file.file);
  return [link, h("div.tl-code", line.code.trim())];
}

/** Text that opens a view of the dashboard around; plain where there is none. */
function viewLink(state: TimelineState, text: string, trait: string, tip = ""): Child {
  const { root } = state.trace;
  if (!isInDashboard(root)) return tip ? h("span", { title: tip }, text) : text;
  const show = () => root.dispatchEvent(new CustomEvent(SHOW_VIEW, { bubbles: true, composed: true, detail: trait }));
  return button(text, show, state.signal, { class: "link", title: tip || undefined });
}

/** What the op allocated while the slice ran; nothing where some of those allocations may not be here. */
function memoryRows({ trace, events }: TimelineState, event: number): Pair[] {
  const table = trace.data.table("memory");
  const span = [events.start[event], events.endOf(event)] as const;
  const isKnown = trace.data.isWhole("memory") || isWithin(span, trace.data.window);
  if (!table || table.n === 0 || !isKnown) return [];
  const columns = ["time_ps", "is_free", "allocation_bytes", "op", "freed_at"];
  const [time, isFree, bytes, op, freedAt] = columns.map((name) => numbers(table, name));
  const key = events.keyOf(event);
  const end = events.endOf(event);
  let [total, kept, n] = [0, 0, 0];
  for (const [low, high] of blocksOf(table)) {
    for (let row = lowerBound(time, events.start[event], low, high); row < high && time[row] <= end; row++) {
      if (isFree[row] || op[row] !== key) continue;
      n += 1;
      total += bytes[row];
      if (freedAt[row] < 0 || time[freedAt[row]] > end) kept += bytes[row];
    }
  }
  if (n === 0) return [];
  const more = kept === total ? "all kept" : kept === 0 ? "freed in it" : `${formatBytes(kept)} kept`;
  return [["memory", formatBytes(total), h("span.q", ` in ${formatCount(n)} · ${more}`)]];
}

/** Found once a table: it may have millions of rows. */
const BLOCKS = new WeakMap<Table, readonly (readonly [number, number])[]>();

/** Rows [low, high) of each allocator and session, in which times ascend. */
function blocksOf(table: Table): readonly (readonly [number, number])[] {
  const known = BLOCKS.get(table);
  if (known) return known;
  const [allocator, session] = [numbers(table, "allocator"), numbers(table, "session")];
  const blocks: (readonly [number, number])[] = [];
  let low = 0;
  for (let row = 1; row <= table.n; row++) {
    if (row < table.n && allocator[row] === allocator[low] && session[row] === session[low]) continue;
    blocks.push([low, row]);
    low = row;
  }
  BLOCKS.set(table, blocks);
  return blocks;
}
