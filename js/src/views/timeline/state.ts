/** The state of one timeline: what is here, in view, selected, found and open. */

import { clamp, columns, fitRange, lowerBound, numbers, PS_PER_NS, type Span, shows } from "../../data/columns";
import { type Events, firstVisible, type Rows } from "../../data/events";
import { LateSave } from "../../data/link";
import { CATEGORIES, type TraceMeta } from "../../data/meta";
import { EMPTY_TABLE } from "../../data/pack";
import type { TraceData } from "../../data/store";
import { atEnd } from "../../data/widget";
import { Aggregate, newCache } from "../../model/aggregate";
import {
  type Arrangement,
  arrangementToJson,
  type Bookmark,
  bookmarkOf,
  bookmarksToJson,
  keyOf,
  newArrangement,
  readArrangement,
  readBookmarks,
  type TrackKey,
  withBookmark,
} from "../../model/arrangement";
import {
  type ColorBy,
  type ColorScheme,
  nameCategories,
  namedParts,
  newColorScheme,
  readFamilies,
} from "../../model/colors";
import { allSteps, type HeadSteps, type HostStrip, hostNamesThatFit, hostStrips, stepsOfHost } from "../../model/hosts";
import { type Counter, coveredTime, fullestAllocator, readCounters, spliceWindow } from "../../model/lod";
import { opLabel } from "../../model/names";
import { PHASES, Shares } from "../../model/ops";
import { describeRange, stepWords, uncapturedSpans } from "../../model/range";
import {
  type Arrow,
  arrowsAt,
  type Chain,
  chainOf,
  type Direction,
  FLOW_KINDS,
  findGaps,
  findSpans,
  follow,
  type Gaps,
  LEVELS,
  type LevelName,
  NO_CHAIN,
  RowFindings,
  type Spans,
} from "../../model/rows";
import { countFlagged, type Flags, flagged, Hits, Marks, matchNames, type Query } from "../../model/search";
import { readSteps, type Steps } from "../../model/steps";
import { formatTime } from "../../model/text";
import {
  type HostSource,
  hostSource,
  isInSight,
  layoutTracks,
  lineLabels,
  ROW_PX,
  reveal,
  type TrackLayout,
  yOfRow,
} from "../../model/tracks";
import type { TraceView } from "../../ui/view";

const SAVE_AFTER_MS = 200;
/** What is asked for overtakes the events on the screen: until then the outline of the counters does. */
const ASK_AFTER_MS = 1500;
const TABLES = ["counters", "counter_sample"] as const;

class Board {
  readonly tracks: Arrangement;
  bookmarks: readonly Bookmark[] = [];
  counters: readonly Counter[] = [];
  readonly counterNames: readonly string[];
  /** Moment of the reader: under the pointer, or moved by keys; null for none. */
  cursor: number | null = null;
  shownColors = new Uint8Array();
  readonly #untouched: Arrangement;
  #colors: ColorScheme | null = null;
  #namesGeneration = -1;
  readonly #saved: LateSave;

  constructor(
    readonly trace: TraceView,
    /** Called after anything here changed, by this view or by another holder of the model. */
    readonly onChange: () => void,
  ) {
    const { model, signal, data } = trace;
    const fullest = fullestAllocator(data.meta);
    const pinned: TrackKey[] = fullest < 0 ? [] : [keyOf("counter", fullest)];
    this.#saved = new LateSave(model, SAVE_AFTER_MS, signal);
    this.#untouched = newArrangement(pinned);
    this.tracks = newArrangement(pinned);
    this.counterNames = (data.meta.counters ?? []).map((counter) => counter.name);
    this.#readModel();
    this.readCounters();
    const onModel = () => {
      this.#readModel();
      onChange();
    };
    for (const name of ["change:bookmarks", "change:arrangement"]) {
      model.on(name, onModel);
      atEnd(signal, () => model.off(name, onModel));
    }
    const onCounters = () => {
      this.readCounters();
      onChange();
    };
    data.onTables(onCounters, signal, TABLES);
    const ask = setTimeout(() => void data.ready([TABLES[0]]), ASK_AFTER_MS);
    atEnd(signal, () => clearTimeout(ask));
  }

  /** What is written equals what is read back, so the echo of an own change changes nothing. */
  #readModel() {
    const { model } = this.trace;
    this.bookmarks = readBookmarks(String(model.get("bookmarks") ?? ""));
    readArrangement(String(model.get("arrangement") ?? ""), this.tracks, this.#untouched);
    this.#colors = null;
  }

  /** All values where they are here, else the outline, with all values of a capped page's window. */
  readCounters() {
    const { data } = this.trace;
    const [full, sample] = TABLES.map((name) => data.table(name));
    const isSpliced = full && sample && data.window && !data.isWhole(TABLES[0]);
    const table = isSpliced ? spliceWindow(sample, full, data.window) : data.isWhole(TABLES[0]) ? full : undefined;
    this.counters = readCounters(table ?? sample ?? full, data.meta);
  }

  change(edit: (tracks: Arrangement) => void) {
    edit(this.tracks);
    this.#colors = null;
    this.#write("arrangement", arrangementToJson(this.tracks, this.#untouched));
    this.onChange();
  }

  reset() {
    this.change((tracks) => {
      readArrangement("{}", tracks, this.#untouched);
      tracks.filter = "";
      tracks.calledLines.clear();
    });
  }

  get isTouched(): boolean {
    return arrangementToJson(this.tracks, this.#untouched) !== "{}";
  }

  setColorBy(by: ColorBy) {
    this.change((tracks) => {
      tracks.colorBy = by;
    });
  }

  colors(family: ArrayLike<number>): ColorScheme {
    const { data } = this.trace;
    if (this.#colors && this.#namesGeneration === data.namesGeneration) return this.#colors;
    this.#namesGeneration = data.namesGeneration;
    const by = this.tracks.colorBy;
    const categories = by === "category" ? nameCategories(data.meta.names, family) : new Uint8Array();
    const parts = data.meta.is_summed ? namedParts(data.meta.names) : [];
    const families = readFamilies(data.meta.names, family, data.meta.op_family);
    this.#colors = newColorScheme(by, data.events, families, categories, parts);
    this.shownColors = new Uint8Array(this.#colors.n);
    return this.#colors;
  }

  setBookmarks(bookmarks: readonly Bookmark[]) {
    this.bookmarks = bookmarks;
    this.#write("bookmarks", bookmarksToJson(bookmarks));
    this.onChange();
  }

  addBookmark(span: Span, text: string): number {
    const { all, index } = withBookmark(this.bookmarks, bookmarkOf(span, text));
    this.setBookmarks(all);
    return index;
  }

  #write(name: "bookmarks" | "arrangement", value: string) {
    const { model } = this.trace;
    if (model.get(name) === value) return;
    this.#saved.set(name, value);
  }
}

const NONE = new Int32Array();
/** Gaps of a device shorter than this are launch latency, not waiting. */
const GAP_PS = 1e9;
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
  readonly board: Board;
  /** Told when the cursor moved: that paints nothing. */
  onCursor: () => void = () => {};
  bounds!: Span;
  /** How far panning and zooming go where that is not the bounds, as beside the timeline of another capture. */
  limits: Span | null = null;
  onView: () => void = () => {};
  readonly uncaptured: readonly Span[];
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
  get signal() {
    return this.trace.signal;
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

  get reach(): Span {
    return this.limits ?? this.bounds;
  }

  /** The linked range; else a typical step, where Python finds one. */
  #firstView(): Span {
    const { range, bounds } = this;
    const { home } = this.meta;
    if (range) return fitRange(range, bounds);
    return home ? clamp({ t0: home[0], t1: home[1] }, bounds) : bounds;
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

  gapsOf(row: number): Gaps {
    return this.#gaps.of(row);
  }

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
    const { meta, rows, lineNames, events, board } = this;
    const work = (line: number, depth = 0) => coveredTime(events, rows.firstRow[line] + depth, home);
    const about = { counterNames: board.counterNames, levels: this.levels.known, hosts: this.hosted.source };
    this.layout = layoutTracks({ meta, rows, work, lineNames, ...about }, this.tracks);
    this.invalidate();
  }

  /** Key ids of names; of an op that no slice is most of, those of the slices that it is fused into. */
  idsOf(names: readonly string[]): Int32Array {
    this.#readNames();
    const ids = names.flatMap((name) => this.#idOfName.get(name) ?? []);
    if (this.shares.isEmpty) return Int32Array.from(ids);
    return Int32Array.from(new Set(ids.flatMap((id) => (this.isDrawn(id) ? [id] : [id, ...this.shares.drawnAs(id)]))));
  }

  #readNames() {
    const { namesGeneration } = this.trace.data;
    if (this.#namesGeneration === namesGeneration) return;
    this.#namesGeneration = namesGeneration;
    for (let id = 0; id < this.meta.names.length; id++) this.#idOfName.set(this.meta.names[id], id);
  }

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

  scrollToTrack(event: number) {
    const [line, depth] = [this.events.lineOf(event), this.events.depthOf(event)];
    // Twice: a line that was folded away may then still hide the depth.
    for (let i = 0; i < 2; i++) if (reveal(this.meta, this.layout, this.tracks, line, depth)) this.relayout();
    const y = yOfRow(this.layout, line, depth);
    if (y !== null && !isInSight(this.layout, this.scrollTop, this.tracksHeight, y, ROW_PX)) {
      this.scrollTo = Math.max(0, y - this.tracksHeight / 3);
      // What was selected elsewhere is looked for while a frame is drawn: the next one scrolls there.
      this.invalidate();
    }
  }

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

/** In each direction: more arrows than this say nothing. */
const MOST_ARROWS = 60;

/** What a frame needs of the reader's search: arrows of the kinds that are shown, totals, matches alone. */
class Finding {
  /** 1 by kind of flow; those of thread pools are many and say little until they are asked for. */
  readonly shownKinds = Uint8Array.from(FLOW_KINDS, (kind) => Number(kind !== "pool"));
  isOnlyFound = false;
  /** Searches for exactly one name; the search field sets it. */
  onName: (name: number) => void = () => {};
  readonly #totals = newCache();
  #chain: { readonly key: string; readonly chain: Chain } = { key: "", chain: NO_CHAIN };
  #near: { readonly key: string; readonly arrows: readonly Arrow[] } = { key: "", arrows: [] };

  constructor(
    readonly events: Events,
    readonly meta: TraceMeta,
  ) {}

  /** Totals by name, sharing what was added up of whole tiles. */
  newAggregate(): Aggregate {
    const { lines, names } = this.meta;
    return new Aggregate(this.events, names.length, (line) => !lines[line].is_derived, this.#totals);
  }

  /** All that led to an event and all that it led to; worked out once while nothing changes. */
  chainOf(event: number): Chain {
    if (event < 0) return NO_CHAIN;
    const key = this.#keyOf(event);
    if (this.#chain.key !== key)
      this.#chain = { key, chain: chainOf(this.events, event, this.shownKinds, MOST_ARROWS) };
    return this.#chain.chain;
  }

  arrowsOf(event: number): readonly Arrow[] {
    if (event < 0) return [];
    const key = this.#keyOf(event);
    if (this.#near.key !== key) {
      const of = (direction: Direction) => arrowsAt(this.events, event, direction, this.shownKinds);
      const isHere = ({ from, to }: Arrow) => this.events.has(from) && this.events.has(to);
      this.#near = { key, arrows: [...of("up"), ...of("down")].filter(isHere).slice(0, MOST_ARROWS) };
    }
    return this.#near.arrows;
  }

  follow(event: number, direction: Direction): number {
    return event < 0 ? -1 : follow(this.events, event, direction, this.shownKinds);
  }

  #keyOf(event: number): string {
    return `${event}|${this.events.generation}|${this.shownKinds.join("")}`;
  }
}

/** An event is selected by the name of its op, else by its own. */
export function flagsOfKeys(meta: TraceMeta, ids: ArrayLike<number>): Flags {
  const names = new Uint8Array(meta.names.length);
  for (let k = 0; k < ids.length; k++) names[ids[k]] = 1;
  return { names, ops: Uint8Array.from(meta.op_name, (name) => names[name]) };
}

/** One flag per name id: whether slices are selected by it. */
function drawnKeys(data: TraceData, shares: Shares): Uint8Array {
  const { meta } = data;
  const isDrawn = new Uint8Array(meta.names.length);
  const count = data.table("names")?.columns.count;
  if (count) for (let id = 0; id < count.length; id++) isDrawn[id] = count[id] > 0 ? 1 : 0;
  for (const unit of unitsThatRan(data)) {
    // A slice of a compiled program has the name of the op that it is most of.
    const op = shares.isEmpty ? unit : (shares.ofUnit(unit)[0]?.op ?? -1);
    if (op >= 0) isDrawn[meta.op_name[op]] = 1;
  }
  return isDrawn;
}

/** Units with executions; where nothing is known of that, all. */
function unitsThatRan(data: TraceData): number[] {
  const totals = data.table("unit_totals");
  if (!totals) return Array.from({ length: data.meta.n_units ?? data.meta.op_name.length }, (_, unit) => unit);
  const [unit, occurrences] = columns(totals, "unit", "occurrences");
  return Array.from(unit).filter((_, i) => occurrences[i] > 0);
}

/** Of the first marked events of each row in a span the longest, -1 for none; "seen" when one is in a row that is. */
function longestMarked(events: Events, marks: Marks, span: Span, isSeen: (row: number) => boolean): number | "seen" {
  let longest = -1;
  for (let k = events.runAt(span.t0); k < events.runs.length && events.runs[k].span.t0 < span.t1; k++) {
    const run = events.runs[k];
    for (let row = 0; row < events.rows.n; row++) {
      const low = firstVisible(run, row, span.t0);
      const high = lowerBound(run.times.start, span.t1, low, run.high[row]);
      let found = -1;
      if (!run.isSample) found = marks.next(low, high);
      else for (let i = low; i < high && found < 0; i++) if (marks.has(run.positionOf(i))) found = run.positionOf(i);
      if (found < 0) continue;
      if (isSeen(row)) return "seen";
      if (longest < 0 || events.duration[found] > events.duration[longest]) longest = found;
    }
  }
  return longest;
}

const NAME_CHARACTERS = 17;

/** What the timeline shows host by host, and whose steps its head has. */
class HostSteps {
  /** Null for a capture of one host. */
  source: HostSource | null = null;
  strips: readonly HostStrip[] = [];
  /** By host, as the label column has room for. */
  shortNames: readonly string[] = [];
  /** The steps that the head of the timeline shows: of several hosts those of one. */
  head: HeadSteps;
  /** Which host that is, shortly; "" for a capture of one. */
  headHost = "";
  #steps: Steps;

  constructor(
    readonly trace: TraceView,
    steps: Steps,
  ) {
    this.#steps = steps;
    this.head = allSteps(steps);
    this.read(steps);
  }

  read(steps: Steps) {
    const { data } = this.trace;
    this.#steps = steps;
    this.head = allSteps(steps);
    this.choose();
    if (this.source === null) return;
    const { names } = this.source;
    this.shortNames = hostNamesThatFit(names, NAME_CHARACTERS);
    const hostOfStep = numbers(data.table("steps") ?? EMPTY_TABLE, "host");
    const pieceStep = (data.table("step_pieces")?.columns.step as Int32Array | undefined) ?? new Int32Array();
    this.strips = hostStrips(names.length, hostOfStep, steps.piece, pieceStep);
    this.#readHead();
  }

  choose() {
    this.source = hostSource(this.trace.data.meta, this.trace.link.host);
    this.#readHead();
  }

  #readHead() {
    if (this.source === null) return;
    const { chosen, names } = this.source;
    const hasSteps = (host: number) => (this.strips[host]?.rows.length ?? 0) > 0;
    const host = [chosen, ...names.keys()].find((one) => one >= 0 && hasSteps(one));
    this.headHost = host === undefined ? "" : (this.shortNames[host] ?? names[host]);
    this.head = host === undefined ? allSteps(this.#steps) : stepsOfHost(this.#steps, this.strips[host]);
  }

  /** A row of the head's steps as one of all, and the other way round; -1 for none. */
  stepOfHead(row: number): number {
    return row < 0 ? -1 : (this.head.rows?.[row] ?? row);
  }
  headOfStep(step: number): number {
    return this.head.rows === null ? step : this.head.rows.indexOf(step);
  }
}

/** The texts that a search looks at, and the units that a match finds. */
export class SearchTexts {
  #texts: readonly string[] = [];
  #about = "";

  constructor(readonly state: Pick<TimelineState, "meta" | "shares" | "trace">) {}

  /** All names, then the layers, then the lines of source, each as "train.py:42" and its code. */
  get texts(): readonly string[] {
    const { meta, trace } = this.state;
    const { names, layers = [], source_lines: lines = [], source_files: files = [] } = meta;
    const about = [trace.data.namesGeneration, layers.length, lines.length, files.length].join();
    if (about !== this.#about) {
      const line = (k: number) => `${files[lines[k].file]?.title ?? ""}:${lines[k].line} ${lines[k].code.trim()}`;
      const texts = lines.map(({ file }, k) => (file < 0 ? "" : line(k)));
      this.#texts = [...names, ...layers.map(({ kind, layer }) => (kind === "other" ? "" : layer)), ...texts];
    }
    this.#about = about;
    return this.#texts;
  }

  /** By unit 1 where the name or the type of an op that it stands for is flagged, or its layer or line; null for none. */
  units(flags: Uint8Array): Uint8Array | null {
    const { meta, shares, trace } = this.state;
    const { names, layers = [], op_name, op_type } = meta;
    const places = trace.data.table("op_places") ?? EMPTY_TABLE;
    const [layer, line] = [numbers(places, "layer"), numbers(places, "line")];
    const isAt = (first: number, place: number | undefined) =>
      place !== undefined && place >= 0 && flags[first + place];
    const isPlaced = (op: number) => isAt(names.length, layer[op]) || isAt(names.length + layers.length, line[op]);
    const isFound = (op: number) => flags[op_name[op]] || flags[op_type[op]] || isPlaced(op);
    const ops = Uint8Array.from(op_name, (_, op) => (isFound(op) ? 1 : 0));
    if (!ops.includes(1)) return null;
    const units = new Uint8Array(Math.max(meta.n_units ?? 0, ops.length));
    units.set(ops);
    for (let unit = ops.length; unit < units.length; unit++)
      if (shares.ofUnit(unit).some(({ op }) => ops[op] === 1)) units[unit] = 1;
    return units;
  }
}

/** The levels of a stream of a device (steps, layers, ops): which are known, their spans, and what those are called. */
class StreamLevels {
  /** By op its layer and phase as one number, -1 for none. */
  #layerOf: Int32Array | null = null;
  #spans: Partial<Record<LevelName, RowFindings<Spans>>> = {};

  constructor(readonly state: Pick<TimelineState, "events" | "meta" | "steps" | "trace">) {}

  /** Forgets what tables told that came late. */
  clear() {
    this.#layerOf = null;
    this.#spans = {};
  }

  get known(): readonly LevelName[] {
    const { steps, meta } = this.state;
    const hasLayers = this.#layers.some((layer, op) => layer >= 0 && meta.op_device[op] === 1);
    const isKnown = { steps: steps.n > 0, layers: hasLayers, ops: true };
    return LEVELS.filter((name) => isKnown[name]);
  }

  get #layers(): Int32Array {
    if (this.#layerOf) return this.#layerOf;
    const { meta, trace } = this.state;
    const table = trace.data.table("op_places") ?? EMPTY_TABLE;
    const [layer, phase] = [numbers(table, "layer"), numbers(table, "phase")];
    const isNamed = (op: number) => (meta.layers?.[layer[op]]?.kind ?? "other") !== "other";
    this.#layerOf = Int32Array.from(layer, (own, op) => (isNamed(op) ? own * PHASES.length + phase[op] : -1));
    return this.#layerOf;
  }

  spans(row: number, name: LevelName): Spans {
    const { events } = this.state;
    this.#spans[name] ??= new RowFindings(events, (one) =>
      findSpans(events, one, (position) => this.#partOf(name, position)),
    );
    return this.#spans[name].of(row);
  }

  #partOf(name: LevelName, position: number): number {
    const { step, op } = this.state.events;
    if (name === "steps") return step[position];
    return name === "ops" ? op[position] : op[position] < 0 ? -1 : (this.#layers[op[position]] ?? -1);
  }

  /** What the span of an event is called: "step 4", "resnet50/conv1_bn · backward", "dense_8/MatMul". */
  nameOf(name: LevelName, position: number): string {
    const { meta, events } = this.state;
    const part = this.#partOf(name, position);
    if (name === "steps") return stepWords(meta.step_names, part);
    if (name === "ops") return opLabel(meta.names[events.keyOf(position)]);
    const layer = meta.layers?.[Math.floor(part / PHASES.length)]?.layer ?? "";
    return PHASES[part % PHASES.length] === "backward" ? `${layer} · backward` : layer;
  }

  opsOf(name: LevelName, position: number): string[] {
    const { meta, events } = this.state;
    const part = this.#partOf(name, position);
    if (name === "ops") return [meta.names[events.keyOf(position)]];
    return meta.op_name.flatMap((id, op) => (this.#layers[op] === part ? [meta.names[id]] : []));
  }
}
