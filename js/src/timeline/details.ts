/** Turns the selected slice (or the op selected in another view) into the details pane. */
import { insideOf, sampleDurations, summarizeKey, timePerStep } from "../core/event_summary";
import { formatCount, formatInstant, formatPercent, formatTime, plural } from "../core/format";
import { shortName } from "../core/labels";
import { FAMILIES, FAMILY_LABELS } from "../core/meta";
import { statsOfEvent } from "../core/stats";
import { stepAt } from "../core/steps";
import { button, type Child, h, svg } from "../draw/dom";
import type { TimelineState } from "./state";

const MAX_INSIDE = 5;
const LONG_NAME = 110;
const MAX_FLOWS = 3;
const MAX_DOTS = 400;
/** Ids that only link events inside the file tell the reader nothing by themselves; they come last. */
const INTERNAL_STAT = /^_|^(correlation_id|group_id|id|producer_id|consumer_id)$/;

export class Details {
  #shown = "";

  constructor(
    readonly pane: HTMLElement,
    readonly live: HTMLElement,
    readonly state: TimelineState,
    readonly signal: AbortSignal,
  ) {}

  /** Brings the pane up to date; cheap when the selection, the range and the data are as before. */
  update() {
    const { focus, events, selectedIds, range, link } = this.state;
    const about = [focus, events.n, selectedIds.join(), link.selection.join("\n")].join("|");
    const key = [about, range?.t0, range?.t1].join("|");
    if (key === this.#shown) return;
    // A new range changes figures, not what is read.
    if (!this.#shown.startsWith(about)) this.pane.scrollTop = 0;
    this.#shown = key;
    if (focus >= 0) this.#showEvent(focus);
    else if (link.selection.length > 0) this.#showSelection();
    else this.#showNothing();
  }

  #showNothing() {
    this.live.textContent = "";
    this.pane.replaceChildren(
      h("h2", {}, "Nothing selected"),
      h(
        "p",
        { class: "q" },
        "Click a slice for its op, time and stats. Drag over the ruler to select a range: the other views are then about that range.",
      ),
      h("div", { class: "sub" }, "Legend of the slices"),
      ...FAMILIES.map((family) =>
        h(
          "div",
          { class: "tl-legend" },
          h("i", { style: `background:var(--s-${family});border-left:2px solid var(--e-${family})` }),
          FAMILY_LABELS[family],
        ),
      ),
    );
  }

  #showEvent(event: number) {
    const { state } = this;
    const { events, meta, steps } = state;
    const name = meta.names[events.name[event]];
    const duration = events.duration[event];
    const step = events.step[event] >= 0 ? events.step[event] : stepAt(steps, events.start[event]);
    const share = step >= 0 ? ` · ${formatPercent(duration / (steps.end[step] - steps.start[step]))} of step` : "";
    this.live.textContent = `Selected ${name}, ${formatTime(duration)}${step >= 0 ? `, step ${steps.names[step]}` : ""}`;
    const rows: [string, Child, Child?][] = [
      ["type", typeOf(state, event)],
      ["duration", h("b", {}, formatTime(duration)), share],
      ["self", formatTime(events.self[event])],
      ["start", formatInstant(events.start[event], 1e6)],
    ];
    if (step >= 0) rows.push(["step", `${steps.names[step]}${steps.isInferred ? " (inferred)" : ""}`]);
    rows.push(this.#inRange(events.key[event], event));
    const line = events.line[event];
    rows.push(["thread", h("span", { title: meta.lines[line].name }, state.lineNames[line])]);
    this.pane.replaceChildren(
      ...title(name),
      keyValues(rows),
      ...this.#compiled(event),
      ...this.#flows(event),
      ...this.#inside(event),
      ...this.#strip(events.key[event], event),
      ...this.#stats(event),
    );
  }

  /** An op that another view selected: how often and how long, and the way to its longest slice. */
  #showSelection() {
    const { state } = this;
    const { link, meta, byKey, events, range, selectedIds } = state;
    this.live.textContent = `Selected ${link.selection.join(", ")}`;
    const children: Node[] = [
      ...title(link.selection.length === 1 ? link.selection[0] : plural(link.selection.length, "op")),
    ];
    const drawn = selectedIds.filter((id) => state.isDrawn(id));
    if (selectedIds.length === 0) {
      children.push(h("p", { class: "q" }, "No slice of this trace has this name."));
    } else if (drawn.length > 0 && drawn.length < selectedIds.length) {
      const cut = drawn.length > MAX_INSIDE ? `; ${MAX_INSIDE} of ${drawn.length} are listed` : "";
      children.push(
        h(
          "p",
          { class: "q" },
          `XLA compiled it together with other ops. Marked are the slices with a share of it${cut}:`,
        ),
      );
    }
    for (const id of (drawn.length > 0 ? drawn : selectedIds).slice(0, MAX_INSIDE)) {
      const { longest, totalPs, count } = summarizeKey(events, byKey, id, range, this.#peersOf(-1));
      if (selectedIds.length > 1) children.push(h("div", { class: "sub" }, meta.names[id]));
      const rows: [string, Child][] = [this.#inRange(id, -1)];
      if (count > 0) rows.push(["average", formatTime(totalPs / count)]);
      if (longest >= 0) {
        const go = () => {
          state.select(longest);
          state.show(longest);
        };
        rows.push(["longest", button(formatTime(events.duration[longest]), go, this.signal, { class: "link" })]);
      }
      children.push(keyValues(rows));
      if (selectedIds.length === 1) children.push(...this.#strip(id, -1));
    }
    this.pane.replaceChildren(...children);
  }

  /** Events that count together with an event: the same side of the op, and not its copies on derived lines. */
  #peersOf(event: number): (other: number) => boolean {
    const { events, meta } = this.state;
    const isDerived = (e: number) => meta.lines[events.line[e]].is_derived;
    if (event < 0) return (other) => !isDerived(other);
    return (other) => events.op[other] === events.op[event] && isDerived(other) === isDerived(event);
  }

  #inRange(id: number, event: number): [string, string] {
    const { events, byKey, range } = this.state;
    const { count, totalPs } = summarizeKey(events, byKey, id, range, this.#peersOf(event));
    return [range ? "in range" : "in all", `${formatCount(count)} × · ${formatTime(totalPs)}`];
  }

  /** What started it and what it started, to go there; with the time that passed in between. */
  #flows(event: number): Node[] {
    const { state } = this;
    const { events, meta } = state;
    const { from, to } = state.flowsOf(event);
    const row = (label: string, other: number, waited: number): readonly [string, Child, Child] => {
      const name = meta.names[events.name[other]];
      const go = () => {
        state.select(other);
        state.show(other);
      };
      const link = button(shortName(name), go, this.signal, { class: "link", title: name });
      return [label, link, ` ${waited >= 0 ? `+${formatTime(waited)}` : ""}`];
    };
    const rows = [
      ...from.slice(0, MAX_FLOWS).map((other) => row("started by", other, events.start[event] - events.start[other])),
      ...to.slice(0, MAX_FLOWS).map((other) => row("starts", other, events.start[other] - events.start[event])),
    ];
    return rows.length > 0 ? [keyValues(rows)] : [];
  }

  /** The framework ops that a slice of a compiled program stands for, and how much of it each is. */
  #compiled(event: number): Node[] {
    const { state } = this;
    const { events, meta, shares, link } = state;
    const found = events.op[event] >= 0 ? shares.ofUnit(events.unit[event]) : [];
    if (found.length === 0 || (found.length === 1 && meta.op_name[found[0].op] === events.name[event])) return [];
    const rows = found.slice(0, MAX_INSIDE).map(({ op, ratio }): readonly [string, Child] => {
      const name = meta.names[meta.op_name[op]];
      const go = () => link.setSelection([name]);
      return [formatPercent(ratio), button(shortName(name), go, this.signal, { class: "link", title: name })];
    });
    const cut = found.length > rows.length ? ` (${rows.length} of ${found.length})` : "";
    return [h("div", { class: "sub" }, `Compiled from${cut}`), keyValues(rows)];
  }

  #inside(event: number): Node[] {
    const { events, meta, family } = this.state;
    const rows = insideOf(events, event);
    if (rows.length < 2) return [];
    const shown = rows.slice(0, MAX_INSIDE);
    const rest = rows.slice(MAX_INSIDE);
    const most = shown[0].selfPs || 1;
    const labels = distinctLabels(shown.map((row) => meta.names[row.name]));
    const lines = shown.map(({ name, count, selfPs }, i) => {
      const label = count > 1 ? `${labels[i]} × ${formatCount(count)}` : labels[i];
      const bar = h("i", {
        style: `width:${Math.max(1, (selfPs / most) * 100)}%;background:var(--e-${FAMILIES[family[name]]})`,
      });
      return h(
        "div",
        { class: "ib", title: meta.names[name] },
        h("span", {}, label),
        bar,
        h("span", {}, formatTime(selfPs)),
      );
    });
    if (rest.length > 0) {
      const time = rest.reduce((sum, row) => sum + row.selfPs, 0);
      lines.push(
        h("div", { class: "ib" }, h("span", {}, `${rest.length} more`), h("i", {}), h("span", {}, formatTime(time))),
      );
    }
    return [h("div", { class: "sub" }, "Inside it, self time"), ...lines];
  }

  /** Dots on one time axis: is this slice usual? */
  #strip(id: number, event: number): Node[] {
    const { events, byKey, steps } = this.state;
    const perStep = timePerStep(events, byKey, id, steps.n, this.#peersOf(event));
    const ownStep = event < 0 ? -1 : events.step[event];
    // Steps left out of the averages (the first compiles) would squeeze the others into one dot.
    const isShown = (t: number, step: number) => !Number.isNaN(t) && (steps.isAveraged[step] === 1 || step === ownStep);
    const times = perStep.length > 0 ? perStep.filter(isShown) : sampleDurations(events, byKey, id, MAX_DOTS);
    if (times.length < 3) return [];
    const own = event < 0 ? Number.NaN : perStep.length > 0 ? perStep[ownStep] : events.duration[event];
    const heading =
      perStep.length > 0
        ? `This op in ${times.length === steps.n ? "all " : ""}${plural(times.length, "step")}, time a step`
        : `All ${formatCount(byKey.offset[id + 1] - byKey.offset[id])} slices of this op, duration`;
    return [h("div", { class: "sub" }, heading), dotStrip(times, own)];
  }

  #stats(event: number): Node[] {
    const { trace, meta, events } = this.state;
    const stats = statsOfEvent(trace.data.table("stats"), meta.names, events, event);
    if (stats.length === 0) return [];
    stats.sort((a, b) => Number(INTERNAL_STAT.test(a.key)) - Number(INTERNAL_STAT.test(b.key)));
    return [
      h("div", { class: "sub" }, "Stats in the trace"),
      keyValues(stats.map(({ key, value }) => [key, h("span", { class: "tl-stat" }, value)])),
    ];
  }
}

/** The name; of one that would fill the pane (C++ kernels) the telling part, and the whole in a box of its own. */
function title(name: string): Node[] {
  if (name.length <= LONG_NAME) return [h("h2", {}, name)];
  return [h("h2", {}, shortName(name)), h("div", { class: "tl-full", tabindex: 0, "aria-label": "Full name" }, name)];
}

function typeOf(state: TimelineState, event: number): string {
  const { events, meta, family } = state;
  const op = events.op[event];
  if (op >= 0) {
    const where = meta.op_device[op] === 1 ? "device" : "host";
    return `${meta.names[meta.op_type[op]]} · ${where} op${meta.op_eager[op] === 1 ? ", eager" : ""}`;
  }
  return FAMILY_LABELS[FAMILIES[family[events.name[event]]]];
}

/** Short names, but never the same one for two different names. */
function distinctLabels(names: readonly string[]): string[] {
  const short = names.map(shortName);
  return short.map((label, i) => (short.indexOf(label) === short.lastIndexOf(label) ? label : names[i]));
}

function keyValues(rows: readonly (readonly [string, Child, Child?])[]): HTMLElement {
  return h("div", { class: "kv" }, ...rows.flatMap(([key, ...value]) => [h("span", {}, key), h("div", {}, ...value)]));
}

function dotStrip(times: Float64Array, own: number): SVGElement {
  const stride = Math.max(1, Math.ceil(times.length / MAX_DOTS));
  const low = times.reduce((a, b) => Math.min(a, b));
  const high = times.reduce((a, b) => Math.max(a, b));
  const x = (time: number) => (high > low ? 4 + ((time - low) / (high - low)) * 172 : 90).toFixed(1);
  const label = `From ${formatTime(low)} to ${formatTime(high)}${Number.isNaN(own) ? "" : `, this one ${formatTime(own)}`}`;
  const strip = svg("svg", {
    class: "tl-dots",
    viewBox: "0 0 180 34",
    width: 180,
    height: 34,
    role: "img",
    "aria-label": label,
  });
  strip.append(svg("line", { x1: 4, x2: 176, y1: 20.5, y2: 20.5, class: "axis" }));
  for (let i = 0; i < times.length; i += stride) strip.append(svg("circle", { cx: x(times[i]), cy: 14, r: 2 }));
  if (!Number.isNaN(own)) strip.append(svg("path", { d: `M${x(own)} 20v-12`, class: "own" }));
  strip.append(svg("text", { x: 4, y: 32 }, formatTime(low)));
  if (high > low) strip.append(svg("text", { x: 176, y: 32, "text-anchor": "end" }, formatTime(high)));
  return strip;
}
