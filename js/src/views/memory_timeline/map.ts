/** The allocator map: addresses against time, each block in the colour of its owner, and the largest free piece. */

import { fitRange, panBy, type Span, timeAt, xAt, zoomAt } from "../../data/columns";
import { FAMILIES, FAMILY_LABELS } from "../../data/meta";
import {
  type Blocks,
  blockAt,
  blocksOf,
  EDGE,
  freeAround,
  type Gap,
  gapsAt,
  HATCH,
  largestFree,
  type Piece,
  paintBlocks,
  placeOf,
  Raster,
} from "../../model/blocks";
import { busySpan, bytesInUse, byteUnit, freeBytes, lifetimePs, OpPlaces, rowAt } from "../../model/memory";
import { cutNames } from "../../model/names";
import { PLACE_SECTIONS } from "../../model/source";
import { niceTicks } from "../../model/steps";
import { formatBytes, formatInstant, formatNumber, formatTime, plural } from "../../model/text";
import type { Pane } from "../../ui/controls";
import {
  h,
  hasModifier,
  inFrame,
  on,
  onKeys,
  resolved,
  rgbaOf,
  segmented,
  sized,
  unspoken,
  watchSize,
} from "../../ui/dom";
import { drawLabels, type PlotLabel, type Tip, TipBox, watchPlot } from "../../ui/plot";
import { legendEntry, swatch } from "../../ui/share_bar";
import { type TraceView, toggleSelection } from "../../ui/view";
import { inStep, type MemoryChart, type MemoryScene, opName, pieceWords, tensorWords } from "./chart";

const BY = [
  { value: "kind", text: "Kind of op" },
  { value: "layer", text: "Layer" },
  { value: "op", text: "Op" },
] as const;
type By = (typeof BY)[number]["value"];

const FAMILY = (name: (typeof FAMILIES)[number]) => FAMILIES.indexOf(name);
/** Of the owners that hold most, in their order; all others have that of what has no kind. */
const RANKED = (["conv", "optim", "elem", "move", "reduce", "tfdata", "image"] as const).map(FAMILY);
const OTHER = FAMILY("runtime");
/** Of what no op is told of, as XLA allocates it: no op that allocates is of this family. */
const NAMELESS = FAMILY("python");
/** A colour of what is not selected is so many further. */
const DIM = FAMILIES.length;
const DIM_ALPHA = 0.25;
/** What covers little of a pixel is still to be seen. */
const LEAST_ALPHA = 0.4;
const STRIPE_PX = 4;

interface Owners {
  /** By block the number of its colour. */
  readonly color: Uint8Array;
  readonly keys: readonly { readonly color: number; readonly text: string }[];
}

/** Colours for the names of owners, "" where they are not known: a few that hold most for long have one of their own. */
function ranked(blocks: Blocks, names: readonly string[]): Owners {
  const weight = new Map<string, number>();
  names.forEach((name, k) => {
    if (name === "") return;
    weight.set(name, (weight.get(name) ?? 0) + blocks.bytes[k] * (blocks.end[k] - blocks.start[k]));
  });
  const top = [...weight].sort((a, b) => b[1] - a[1]).slice(0, RANKED.length);
  const color = new Map(top.map(([name], rank) => [name, RANKED[rank]]));
  const keys = top.map(([text], rank) => ({ color: RANKED[rank], text }));
  const hasOthers = names.some((name) => !color.has(name));
  return {
    color: Uint8Array.from(names, (name) => color.get(name) ?? OTHER),
    keys: hasOthers ? [...keys, { color: OTHER, text: "others" }] : keys,
  };
}

const KEY_CHARACTERS = 26;
const HAIRLINE_RATIO = 0.1;
const REQUEST_PX = 14;
const ZOOM_PER_NOTCH = 1.2;
const PAN_RATIO = 0.1;
const LABEL_PX = 36;
/** The least that a block or a piece is outlined by. */
const LEAST_PX = 3;

interface Axis {
  readonly low: number;
  readonly high: number;
}

export class AllocatorMap implements Pane<MemoryScene> {
  readonly element: HTMLElement;
  readonly #canvas = unspoken("canvas");
  readonly #marks = unspoken("div.marks");
  readonly #labels = unspoken("div.tfp-labels");
  readonly #legend = h("span.tfp-keys");
  readonly #ground = h("span.q.small");
  readonly #words = h("p");
  readonly #live = h("div.sr", { "aria-live": "polite" });
  readonly #plot: HTMLElement;
  readonly #tip: TipBox;
  readonly #draw: () => void;
  #by: By = "kind";
  #places: OpPlaces;
  #scene: MemoryScene | null = null;
  #blocks: Blocks | null = null;
  #owners: Owners = { color: new Uint8Array(), keys: [] };
  #axis: Axis = { low: 0, high: 1 };
  #size = { width: 0, height: 0 };
  #raster = new Raster(0, 0);
  /** Of the fills of all families, then of their edges. */
  #rgba: Uint8ClampedArray | null = null;
  #hatched = "";
  #block = -1;

  constructor(
    readonly view: TraceView,
    readonly chart: MemoryChart,
    readonly onMoment: (timePs: number | null) => void,
  ) {
    const { signal, data, link } = view;
    this.#places = new OpPlaces(data.meta);
    const by = segmented("Colours of the map", BY, this.#by, (value) => this.#colorBy(value), signal);
    const attributes = { tabindex: 0, role: "application", "aria-roledescription": "allocator map" };
    this.#plot = h("div.tfp-plot", attributes, this.#canvas, this.#marks, this.#labels);
    this.element = h("div.tfp-map", h("div.bar", by, this.#legend, this.#ground), this.#words, this.#plot, this.#live);
    this.#tip = new TipBox(this.#plot);
    this.#draw = inFrame(() => this.#paint(), signal);
    chart.onWindow = this.#draw;
    view.onTheme(() => {
      this.#rgba = null;
      this.#draw();
    });
    link.on("selection", this.#draw, signal);
    watchSize(this.#plot, signal, this.#draw);
    watchPlot(this.#plot, signal, {
      onHover: (x, y) => this.#point(x, y),
      onLeave: () => this.#unpoint(),
      onClick: (x, y) => this.#pick(x, y),
      onDrag: (x0, x1) => chart.band(x0, x1),
      onDragEnd: (x0, x1) => chart.choose(x0, x1),
    });
    onKeys(this.#plot, signal, (event) => this.#key(event));
    on(this.#plot, signal, { wheel: (event) => this.#wheel(event) }, { passive: false });
  }

  show(scene: MemoryScene): void {
    const isNew = this.#scene?.events !== scene.events;
    this.#scene = scene;
    if (isNew) {
      this.#blocks = blocksOf(scene.events, this.view.data.meta.sessions);
      this.#block = -1;
      const { isFree, freedAt } = scene.events;
      const isBefore = this.#blocks.row.some((row) => isFree[row] === 1);
      const isOpen = this.#blocks.row.some((row) => !isFree[row] && freedAt[row] < 0);
      const hatched = [isBefore && "allocated before the capture", isOpen && this.#unfreed].filter(Boolean);
      this.#hatched = hatched.length > 0 ? `hatched: ${hatched.join(", or ")} · ` : "";
      this.#color();
      this.#fit();
      this.#open();
    }
    this.#draw();
  }

  /** Shows what is in use at the peak's step alone, where that would be a hairline among all. */
  #open(): void {
    const { events, peak, steps } = this.#scene as MemoryScene;
    const { t0, t1 } = this.chart.place;
    const own = steps.find(
      ({ startPs, endPs }) => peak >= 0 && startPs <= events.time[peak] && events.time[peak] < endPs,
    );
    const span = busySpan(events, own ? [own.startPs, own.endPs] : [t0, t1]);
    if (span && span.t1 - span.t0 < (t1 - t0) * HAIRLINE_RATIO) this.chart.zoom(fitRange(span, { t0, t1 }));
  }

  #opOf(row: number): string {
    const { events } = this.#scene as MemoryScene;
    return events.isFree[row] ? "allocated before the capture" : opName(this.view.data.meta, events.op[row]);
  }

  #colorBy(by: By): void {
    this.#by = by;
    this.#color();
    this.#draw();
    if (by !== "layer") return;
    const { data, guard } = this.view;
    const fill = guard(async () => {
      await data.ready(PLACE_SECTIONS);
      this.#places = new OpPlaces(data.meta, data.table("op_places"));
      this.#color();
      this.#draw();
    });
    fill();
  }

  #color(): void {
    const { events } = this.#scene as MemoryScene;
    const blocks = this.#blocks as Blocks;
    const { meta } = this.view.data;
    const names = Array.from(blocks.row, (row) => (events.isFree[row] ? "" : (meta.names[events.op[row]] ?? "")));
    if (this.#by === "op") this.#owners = ranked(blocks, names);
    else if (this.#by === "layer") {
      const layers = new Map([...new Set(names)].map((name) => [name, this.#places.of(name, "layer")]));
      const owners = names.map((name) => layers.get(name) ?? "");
      this.#owners = ranked(blocks, owners);
    } else {
      const families = new Map([...new Set(names)].map((name) => [name, this.#places.familyOf(name) ?? OTHER]));
      const isNameless = (k: number) => names[k] === "" && !events.isFree[blocks.row[k]];
      const color = Uint8Array.from(names, (name, k) => (isNameless(k) ? NAMELESS : (families.get(name) ?? OTHER)));
      const shown = [...new Set(color)].sort((a, b) => a - b);
      const textOf = (one: number) => (one === NAMELESS ? opName(meta, -1) : FAMILY_LABELS[FAMILIES[one]]);
      const keys = shown.map((one) => ({ color: one, text: one === OTHER ? "others" : textOf(one) }));
      this.#owners = { color, keys };
    }
    const short = cutNames(
      this.#owners.keys.map(({ text }) => text),
      (text) => text.length <= KEY_CHARACTERS,
    );
    const entries = this.#owners.keys.map(({ color, text }) => {
      const entry = legendEntry(swatch(`var(--e-${FAMILIES[color]})`), short.get(text) ?? text);
      entry.title = text;
      return entry;
    });
    this.#legend.replaceChildren(...entries);
  }

  get #unfreed(): string {
    return `not freed in ${this.view.data.isWhole("memory") ? "the capture" : "what this page keeps"}`;
  }

  /** All addresses, and room for a request that failed. */
  #fit(): void {
    const failed = this.#failure;
    const top = failed ? this.#lowest(this.#piece(failed.at)) + failed.requested_bytes : 0;
    this.#axis = { low: 0, high: Math.max(1, (this.#blocks as Blocks).length, top) };
  }

  /** The request of this allocator that failed, at the end of a capture that does not have its moment; null where its size is not known. */
  get #failure() {
    const { events, allocator: own } = this.#scene as MemoryScene;
    const { allocator, at_ps, requested_bytes } = this.view.data.meta.memory_failure ?? {};
    if (!requested_bytes || (allocator !== own && !(allocator === "" && own.includes("GPU_")))) return null;
    return { at: at_ps ?? events.time[events.end - 1], requested_bytes, isLater: at_ps === null };
  }

  /** Where a request is drawn: from the begin of the largest free piece. */
  #lowest(piece: Piece): number {
    if (piece.where === "inside") return this.#placesOf(piece.gap)[0];
    return piece.where === "beyond" ? (this.#blocks as Blocks).length : 0;
  }

  get #plotPx(): number {
    const { left, right } = this.chart.place;
    return Math.max(1, right - left);
  }
  #xOf(timePs: number): number {
    const place = this.chart.place;
    return place.left + xAt(place, this.#plotPx, timePs);
  }
  #timeAt(x: number): number {
    const place = this.chart.place;
    return Math.max(place.t0, Math.min(place.t1, timeAt(place, this.#plotPx, x - place.left)));
  }
  #yOf(at: number): number {
    const { low, high } = this.#axis;
    return this.#size.height * (1 - (at - low) / (high - low));
  }
  #atOf(y: number): number {
    const { low, high } = this.#axis;
    return low + (1 - y / this.#size.height) * (high - low);
  }

  #paint(): void {
    const [scene, blocks] = [this.#scene, this.#blocks];
    const { clientWidth: width, clientHeight: height } = this.#plot;
    if (scene === null || blocks === null || width === 0 || this.element.hidden) return;
    this.#size = { width, height };
    const { left, t0, t1 } = this.chart.place;
    const ratio = globalThis.devicePixelRatio || 1;
    const [w, tall] = [Math.round(this.#plotPx * ratio), Math.round(height * ratio)];
    if (this.#raster.width !== w || this.#raster.height !== tall) this.#raster = new Raster(w, tall);
    const chosen = this.view.link.selection;
    const color = chosen.length === 0 ? this.#owners.color : this.#dimmed(blocks, scene, new Set(chosen));
    paintBlocks(blocks, scene.events, color, { t0, t1, ...this.#axis }, this.#raster);
    const ctx = sized(this.#canvas, width, height);
    ctx?.clearRect(0, 0, width, height);
    if (ctx && w > 0 && tall > 0) ctx.putImageData(this.#image(ctx, ratio), Math.round(left * ratio), 0);
    this.#mark();
  }

  #dimmed(blocks: Blocks, { events }: MemoryScene, chosen: ReadonlySet<string>): Uint8Array {
    const { names } = this.view.data.meta;
    const isChosen = new Set(names.flatMap((name, id) => (chosen.has(name) ? [id] : [])));
    const { color } = this.#owners;
    return color.map((own, k) => {
      const row = blocks.row[k];
      return !events.isFree[row] && isChosen.has(events.op[row]) ? own : own + DIM;
    });
  }

  #image(ctx: CanvasRenderingContext2D, ratio: number): ImageData {
    const { width, height, color, cover } = this.#raster;
    this.#rgba ??= rgbaOf(
      resolved(
        this.view.root,
        ["s", "e"].flatMap((kind) => FAMILIES.map((name) => `var(--${kind}-${name})`)),
      ),
    );
    const rgba = this.#rgba;
    const image = ctx.createImageData(width, height);
    const stripe = Math.max(1, Math.round(STRIPE_PX * ratio));
    for (let i = 0; i < color.length; i++) {
      if (color[i] === 0) continue;
      const own = (color[i] & (EDGE - 1)) - 1;
      const isStrong = color[i] & EDGE || (color[i] & HATCH && ((i % width) + Math.floor(i / width)) % stripe === 0);
      const from = 4 * ((own % DIM) + (isStrong ? FAMILIES.length : 0));
      const alpha = Math.max(LEAST_ALPHA, cover[i]) * (own >= DIM ? DIM_ALPHA : 1);
      image.data[4 * i] = rgba[from];
      image.data[4 * i + 1] = rgba[from + 1];
      image.data[4 * i + 2] = rgba[from + 2];
      image.data[4 * i + 3] = Math.round(255 * alpha);
    }
    return image;
  }

  /** The time whose state is shown; of a range that begins between two events the state holds from its begin. */
  get #now(): number {
    const { moment, events, row } = this.#scene as MemoryScene;
    return moment ?? (row < 0 ? this.chart.place.t0 : Math.max(this.chart.place.t0, events.time[row]));
  }

  /** What is drawn over the blocks: the moment, the largest free piece, a request that failed, what has the focus. */
  #mark(): void {
    const blocks = this.#blocks as Blocks;
    const { left, right, t0, t1 } = this.chart.place;
    const marks: HTMLElement[] = [];
    const box = (kind: string, x0: number, x1: number, low: number, high: number) => {
      const [top, bottom] = [high, low].map((at) => Math.max(0, Math.min(this.#size.height, this.#yOf(at))));
      const [from, to] = [x0, x1].map((x) => Math.max(left, Math.min(right, x)));
      const size = { width: `${Math.max(LEAST_PX, to - from)}px`, height: `${Math.max(LEAST_PX, bottom - top)}px` };
      marks.push(h(`div.${kind}`, { style: { left: `${from}px`, top: `${top}px`, ...size } }));
    };
    blocks.regions.slice(1).forEach(({ at }, k) => {
      const before = blocks.regions[k];
      box("never", left, right, before.at + before.bytes, at);
    });
    const now = this.#now;
    const x = this.#xOf(now);
    marks.push(h("div.now", { style: { left: `${x}px`, top: "0", height: "100%" } }));
    const piece = this.#piece(now);
    if (piece.where === "inside") {
      const { t0: from, t1: to } = freeAround(blocks, piece.gap, now, { t0, t1 });
      box("piece", this.#xOf(from), this.#xOf(to), ...this.#placesOf(piece.gap));
    }
    const failed = this.#failure;
    if (failed && (failed.isLater || failed.at === now)) {
      const low = this.#lowest(piece);
      const from = failed.isLater ? right - REQUEST_PX : x + 2;
      box("request", from, from + REQUEST_PX, low, low + failed.requested_bytes);
    }
    if (this.#block >= 0) {
      const k = this.#block;
      box("block", this.#xOf(blocks.start[k]), this.#xOf(blocks.end[k]), blocks.at[k], blocks.at[k] + blocks.bytes[k]);
    }
    this.#marks.replaceChildren(...marks);
    drawLabels(this.#labels, this.#ticks(left));
    this.#say(now);
  }

  #placesOf({ from, to }: Gap): readonly [low: number, high: number] {
    const { regions } = this.#blocks as Blocks;
    return [placeOf(regions, from), placeOf(regions, to)];
  }

  #piece(timePs: number): Piece {
    const { events } = this.#scene as MemoryScene;
    const row = Math.max(events.begin, rowAt(events, timePs));
    return largestFree(this.#blocks as Blocks, timePs, events.piece[row], freeBytes(events, row));
  }

  #ticks(left: number): PlotLabel[] {
    const { low, high } = this.#axis;
    const [size, unit] = byteUnit(high - low);
    const [, step = (high - low) / size] = niceTicks((high - low) / size, this.#size.height / LABEL_PX);
    const ticks: PlotLabel[] = [];
    for (let tick = Math.ceil(low / size / step); tick * step * size <= high; tick++) {
      const y = Math.max(8, Math.min(this.#size.height - 8, this.#yOf(tick * step * size)));
      const text = formatNumber(tick * step, 4).replace(/\.0+$|(\.\d*?)0+$/, "$1");
      ticks.push({ x: left - 4, y, text, align: "right", isFaint: true });
    }
    return [...ticks, { x: left + 3, y: 8, text: unit, align: "left", isFaint: true }];
  }

  /** What fits at a time, and what the picture leaves open. */
  #sentence(timePs: number): string {
    const { events, allocator } = this.#scene as MemoryScene;
    const row = rowAt(events, timePs);
    if (row < 0) return "";
    const where = {
      inside: " (framed)",
      beyond: " (beyond the addresses that were used)",
      "": " (it is not known where)",
    }[this.#piece(timePs).where];
    const piece = pieceWords(events, row, where);
    if (piece === "") return "";
    // Where it is not known what was taken of the device, there may be more.
    const isAll = allocator.includes("GPU_") && events.taken[row] === events.capacity[row];
    const failed = this.#failure;
    const asked = failed && `; the request for ${formatBytes(failed.requested_bytes)}`;
    if (failed?.isLater) return `${piece}${asked} failed after the capture`;
    if (failed?.at === timePs) return `${piece}${asked} failed`;
    return `${piece}${isAll ? `; a request for more than ${formatBytes(events.piece[row])} fails` : ""}`;
  }

  #say(timePs: number): void {
    const { allocator, when, moment } = this.#scene as MemoryScene;
    const blocks = this.#blocks as Blocks;
    const sentence = this.#sentence(timePs);
    const at = timePs === this.#now && moment === null ? when : `at ${formatInstant(timePs, 1e8)}`;
    const said = sentence ? `${at[0].toUpperCase()}${at.slice(1)}: ${sentence}.` : "";
    this.#words.textContent = blocks.n === 0 ? "This allocator told no addresses." : said;
    this.#ground.textContent = `${this.#hatched}blank: ${this.#groundWords(timePs)}`;
    const about = `Allocator map of ${allocator}: ${plural(blocks.n, "block")}`;
    const keys = "Left and right move the moment, up and down walk through the blocks, W and S zoom, A and D pan.";
    this.#plot.setAttribute("aria-label", `${about}. ${said} ${keys}`);
  }

  /** What blank addresses are: what was allocated before the capture and is still held lies in them as well. */
  #groundWords(timePs: number): string {
    const { events } = this.#scene as MemoryScene;
    const { n, start, end, bytes } = this.#blocks as Blocks;
    const row = rowAt(events, timePs);
    let rest = bytesInUse(events, row < 0 ? ~events.begin : row) - events.stack[Math.max(events.begin, row)];
    for (let k = 0; k < n; k++) if (start[k] <= timePs && timePs < end[k]) rest -= bytes[k];
    return rest > 0 ? `free, or some of ${formatBytes(rest)} held since before the capture` : "free";
  }

  #blockTip(k: number): Tip {
    const { meta } = this.view.data;
    const { events } = this.#scene as MemoryScene;
    const blocks = this.#blocks as Blocks;
    const row = blocks.row[k];
    const isBefore = events.isFree[row] === 1;
    const at = formatInstant(events.time[row], 1e6);
    const ps = lifetimePs(events, row);
    const lived = Number.isFinite(ps) ? `for ${formatTime(ps)}` : this.#unfreed;
    const lines = isBefore
      ? [`freed at ${at}`]
      : [tensorWords(meta, events, row), `from ${at}${inStep(meta, events, row)} · ${lived}`];
    return {
      title: `${formatBytes(blocks.bytes[k])} · ${this.#opOf(row)}`,
      lines: [...lines, `at 0x${blocks.address[k].toString(16)}`].filter(Boolean),
    };
  }

  #groundTip(timePs: number, at: number): Tip | null {
    const blocks = this.#blocks as Blocks;
    const gap = gapsAt(blocks, timePs).find((one) => {
      const [low, high] = this.#placesOf(one);
      return low <= at && at < high;
    });
    if (!gap) return null;
    const size = formatBytes(gap.to - gap.from);
    const isNever = blocks.regions.every((region) => at < region.at || at >= region.at + region.bytes);
    const where = gap.isInside ? "between two blocks" : "and more beside the last block";
    const what = isNever ? "among them addresses that were never used in this capture" : this.#groundWords(timePs);
    return { title: `${size} ${where}`, lines: [what, this.#sentence(timePs)].filter(Boolean) };
  }

  #point(x: number, y: number): void {
    const blocks = this.#blocks;
    if (blocks === null || this.#scene === null) return;
    const [timePs, at] = [this.#timeAt(x), this.#atOf(y)];
    const k = blockAt(blocks, timePs, at);
    const tip = k >= 0 ? this.#blockTip(k) : this.#groundTip(timePs, at);
    if (k !== this.#block) {
      this.#block = k;
      this.#mark();
    }
    if (tip === null) this.#tip.hide();
    else {
      this.#tip.say(tip);
      this.#tip.follow(x, y, this.#size);
    }
  }

  #unpoint(): void {
    this.#tip.hide();
    this.#block = -1;
    if (this.#scene) this.#mark();
  }

  #pick(x: number, y: number): void {
    const [blocks, scene] = [this.#blocks, this.#scene];
    if (blocks === null || scene === null) return;
    const timePs = this.#timeAt(x);
    this.#select(blockAt(blocks, timePs, this.#atOf(y)));
    this.onMoment(timePs);
  }

  #select(k: number): void {
    const { events } = this.#scene as MemoryScene;
    const row = k < 0 ? -1 : (this.#blocks as Blocks).row[k];
    const name = row < 0 || events.isFree[row] ? undefined : this.view.data.meta.names[events.op[row]];
    if (name) toggleSelection(this.view.link, [name]);
  }

  /** Ctrl and the wheel zoom in time, with Shift in addresses; without Ctrl the page scrolls. */
  #wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = this.#plot.getBoundingClientRect();
    const factor = ZOOM_PER_NOTCH ** Math.sign(event.deltaY || event.deltaX);
    if (event.shiftKey) this.#zoomAddresses(this.#atOf(event.clientY - box.top), factor);
    else this.#zoomTime(this.#timeAt(event.clientX - box.left), factor);
  }

  #zoomTime(timePs: number, factor: number): void {
    const { t0, t1 } = this.chart.place;
    this.chart.zoom(zoomAt({ t0, t1 }, timePs, factor, EVERYTHING));
  }

  #zoomAddresses(at: number, factor: number): void {
    const { low, high } = this.#axis;
    this.#toAxis(at - (at - low) * factor, (high - low) * factor);
  }

  #toAxis(low: number, length: number): void {
    this.#fit();
    const { high } = this.#axis;
    const own = Math.max(1, Math.min(high, length));
    const from = Math.max(0, Math.min(high - own, low));
    this.#axis = { low: from, high: from + own };
    this.#draw();
  }

  #key(event: KeyboardEvent): boolean {
    if (hasModifier(event) || this.#scene === null || this.#blocks === null) return false;
    const { t0, t1 } = this.chart.place;
    const { low, high } = this.#axis;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const zoom = { w: 1 / ZOOM_PER_NOTCH, s: ZOOM_PER_NOTCH }[key];
    const pan = { a: -PAN_RATIO, d: PAN_RATIO }[key];
    if (zoom && event.shiftKey) this.#zoomAddresses((low + high) / 2, zoom);
    else if (zoom) this.#zoomTime(this.#now, zoom);
    else if (pan && event.shiftKey) this.#toAxis(low + pan * (high - low), high - low);
    else if (pan) this.chart.zoom(panBy({ t0, t1 }, pan * (t1 - t0), EVERYTHING));
    else if (key === "f") {
      this.#toAxis(0, Number.POSITIVE_INFINITY);
      this.chart.zoom(null);
    } else if (key === "ArrowUp" || key === "ArrowDown") this.#walk(key === "ArrowUp" ? 1 : -1);
    else if (key === "Enter" && this.#block >= 0) this.#select(this.#block);
    else return this.chart.walk(event.key);
    return true;
  }

  /** To the next block that lives at the moment, by address. */
  #walk(direction: 1 | -1): void {
    const blocks = this.#blocks as Blocks;
    const now = this.#now;
    const from = this.#block < 0 ? (direction > 0 ? -1 : blocks.n) : this.#block;
    for (let k = from + direction; k >= 0 && k < blocks.n; k += direction) {
      if (blocks.start[k] > now || blocks.end[k] <= now) continue;
      this.#block = k;
      this.#mark();
      const { title, lines } = this.#blockTip(k);
      this.#live.textContent = [title, ...lines].join(", ");
      return;
    }
  }
}

/** The chart says how far its window goes. */
const EVERYTHING: Span = { t0: Number.NEGATIVE_INFINITY, t1: Number.POSITIVE_INFINITY };
