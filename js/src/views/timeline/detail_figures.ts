/** Turns a slice or an op into what all slices of it took: in the range, a step, and inside; worked out in parts of frames. */

import { Inside, KeyFigures } from "../../model/events/key_figures";
import { formatCount, formatLength, formatTime, plural } from "../../model/text/format";
import { KEEP_ALL, NOT_KNOWN } from "../../model/time/left_out";
import { FAMILIES } from "../../model/wire/categories";
import { button, h } from "../../ui/dom";
import { distinctLabels, dotStrip, heading, keyValues, MAX_DOTS, type Pair } from "./detail_parts";
import { goTo } from "./moves";
import type { TimelineState } from "./state";

const MAX_INSIDE = 5;

/** A place of the pane that is filled when its figures are there; the old content stays until then. */
export interface Filling {
  readonly element: HTMLElement;
  /** A part of a frame; whether it is done. */
  step(isOver: () => boolean): boolean;
}

/**
 * Events that count together with an event: the same side of the op, the same name, and not its copies on derived lines.
 * A reduced profile has nothing but such lines: its longest events are copies of what it left behind.
 */
function peersOf({ events, meta }: TimelineState, event: number): (other: number) => boolean {
  const isDerived = (position: number) => !meta.is_reduced && meta.lines[events.lineOf(position)].is_derived;
  if (event < 0) return (other) => !isDerived(other);
  const [op, name, own] = [events.op[event], events.name[event], isDerived(event)];
  return (other) => events.op[other] === op && events.name[other] === name && isDerived(other) === own;
}

/**
 * How many slices of a key, how long, in the range or the whole capture.
 * @param event one of them, -1 for none
 */
export function sameSlices(state: TimelineState, id: number, event: number, signal: AbortSignal): Filling {
  const { events, range, selected, bounds } = state;
  const element = h("div");
  if (!selected) return { element, step: () => true };
  if (!events.hasAll(range ?? bounds)) {
    const all = markAll(state, event, signal);
    element.append(keyValues([notKnown(range ? "in range" : "in all"), ...(all ? [all] : [])]));
    return { element, step: () => true };
  }
  const counts = peersOf(state, event);
  const figures = new KeyFigures(events, selected, id, { span: range, nSteps: 0, counts, limit: 1 });
  const step = (isOver: () => boolean) => {
    if (!selected.isUpToDate || !figures.step(isOver)) return false;
    element.replaceChildren(keyValues(rowsOf(state, figures, event, signal)));
    return true;
  };
  return { element, step };
}

function rowsOf(state: TimelineState, figures: KeyFigures, event: number, signal: AbortSignal): Pair[] {
  const { count, totalPs, minPs, maxPs, longest } = figures;
  const { range, meta } = state;
  const more = meta.is_reduced ? h("span.q", " · of the events here") : "";
  const isInstant = count > 0 && maxPs === 0;
  const total = isInstant ? (count > 1 ? "all instant" : "instant") : formatTime(totalPs);
  const rows: Pair[] = [[range ? "in range" : "in all", `${formatCount(count)} × · ${total}`, more]];
  if (count > 1 && !isInstant) {
    rows.push(["mean", formatTime(totalPs / count), ` · min ${formatTime(minPs)}`]);
  }
  if (longest >= 0 && longest !== event) {
    const go = () => goTo(state, longest);
    const title = isInstant ? "Go to the first" : "Go to the longest";
    const link = button(formatLength(maxPs), go, signal, { class: "link", title });
    rows.push([count === 1 ? "its slice" : isInstant ? "first" : "longest", link]);
  } else if (longest >= 0 && count > 1 && !isInstant) rows.push(["longest", "this one"]);
  const all = markAll(state, event, signal);
  return all ? [...rows, all] : rows;
}

function markAll({ events, finding }: TimelineState, event: number, signal: AbortSignal): Pair | null {
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
export function usualStrip(state: TimelineState, id: number, event: number): Filling {
  const { events, steps, selected } = state;
  const element = h("div");
  if (!selected || !events.isComplete) return { element, step: () => true };
  const counts = peersOf(state, event);
  const figures = new KeyFigures(events, selected, id, { span: null, nSteps: steps.n, counts, limit: MAX_DOTS });
  const step = (isOver: () => boolean) => {
    if (!selected.isUpToDate || !figures.step(isOver)) return false;
    element.replaceChildren(...stripOf(state, figures, event));
    return true;
  };
  return { element, step };
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

/** What a slice spends its time in. */
export function insideRows(state: TimelineState, event: number): Filling {
  const { events } = state;
  const inside = new Inside(events, event);
  const element = h("div");
  if (!events.hasAll({ t0: events.start[event], t1: events.endOf(event) })) return { element, step: () => true };
  const step = (isOver: () => boolean) => {
    if (!inside.step(isOver)) return false;
    element.replaceChildren(...barsOf(state, inside));
    return true;
  };
  return { element, step };
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
