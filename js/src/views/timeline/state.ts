/** Turns the trace and the link into the state of one timeline: what is here, in view, chosen, found and open. */
import type { Events, Rows } from "../../model/events/events";
import { Hits } from "../../model/events/hits";
import { findGaps, type Gaps } from "../../model/events/idle";
import { coveredTime } from "../../model/events/lod";
import { Marks } from "../../model/events/marks";
import { RowFindings } from "../../model/events/row_findings";
import { countFlagged, flagged, matchNames, type Query } from "../../model/events/search";
import { Shares } from "../../model/ops/op_shares";
import { formatTime } from "../../model/text/format";
import { isSparse, uncapturedSpans } from "../../model/time/sessions";
import { describeRange } from "../../model/time/span_text";
import { readSteps, type Steps, typicalSteps } from "../../model/time/steps";
import { clamp, fitRange, type Span, shows } from "../../model/time/viewport";
import { isInSight } from "../../model/tracks/pinning";
import { layoutTracks, lineLabels, ROW_PX, reveal, type TrackLayout, yOfRow } from "../../model/tracks/tracks";
import { CATEGORIES } from "../../model/wire/categories";
import type { TraceView } from "../../ui/view";
import { Board } from "./board";
import { drawnKeys, flagsOfKeys, longestMarked } from "./chosen";
import { Finding } from "./finding";
import { HostSteps } from "./host_steps";
import { SearchTexts } from "./search_texts";
import { StreamLevels } from "./stream_levels";

const NONE = new Int32Array();
const PS_PER_NS = 1000;
/** Steps in the first window. */
const FIRST_STEPS = 8;
/** Gaps of a device shorter than this are launch latency, not waiting. */
const GAP_PS = 1e9;
/** Part of a frame in which marks go on. */
const MARK_MS = 4;

export class TimelineState {
  readonly events: Events;
  readonly rows: Rows;
  /** Of all hosts. */
  steps!: Steps;
  /** What of it is host by host, and the steps of the head. */
  hosted!: HostSteps;
  /** By category whether the last frame had it in a strip. */
  readonly shownCategories = new Uint8Array(CATEGORIES.length);
  readonly family: Uint8Array;
  layout!: TrackLayout;
  /** What the reader set up and marked. */
  readonly board: Board;
  /** Told when the cursor moved: that paints nothing. */
  onCursor: () => void = () => {};
  bounds!: Span;
  /** How far panning and zooming go where that is not the bounds, as beside the timeline of another capture. */
  limits: Span | null = null;
  /** Told when the window, or how far it may go, has changed. */
  onView: () => void = () => {};
  /** Time between sessions. */
  readonly uncaptured: readonly Span[];
  /** What is on screen. */
  view!: Span;
  /** Event whose details are shown, -1 for none. */
  focus = -1;
  /** Event under the pointer, -1 for none. */
  hover = -1;
  /** Key ids: of the linked selection, and of what is hovered in any view. */
  selectedIds: Int32Array = NONE;
  hoveredIds: Int32Array = NONE;
  /** Events of the selection; null without one. */
  selected: Marks | null = null;
  /** Name ids that the search matches, and their events; null without a search. */
  foundIds: Int32Array = NONE;
  found: Marks | null = null;
  /** Matches of the search by their own names. */
  #nNamed = 0;
  readonly finding: Finding;
  /** Height of the visible part of the tracks, kept by the view. */
  tracksHeight = 200;
  /** Asked for by `show`: the tracks scroll there with the next frame; -1 for nowhere. */
  scrollTo = -1;
  scrollTop = 0;
  #home: Span | null = null;
  /** The selection came from elsewhere and has not been scrolled to yet. */
  #isScrollDue = false;
  /** What the label column calls the lines. */
  readonly lineNames: readonly string[];
  readonly #gaps: RowFindings<Gaps>;
  readonly levels: StreamLevels;
  readonly #idOfName = new Map<string, number>();
  #namesGeneration = -1;
  readonly #drawn: Uint8Array;
  /** Which framework ops the slices of compiled programs stand for. */
  readonly shares: Shares;
  readonly texts: SearchTexts;

  constructor(
    readonly trace: TraceView,
    /** Asks for a new frame. */
    readonly invalidate: () => void,
  ) {
    const { data } = trace;
    this.events = data.events;
    this.rows = this.events.rows;
    this.family = (data.table("names")?.columns.family as Uint8Array | undefined) ?? new Uint8Array();
    this.uncaptured = uncapturedSpans(this.meta.sessions);
    this.lineNames = lineLabels(this.meta);
    this.shares = new Shares(data.table("op_shares"), this.meta);
    this.#drawn = drawnKeys(data, this.shares);
    this.texts = new SearchTexts(this);
    this.#gaps = new RowFindings(this.events, (row) => findGaps(this.events, row, GAP_PS, this.uncaptured));
    this.levels = new StreamLevels(this);
    this.finding = new Finding(this.events, this.meta);
    this.board = new Board(trace, () => this.relayout());
    this.readTables();
    this.view = this.#home ?? this.bounds;
    this.readSelection();
  }

  get meta() {
    return this.trace.data.meta;
  }
  get link() {
    return this.trace.link;
  }
  get tracks() {
    return this.board.tracks;
  }

  /** Reads what may come after the first frame: steps, memory. */
  readTables() {
    const { data } = this.trace;
    this.steps = readSteps(data.table("steps"), data.table("step_pieces"), this.meta);
    if (this.hosted === undefined) this.hosted = new HostSteps(this.trace, this.steps);
    else this.hosted.read(this.steps);
    const lastStep = this.steps.n > 0 ? this.steps.end[this.steps.n - 1] : 0;
    this.bounds = { t0: 0, t1: Math.max(1e6, this.meta.duration_ps, lastStep) };
    this.levels.clear();
    this.relayout();
    this.onView();
  }

  /** Another host is what all views are about: it comes first, and its steps to the head. */
  readHost() {
    this.hosted.choose();
    this.scrollTo = 0;
    this.relayout();
  }

  /** The span that panning and zooming stay within. */
  get reach(): Span {
    return this.limits ?? this.bounds;
  }

  /** The linked range; else a few typical steps, in which the reader sees who waits for whom; else the whole capture. */
  #firstView(): Span {
    const { range, bounds } = this;
    const { head: steps } = this.hosted;
    const { home } = this.meta;
    if (range) return fitRange(range, bounds);
    if (home) return clamp({ t0: home[0], t1: home[1] }, bounds);
    const typical = typicalSteps(steps, FIRST_STEPS);
    if (typical) {
      const few = { t0: steps.start[typical[0]], t1: steps.end[typical[1]] };
      // A capture of little more than those is shown whole.
      return bounds.t1 - bounds.t0 < 3 * (few.t1 - few.t0) ? bounds : fitRange(few, bounds, 0.05);
    }
    const [first] = this.meta.sessions;
    return isSparse(this.meta) ? fitRange({ t0: first.start_ps, t1: first.stop_ps }, bounds, 0.05) : bounds;
  }

  /** Marks go on for a part of a frame; whether there is more to mark. */
  advance(): boolean {
    const stop = performance.now() + MARK_MS;
    const isOver = () => performance.now() > stop;
    let isMore = false;
    for (const marks of [this.selected, this.found]) {
      marks?.advance(isOver);
      isMore ||= marks !== null && !marks.isUpToDate;
    }
    if (this.#isScrollDue && this.selected) this.#scrollToSelection(this.selected, !isMore);
    return isMore;
  }

  /** Gaps over 1 ms of a row. */
  gapsOf(row: number): Gaps {
    return this.#gaps.of(row);
  }

  /** The linked time range in ps. */
  /** The time of which only the longest slices are here, and no more is to come. */
  get sampled(): Span[] {
    const { isOffline, isFull } = this.trace.data.eventsState;
    if (this.events.n === 0 || (!isOffline && !isFull)) return [];
    return this.events.runs.filter(({ isSample }) => isSample).map(({ span }) => span);
  }

  get range(): Span | null {
    const range = this.link.timeRange;
    return range && { t0: range[0] * PS_PER_NS, t1: range[1] * PS_PER_NS };
  }

  /** What a pane is about, in words: the range, or the window where there is none. */
  aboutSpan(span: Span): string {
    const { meta, trace, range } = this;
    if (range) return describeRange(meta, trace.data.table("steps"), [range.t0, range.t1]);
    // From when to when the toolbar says already.
    return `window of ${formatTime(span.t1 - span.t0)}`;
  }

  setRange(range: Span | null) {
    this.link.setTimeRange(range && [Math.floor(range.t0 / PS_PER_NS), Math.ceil(range.t1 / PS_PER_NS)]);
  }

  setView(view: Span) {
    this.view = clamp(view, this.reach);
    this.onView();
    this.invalidate();
  }

  relayout() {
    this.#home ??= this.#firstView();
    const home = this.#home;
    const { meta, rows, lineNames, events } = this;
    const hosts = this.hosted.source;
    const work = (line: number) => coveredTime(events, rows.firstRow[line], home);
    this.layout = layoutTracks(
      { meta, rows, work, lineNames, counterNames: this.board.counterNames, levels: this.levels.known, hosts },
      this.tracks,
    );
    this.invalidate();
  }

  /** Key ids of names; of an op that no slice is most of, those of the slices that it is fused into. */
  idsOf(names: readonly string[]): Int32Array {
    this.#readNames();
    const ids = names.flatMap((name) => this.#idOfName.get(name) ?? []);
    if (this.shares.isEmpty) return Int32Array.from(ids);
    return Int32Array.from(new Set(ids.flatMap((id) => (this.isDrawn(id) ? [id] : [id, ...this.shares.drawnAs(id)]))));
  }

  /** Names that came late are found from then on. */
  #readNames() {
    const { namesGeneration } = this.trace.data;
    if (this.#namesGeneration === namesGeneration) return;
    this.#namesGeneration = namesGeneration;
    for (let id = 0; id < this.meta.names.length; id++) this.#idOfName.set(this.meta.names[id], id);
  }

  /** Whether slices have this key. */
  isDrawn(id: number): boolean {
    return this.#drawn[id] === 1;
  }

  /** Takes the linked selection; the shown event goes when it is no longer part of it. */
  readSelection() {
    this.selectedIds = this.idsOf(this.link.selection);
    this.selected =
      this.selectedIds.length > 0 ? new Marks(this.events, flagsOfKeys(this.meta, this.selectedIds)) : null;
    if (this.focus >= 0 && !this.selectedIds.includes(this.events.keyOf(this.focus))) this.focus = -1;
    this.#isScrollDue = this.focus < 0 && this.selected !== null;
    this.invalidate();
  }

  /** What another view selected must be seen if it is in the window at all: scrolls, but does not pan. */
  #scrollToSelection(selected: Marks, isLast: boolean) {
    const { layout, scrollTop, tracksHeight, events } = this;
    const longest = longestMarked(events, selected, this.view, (row) => {
      const y = yOfRow(layout, events.rows.line[row], events.rows.depth[row]);
      return y !== null && isInSight(layout, scrollTop, tracksHeight, y, ROW_PX);
    });
    if (longest === "seen") this.#isScrollDue = false;
    if (longest === "seen" || !isLast) return;
    this.#isScrollDue = false;
    if (longest >= 0) this.scrollToTrack(longest);
  }

  /** Makes an event the selected one, here and in the other views; -1 selects nothing. */
  select(event: number) {
    this.focus = event;
    this.link.setSelection(event >= 0 ? [this.meta.names[this.events.keyOf(event)]] : []);
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
    const [line, depth] = [events.lineOf(event), events.depthOf(event)];
    for (let i = 0; i < 2; i++) {
      if (reveal(this.meta, this.layout, this.tracks, line, depth)) this.relayout();
    }
    const y = yOfRow(this.layout, line, depth);
    if (y !== null && !isInSight(this.layout, this.scrollTop, this.tracksHeight, y, ROW_PX)) {
      this.scrollTo = Math.max(0, y - this.tracksHeight / 3);
      // What was selected elsewhere is looked for while a frame is drawn: the next one scrolls there.
      this.invalidate();
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

  /** Takes a search; `flags`: which of `texts` it matches, one each. */
  search(query: Query, flags = matchNames(this.texts.texts, query)) {
    const { bounds, events, texts, meta } = this;
    const names = flags.subarray(0, meta.names.length);
    const units = texts.units(flags);
    this.foundIds = flagged(names);
    const isAny = this.foundIds.length > 0 || units !== null;
    this.found = isAny ? new Marks(events, { names, ops: null, units }, new Hits(bounds)) : null;
    this.#nNamed = countFlagged(names, this.trace.data.table("names")?.columns.count as Uint32Array);
    this.invalidate();
  }

  /** Matches in the whole capture, here or not; at least so many where `isCounted` is false. */
  get nFound(): number {
    return Math.max(this.#nNamed, this.found?.n ?? 0);
  }

  /** How many slices ops launched, whatever those are called, is known once all are here. */
  get isCounted(): boolean {
    const { found, events } = this;
    return !found?.flags.units || (events.isComplete && found.isUpToDate);
  }
}
