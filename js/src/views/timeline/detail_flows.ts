/** Turns the flows of the selected slice into rows to go along, and the kinds of flows into a switch. */
import { type Arrow, arrowsAt, type Direction, FLOW_KINDS, FLOW_LABELS, FLOW_SHORT } from "../../model/events/flows";
import { formatTime, plural } from "../../model/text/format";
import { shortName } from "../../model/text/labels";
import { button, type Child, h, toggle } from "../../ui/dom";
import { heading, keyValues, type Pair } from "./detail_parts";
import { goTo } from "./moves";
import type { TimelineState } from "./state";

const MAX_ROWS = 3;
const ALL = FLOW_KINDS.map(() => 1);

/** What started the slice and what it started, each with the time that passed in between. */
export function flowRows(state: TimelineState, event: number, signal: AbortSignal): Node[] {
  const { events, finding } = state;
  const kinds = new Set(chainKinds(state, event));
  if (kinds.size === 0) return [];
  const up = arrowsAt(events, event, "up", finding.shownKinds);
  const down = arrowsAt(events, event, "down", finding.shownKinds);
  const rows = [...pairsOf(state, up, "up", signal), ...pairsOf(state, down, "down", signal)];
  const { arrows, nMore, nAbsent } = finding.chainOf(event);
  const notes: string[] = [];
  const nFar = arrows.filter(({ hop }) => hop > 1).length;
  if (nFar > 0) notes.push(`${plural(nFar, "arrow")} further along`);
  if (nMore > 0) notes.push("more are left out");
  if (nAbsent > 0) notes.push(`${plural(nAbsent, "end")} not here yet`);
  return [
    heading("Arrows"),
    flowSwitch(state, signal, kinds),
    ...(rows.length > 0 ? [keyValues(rows)] : []),
    ...(notes.length > 0 ? [h("div.q.tl-note", notes.join(" · "))] : []),
  ];
}

/** Kinds of the arrows next to a slice, shown or not. */
function chainKinds({ events }: TimelineState, event: number): number[] {
  const next = [...arrowsAt(events, event, "up", ALL), ...arrowsAt(events, event, "down", ALL)];
  return next.map(({ kind }) => kind);
}

function pairsOf(state: TimelineState, arrows: readonly Arrow[], direction: Direction, signal: AbortSignal): Pair[] {
  const { events, meta } = state;
  const label = direction === "up" ? "started by" : "starts";
  const here = arrows.filter(({ from, to }) => events.has(direction === "up" ? from : to));
  const rows = here.slice(0, MAX_ROWS).map(({ from, to, kind }): Pair => {
    const other = direction === "up" ? from : to;
    const name = meta.names[events.name[other]];
    const waited = events.start[to] - events.endOf(from);
    const thread = state.lineNames[events.lineOf(other)];
    // A number stays on the line of its unit.
    const when = waited >= 0 ? `+${formatTime(waited)}`.replace(" ", "\u00a0") : "at once";
    const text = ` ${when} · ${thread}`;
    const more: Child = h(
      "span.q",
      { title: `${FLOW_LABELS[kind]}; from the end of the one to the start of the other` },
      text,
    );
    return [label, button(shortName(name), () => goTo(state, other), signal, { class: "link", title: name }), more];
  });
  if (here.length > MAX_ROWS) rows.push(["", h("span.q", `and ${here.length - MAX_ROWS} more`)]);
  return rows;
}

/** A button for each kind of arrow that there is, pressed while it is drawn. */
function flowSwitch(state: TimelineState, signal: AbortSignal, kinds: ReadonlySet<number>): HTMLElement {
  const { shownKinds } = state.finding;
  const buttons = FLOW_KINDS.flatMap((_, kind) => {
    if (!kinds.has(kind)) return [];
    const show = (isOn: boolean) => {
      shownKinds[kind] = Number(isOn);
      state.invalidate();
    };
    const title = `Draw the arrows of this kind: ${FLOW_LABELS[kind]}`;
    return [toggle(FLOW_SHORT[kind], shownKinds[kind] === 1, show, signal, { title })];
  });
  return h("div.tl-kinds", { role: "group", "aria-label": "Kinds of arrows that are drawn" }, ...buttons);
}
