/** Turns the trace and the link into the state of one timeline: what is loaded, in view, chosen, found and open. */
import { filledRows } from "../core/bands";
import { type Counter, fullestAllocator } from "../core/counter";
import { findSame } from "../core/event_summary";
import { buildPostings, buildRows, type Events, type Postings, type Rows, readEvents } from "../core/events";
import { type Flows, flowsOf, NO_FLOWS } from "../core/flows";
import { findGaps, type Gaps } from "../core/idle";
import { Shares } from "../core/op_shares";
import { eventsByTime, flagged, matchNames, type Query } from "../core/search";
import { isSparse, uncapturedSpans } from "../core/sessions";
import { readSteps, type Steps, typicalSteps } from "../core/steps";
import { layoutTracks, lineLabels, newTrackState, ROW_PX, reveal, type TrackLayout, yOfRow } from "../core/tracks";
import { clamp, fitRange, type Span, shows } from "../core/viewport";
import type { TraceView } from "../view";

const NONE = new Int32Array();
const PS_PER_NS = 1000;
/** Steps in the first window. */
const FIRST_STEPS = 8;
/** Gaps of a device shorter than this are launch latency, not waiting. */
const GAP_PS = 1e9;

export class TimelineState {
  events!: Events;
  rows!: Rows;
  steps!: Steps;
  counter!: Counter | null;
  family!: Uint8Array;
  layout!: TrackLayout;
  readonly tracks = newTrackState();
  bounds!: Span;
  /** Time between sessions. */
  uncaptured: readonly Span[] = [];
  /** What is on screen. */
  view!: Span;
  /** Event whose details are shown, -1 for none. */
  focus = -1;
  /** Event under the pointer, -1 for none. */
  hover = -1;
  /** Key ids: of the linked selection, and of what is hovered in any view. */
  selectedIds: Int32Array = NONE;
  hoveredIds: Int32Array = NONE;
  /** Name ids that the search matches, and the matching events in the order of time. */
  foundIds: Int32Array = NONE;
  found: Uint32Array = new Uint32Array();
  /** Height of the visible part of the tracks, kept by the view. */
  tracksHeight = 200;
  /** Asked for by `show`: the tracks scroll there with the next frame; -1 for nowhere. */
  scrollTo = -1;
  scrollTop = 0;
  #byKey: Postings | null = null;
  #byName: Postings | null = null;
  #home: Span | null = null;
  #isFilled: Uint8Array = new Uint8Array();
  /** What the label column calls the lines. */
  readonly lineNames: readonly string[];
  readonly #flows = new Map<number, Flows>();
  readonly #gaps = new Map<number, Gaps>();
  readonly #idOfName = new Map<string, number>();
  /** Which framework ops the slices of compiled programs stand for. */
  readonly shares: Shares;

  constructor(
    readonly trace: TraceView,
    /** Asks for a new frame. */
    readonly invalidate: () => void,
  ) {
    this.meta.names.forEach((name, id) => {
      this.#idOfName.set(name, id);
    });
    this.lineNames = lineLabels(this.meta);
    this.shares = new Shares(trace.data.table("op_shares"), this.meta);
    this.load();
    this.view = this.#home ?? this.bounds;
    this.readSelection();
  }

  get meta() {
    return this.trace.data.meta;
  }
  get link() {
    return this.trace.link;
  }

  /** Reads the tables: once at the start, once more when the details have come. */
  load() {
    const { data } = this.trace;
    const before = this.focus >= 0 ? this.#identity(this.focus) : null;
    this.events = readEvents(data.table("events"), this.meta);
    this.rows = buildRows(this.events, this.meta.lines.length);
    this.#isFilled = filledRows(this.events, this.rows);
    this.steps = readSteps(data.table("steps"), data.table("step_pieces"), this.meta);
    this.counter = fullestAllocator(data.table("memory"), this.meta);
    this.family = (data.table("names")?.columns.family as Uint8Array | undefined) ?? new Uint8Array();
    if (this.family.length < this.meta.names.length) this.family = new Uint8Array(this.meta.names.length).fill(7);
    this.#byKey = null;
    this.#byName = null;
    this.#gaps.clear();
    this.#flows.clear();
    this.hover = -1;
    this.focus = before ? findSame(this.events, before) : -1;
    const lastStep = this.steps.n > 0 ? this.steps.end[this.steps.n - 1] : 0;
    this.bounds = { t0: 0, t1: Math.max(1e6, this.meta.duration_ps, lastStep) };
    this.uncaptured = uncapturedSpans(this.meta.sessions);
    this.relayout();
  }

  #identity(event: number) {
    const { line, start, name } = this.events;
    return { line: line[event], start: start[event], name: name[event] };
  }

  /** The linked range; else a few typical steps, in which the reader sees who waits for whom; else the whole capture. */
  #firstView(): Span {
    const { range, steps, bounds } = this;
    if (range) return fitRange(range, bounds);
    const typical = typicalSteps(steps, FIRST_STEPS);
    if (typical) {
      const few = { t0: steps.start[typical[0]], t1: steps.end[typical[1]] };
      // A capture of little more than those is shown whole.
      return bounds.t1 - bounds.t0 < 2 * (few.t1 - few.t0) ? bounds : fitRange(few, bounds, 0.05);
    }
    const [first] = this.meta.sessions;
    return isSparse(this.meta) ? fitRange({ t0: first.start_ps, t1: first.stop_ps }, bounds, 0.05) : bounds;
  }

  get byKey(): Postings {
    this.#byKey ??= buildPostings(this.events.key, this.meta.names.length);
    return this.#byKey;
  }
  get byName(): Postings {
    this.#byName ??= buildPostings(this.events.name, this.meta.names.length);
    return this.#byName;
  }

  /** What made an event start, and what it made start; looked up once per event. */
  flowsOf(event: number): Flows {
    if (event < 0) return NO_FLOWS;
    let flows = this.#flows.get(event);
    if (!flows) {
      flows = flowsOf(this.meta, this.trace.data.table("stats"), this.events, event);
      // Only the hovered and the selected one are asked for again and again.
      if (this.#flows.size > 8) this.#flows.clear();
      this.#flows.set(event, flows);
    }
    return flows;
  }

  /** Gaps over 1 ms of a row, found once. */
  gapsOf(row: number): Gaps {
    let gaps = this.#gaps.get(row);
    if (!gaps) {
      gaps = findGaps(this.rows, row, GAP_PS, this.uncaptured);
      this.#gaps.set(row, gaps);
    }
    return gaps;
  }

  /** The linked time range in ps. */
  get range(): Span | null {
    const range = this.link.timeRange;
    return range && { t0: range[0] * PS_PER_NS, t1: range[1] * PS_PER_NS };
  }

  setRange(range: Span | null) {
    this.link.setTimeRange(range && [Math.floor(range.t0 / PS_PER_NS), Math.ceil(range.t1 / PS_PER_NS)]);
  }

  setView(view: Span) {
    this.view = clamp(view, this.bounds);
    this.invalidate();
  }

  relayout() {
    this.#home ??= this.#firstView();
    this.layout = layoutTracks(this.meta, this.rows, this.#isFilled, this.tracks, this.#home);
    this.invalidate();
  }

  /** Key ids of names; of an op that no slice is most of, those of the slices that it is fused into. */
  idsOf(names: readonly string[]): Int32Array {
    const ids = names.flatMap((name) => this.#idOfName.get(name) ?? []);
    if (this.shares.isEmpty) return Int32Array.from(ids);
    return Int32Array.from(new Set(ids.flatMap((id) => (this.isDrawn(id) ? [id] : [id, ...this.shares.drawnAs(id)]))));
  }

  /** Whether slices have this key. */
  isDrawn(id: number): boolean {
    return this.byKey.offset[id + 1] > this.byKey.offset[id];
  }

  /** Takes the linked selection; the shown event goes when it is no longer part of it. */
  readSelection() {
    this.selectedIds = this.idsOf(this.link.selection);
    if (this.focus >= 0 && !this.selectedIds.includes(this.events.key[this.focus])) this.focus = -1;
    if (this.focus < 0) this.#scrollToSelection();
    this.invalidate();
  }

  /** What another view selected must be seen if it is in the window at all: scrolls, but does not pan. */
  #scrollToSelection() {
    const { events, view, layout, scrollTop, tracksHeight } = this;
    let longest = -1;
    for (const id of this.selectedIds) {
      for (let p = this.byKey.offset[id]; p < this.byKey.offset[id + 1]; p++) {
        const event = this.byKey.order[p];
        if (events.start[event] >= view.t1 || events.start[event] + events.duration[event] < view.t0) continue;
        const y = yOfRow(layout, events.line[event], events.depth[event]);
        if (y !== null && y >= scrollTop && y + ROW_PX <= scrollTop + tracksHeight) return;
        if (longest < 0 || events.duration[event] > events.duration[longest]) longest = event;
      }
    }
    if (longest >= 0) this.scrollToTrack(longest);
  }

  /** Makes an event the selected one, here and in the other views; -1 selects nothing. */
  select(event: number) {
    this.focus = event;
    this.link.setSelection(event >= 0 ? [this.meta.names[this.events.key[event]]] : []);
    this.invalidate();
  }

  /** Brings an event into the window: opens its track, scrolls, pans. */
  show(event: number) {
    const { events } = this;
    this.scrollToTrack(event);
    this.showSpan({ t0: events.start[event], t1: events.start[event] + events.duration[event] });
  }

  /** Opens what hides an event's track and scrolls there. */
  scrollToTrack(event: number) {
    const { events } = this;
    // Twice: a line that was folded away may then still hide the depth.
    for (let i = 0; i < 2; i++) {
      if (reveal(this.meta, this.layout, this.tracks, events.line[event], events.depth[event])) this.relayout();
    }
    const y = yOfRow(this.layout, events.line[event], events.depth[event]);
    if (y !== null && (y < this.scrollTop || y + ROW_PX > this.scrollTop + this.tracksHeight)) {
      this.scrollTo = Math.max(0, y - this.tracksHeight / 3);
    }
  }

  /** Pans to a span that is out of sight, and zooms out for one that is longer than the window. */
  showSpan(span: Span) {
    const window = this.view.t1 - this.view.t0;
    if (shows(this.view, span)) this.invalidate();
    else if (span.t1 - span.t0 > window) this.setView(fitRange(span, this.bounds));
    else {
      const middle = (span.t0 + span.t1) / 2;
      this.setView({ t0: middle - window / 2, t1: middle + window / 2 });
    }
  }

  /** Takes a search; throws a SyntaxError for a regular expression that is none. */
  search(query: Query) {
    this.foundIds = flagged(matchNames(this.meta.names, query));
    this.found = eventsByTime(this.events, this.byName, this.foundIds);
    this.invalidate();
  }
}
