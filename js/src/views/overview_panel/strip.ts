/** A step drawn to scale: what computes, what it waits for, who has the time, and above it which of it each card is about. */

import { numbers, type Span, timeAt, xAt } from "../../data/columns";
import { type AttributionRow, CATEGORY_LABELS } from "../../data/meta";
import { EMPTY_TABLE } from "../../data/pack";
import { leafOf, opLabel, tipName } from "../../model/names";
import { stepWords } from "../../model/range";
import { niceTicks, timeOfSteps } from "../../model/steps";
import {
  type Bracket,
  bracketsOf,
  laneOf,
  nNumbered,
  opsAtOnce,
  type Piece,
  piecesOf,
  spanOfRow,
  typicalStep,
} from "../../model/strip";
import { formatMs, formatNumber, formatPercent } from "../../model/text";
import { h, inFrame, on, svg, textWidth, watchSize } from "../../ui/dom";
import { type Tip, TipBox } from "../../ui/plot";
import { chooseRange, type TraceView } from "../../ui/view";

const PS_PER_MS = 1e9;
const [LANE_PX, BRACKET_PX, AXIS_PX] = [18, 20, 22];
/** Tops of the lanes: what computes, what is waited for, who has it; without a device how many ops run at once. */
const TOPS = [26, 48, 70, 92];
const [LABEL_PX, NARROW_LABEL_PX, NARROW_PX] = [104, 78, 700];
/** Thinner pieces share their pixel; a text has so much room on both sides. */
const [LEAST_PX, PAD_PX] = [0.7, 4];
const COPIES = ["copy_to_device", "device_to_device", "output"];

const shortName = ({ op, event }: AttributionRow) => leafOf(opLabel(op)) || event;
const labelOf = (category: string) => CATEGORY_LABELS[category] ?? category;
/** What a card and its bracket are called. */
export const numeral = (card: number) => "①②③"[card];

interface Hit {
  readonly lane: number;
  readonly span: Span;
  readonly tip: Tip;
  readonly ops: readonly string[];
}

class Strip {
  readonly element = h("div.tfp-scale");
  readonly #place = h("div.tfp-scale-place");
  readonly #head = h("div.tfp-h");
  readonly #tip: TipBox;
  readonly #hatch = `tfp-hatch-${Math.random().toString(36).slice(2)}`;
  #hits: Hit[] = [];
  #span: Span = { t0: 0, t1: 1 };
  #row = -1;
  #width = 0;
  /** Of the lanes. */
  #bottom = 0;

  constructor(
    readonly view: TraceView,
    readonly title: string,
  ) {
    this.element.append(this.#head, this.#place);
    this.#tip = new TipBox(this.element);
    const draw = inFrame(() => this.draw(this.#row), view.signal);
    watchSize(this.#place, view.signal, draw);
    on(this.#place, view.signal, {
      pointermove: (event) => this.#point(event),
      pointerleave: () => this.#tip.hide(),
      click: (event) => this.#click(event),
    });
  }

  draw(row: number): void {
    this.#row = row;
    this.#tip.hide();
    this.#hits = [];
    this.#width = this.#place.clientWidth || 800;
    const { data } = this.view.whole;
    const steps = data.table("steps") ?? EMPTY_TABLE;
    this.element.hidden = row < 0 || row >= steps.n;
    if (this.element.hidden) return;
    const [start, ms] = [numbers(steps, "start_ps")[row], numbers(steps, "duration_ps")[row] / PS_PER_MS];
    this.#span = { t0: start, t1: start + ms * PS_PER_MS };
    const { meta } = data;
    const pieces = piecesOf(data.table("step_pieces"), row, meta.categories);
    const rows = (meta.attribution ?? []).filter(({ step }) => step === row);
    const brackets = bracketsOf(rows, this.#span, nNumbered(meta.advice ?? []));
    const about = `${stepWords(meta.step_names, row)}, ${formatMs(ms)}`;
    const why = pieces.length > 0 ? "drawn to scale" : "its parts in time are not in this page: click another bar";
    this.#head.replaceChildren(h("b", this.title), h("span", `${about}, ${why}`));
    const lanes = this.#computes === "device_compute" ? 3 : 4;
    this.#bottom = TOPS[lanes - 1] + AXIS_PX;
    const drawing = svg("svg", { role: "img", width: this.#width, height: this.#bottom + AXIS_PX });
    drawing.setAttribute("aria-label", this.#words(about, pieces, brackets));
    drawing.append(this.#stripes(), ...this.#lanes(pieces), ...this.#owners(rows), ...this.#brackets(brackets));
    if (lanes > 3) drawing.append(...this.#atOnce());
    if (pieces.length > 0) drawing.append(...this.#axis(ms));
    this.#place.replaceChildren(drawing);
  }

  /** Where the lanes begin. */
  get #left(): number {
    return this.#width < NARROW_PX ? NARROW_LABEL_PX : LABEL_PX;
  }

  #x(time: number): number {
    return this.#left + xAt(this.#span, this.#width - this.#left, time);
  }

  #words(about: string, pieces: readonly Piece[], brackets: readonly Bracket[]): string {
    const sums = new Map<string, number>();
    for (const { category, t0, t1 } of pieces) sums.set(category, (sums.get(category) ?? 0) + t1 - t0);
    const parts = [...sums]
      .sort((a, b) => b[1] - a[1])
      .map(([name, ps]) => `${labelOf(name)} ${formatMs(ps / PS_PER_MS)}`);
    const cards = brackets.map(({ card, ms }) => `card ${card + 1} is about ${formatMs(ms)} of it`);
    return [`${this.title}: ${about}`, ...parts, ...cards].join("; ");
  }

  /** Copies are striped: no other part is, whatever colours a reader tells apart. */
  #stripes(): SVGElement {
    const line = svg("path", { d: "M0 6 6 0", stroke: "var(--ink)", "stroke-opacity": 0.45 });
    return svg("defs", svg("pattern", { id: this.#hatch, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, line));
  }

  /** What computes a step: its devices, or where it has none its CPU. */
  get #computes(): string {
    return this.view.whole.data.meta.overview.has_device ? "device_compute" : "host_compute";
  }

  #lanes(pieces: readonly Piece[]): SVGElement[] {
    const hasDevice = this.#computes === "device_compute";
    const kind = /\bTPU\b/.test(String(this.view.whole.data.meta.overview.environment?.device_type)) ? "TPU" : "GPU";
    const names = hasDevice ? [`${kind} computes`, `${kind} waits for`] : ["CPU computes", "step waits for"];
    const found: SVGElement[] = [];
    names.forEach((name, lane) => {
      const ground = { x: this.#left, y: TOPS[lane], width: this.#width - this.#left, height: LANE_PX };
      found.push(svg("text", { x: 0, y: TOPS[lane] + 13 }, name), svg("rect.ground", ground));
    });
    for (const piece of merged(pieces, ((this.#span.t1 - this.#span.t0) / this.#width) * LEAST_PX)) {
      const lane = piece.category === this.#computes ? 0 : 1;
      const ms = formatMs((piece.t1 - piece.t0) / PS_PER_MS);
      const share = formatPercent((piece.t1 - piece.t0) / (this.#span.t1 - this.#span.t0));
      found.push(
        ...this.#bar(lane, piece, piece.category, [`${labelOf(piece.category)} ${ms}`, labelOf(piece.category)]),
      );
      this.#hits.push({
        lane,
        span: piece,
        tip: { title: `${labelOf(piece.category)} ${ms}`, lines: [`${share} of the step`] },
        ops: [],
      });
    }
    return found;
  }

  #owners(rows: readonly AttributionRow[]): SVGElement[] {
    const least = (2 * (this.#span.t1 - this.#span.t0)) / PS_PER_MS / this.#width;
    const lane = laneOf(rows, least);
    const found: SVGElement[] = lane.length > 0 ? [svg("text", { x: 0, y: TOPS[2] + 13 }, "op and line")] : [];
    for (const row of lane) {
      const [name, ms] = [shortName(row), formatMs(row.time_ms)];
      const texts = [...(row.line ? [`${name} ${ms}, ${row.line}`] : []), `${name} ${ms}`, name];
      found.push(...this.#bar(2, spanOfRow(row), row.category, texts));
      this.#hits.push({ lane: 2, span: spanOfRow(row), tip: this.#tipOf(row), ops: row.op ? [row.op] : [] });
    }
    return found;
  }

  /** How many ops run at once, up to the most of the step. */
  #atOnce(): SVGElement[] {
    const { data } = this.view.whole;
    const { op_waits = [] } = data.meta;
    const occurrences = data.isWhole("occurrences") ? data.table("occurrences") : undefined;
    const width = this.#width - this.#left;
    const of = opsAtOnce(occurrences ?? EMPTY_TABLE, this.#span, Math.ceil(width / 2), (op) => op_waits[op] !== 1);
    const most = of.reduce((a, b) => Math.max(a, b), 1);
    const floor = TOPS[3] + LANE_PX;
    const xOf = (k: number) => this.#left + (k * width) / of.length;
    const edges = Array.from(of, (n, k) => `H${xOf(k)}V${floor - (n / most) * LANE_PX}`).join("");
    of.forEach((n, k) => {
      const span = { t0: timeAt(this.#span, of.length, k), t1: timeAt(this.#span, of.length, k + 1) };
      if (n >= 0.05)
        this.#hits.push({ lane: 3, span, tip: { title: `${formatNumber(n, 2)} ops at once`, lines: [] }, ops: [] });
    });
    const text = svg("text", { x: 0, y: TOPS[3] + 13 }, `up to ${formatNumber(most, 2)} ops`);
    return [text, svg("path.at-once", { d: `M${this.#left} ${floor}${edges}H${this.#width}V${floor}Z` })];
  }

  #tipOf(row: AttributionRow): Tip {
    const card = this.view.whole.data.meta.advice?.[row.advice];
    const about = row.op && row.event && row.event !== row.op ? [`event ${tipName(row.event)}`] : [];
    const where = [row.line && `line ${row.line}`, row.layer && `layer ${row.layer}`].filter(Boolean).join(" · ");
    const headline = card && `${numeral(row.advice) ?? "card"}: ${card.headline || card.title}`;
    const lines = [labelOf(row.category), ...about, where, headline ?? ""].filter(Boolean);
    return { title: `${tipName(row.op || row.event)} ${formatMs(row.time_ms)}`, lines };
  }

  /** A bar with the first of some texts that fits. */
  #bar(lane: number, span: Span, category: string, texts: readonly string[]): SVGElement[] {
    const [x0, x1] = [this.#x(span.t0), this.#x(span.t1)];
    const width = Math.max(1, x1 - x0);
    const color = `var(--c-${category})`;
    const fill = width < 3 ? color : `color-mix(in srgb, ${color} 42%, var(--bg))`;
    const at = { x: x0, y: TOPS[lane], width, height: LANE_PX };
    const bars = [svg("rect", { ...at, style: { fill, stroke: width < 3 ? "none" : color } })];
    if (COPIES.includes(category)) bars.push(svg("rect", { ...at, fill: `url(#${this.#hatch})` }));
    const widthOf = textWidth(this.#head);
    const text = texts.find((one) => widthOf(one) <= width - 2 * PAD_PX);
    if (text === undefined) return bars;
    return [...bars, svg("text.in", { x: x0 + width / 2, y: TOPS[lane] + 13, "text-anchor": "middle" }, text)];
  }

  #brackets(brackets: readonly Bracket[]): SVGElement[] {
    const found: SVGElement[] = [];
    let reached = 0;
    const widthOf = textWidth(this.#head);
    const labels: { readonly x: number; readonly text: string }[] = [];
    for (const { card, ms, category, spans } of brackets) {
      const [widest] = [...spans].sort((a, b) => b.t1 - b.t0 - (a.t1 - a.t0));
      labels.push({ x: (this.#x(widest.t0) + this.#x(widest.t1)) / 2, text: `${numeral(card)} ${formatMs(ms)}` });
      const about = this.view.whole.data.meta.advice?.[card];
      const tip = {
        title: `${numeral(card)} ${about?.headline || about?.title}`,
        lines: [`${formatMs(ms)} of this step`],
      };
      for (const span of spans) {
        if (span !== widest && this.#x(span.t1) - this.#x(span.t0) < 3) continue; // which would look like dust
        const [x0, x1] = [this.#x(span.t0), Math.max(this.#x(span.t1), this.#x(span.t0) + 1)];
        const d =
          x1 - x0 < 6 ? `M${x0} ${BRACKET_PX}H${x1}` : `M${x0} ${BRACKET_PX + 5}V${BRACKET_PX}H${x1}V${BRACKET_PX + 5}`;
        found.push(svg("path.bracket", { d, style: { stroke: `var(--c-${category})` } }));
        this.#hits.push({ lane: -1, span, tip, ops: about?.op_names ?? [] });
      }
    }
    for (const { x, text } of labels.sort((a, b) => a.x - b.x)) {
      const half = widthOf(text) / 2 + 3;
      const at = Math.min(Math.max(x, reached + half, half), this.#width - half);
      reached = at + half;
      found.push(svg("text.number", { x: at, y: BRACKET_PX - 6, "text-anchor": "middle" }, text));
    }
    return found;
  }

  #axis(ms: number): SVGElement[] {
    const ticks = niceTicks(ms, Math.max(2, (this.#width - this.#left) / 110));
    const line = svg("path.axis", { d: `M${this.#left} ${this.#bottom}H${this.#width}` });
    const unit = ms < 1 ? [1000, "µs"] : ([1, "ms"] as const);
    const texts = ticks.map((tick, i) => {
      const x = this.#x(this.#span.t0 + tick * PS_PER_MS);
      const text = `${Number((tick * Number(unit[0])).toPrecision(6))}${i === 1 ? ` ${unit[1]}` : ""}`;
      const anchor = i === 0 ? "start" : this.#width - x < 30 ? "end" : "middle";
      return svg("text", { x, y: this.#bottom + 15, "text-anchor": anchor }, text);
    });
    return [line, ...texts];
  }

  #hitAt(event: MouseEvent): Hit | undefined {
    const box = this.#place.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const lane = TOPS.findIndex((top) => y >= top && y < top + LANE_PX);
    if (lane < 0 && y > BRACKET_PX + 6) return undefined;
    const time = timeAt(this.#span, this.#width - this.#left, x - this.#left);
    const near = ((this.#span.t1 - this.#span.t0) / this.#width) * 2;
    const found = this.#hits.filter(
      (hit) => hit.lane === lane && time >= hit.span.t0 - near && time <= hit.span.t1 + near,
    );
    return found.sort((a, b) => a.span.t1 - a.span.t0 - (b.span.t1 - b.span.t0))[0];
  }

  #point(event: PointerEvent): void {
    const hit = this.#hitAt(event);
    this.#place.classList.toggle("on", hit !== undefined);
    if (hit === undefined) {
      this.#tip.hide();
      return;
    }
    const box = this.element.getBoundingClientRect();
    this.#tip.show(event.clientX - box.left, event.clientY - box.top + 12, hit.tip);
  }

  /** The timeline goes to the step and marks what was clicked. */
  #click(event: MouseEvent): void {
    const hit = this.#hitAt(event);
    const { link, data } = this.view.whole;
    const steps = data.table("steps");
    if (hit === undefined || steps === undefined) return;
    chooseRange(link, timeOfSteps(steps, this.#row, this.#row), this.#row);
    link.setSelection(hit.ops);
    link.setStretches([Math.floor(hit.span.t0 / 1000), Math.ceil(hit.span.t1 / 1000)]);
  }
}

/** Pieces as they are drawn: of those that follow each other and are too thin to be seen each category is one. */
function merged(pieces: readonly Piece[], least: number): Piece[] {
  const found: Piece[] = [];
  let thin: Piece[] = [];
  const flush = () => {
    if (thin.length === 0) return;
    const sums = new Map<string, number>();
    for (const { category, t0, t1 } of thin) sums.set(category, (sums.get(category) ?? 0) + t1 - t0);
    let t0 = thin[0].t0;
    for (const [category, ps] of sums) {
      found.push({ category, t0, t1: t0 + ps });
      t0 += ps;
    }
    thin = [];
  };
  for (const piece of pieces) {
    if (piece.t1 - piece.t0 < least) {
      thin.push(piece);
      if (piece.t1 - thin[0].t0 >= 4 * least) flush();
      continue;
    }
    flush();
    found.push(piece);
  }
  flush();
  return found;
}

/** The typical step, and where steps are of two kinds one of the longer ones; a step that is chosen in place of them. */
export function strips(view: TraceView): HTMLElement {
  const { link, data } = view.whole;
  const drawn = [
    new Strip(view, "One typical step"),
    new Strip(view, "A slow step"),
    new Strip(view, "The chosen step"),
  ];
  const box = h("section.tfp-scales", { "aria-label": "A step, to scale" }, ...drawn.map(({ element }) => element));
  const draw = () => {
    const host = (data.meta.hosts ?? []).indexOf(link.host);
    const steps = data.table("steps") ?? EMPTY_TABLE;
    const typical = (host < 0 && data.meta.overview.typical_steps) || [];
    const rows = typical.length > 0 ? typical : [typicalStep(steps, host)];
    const chosen = link.step >= 0 && !rows.includes(link.step) ? link.step : -1;
    [...(chosen < 0 ? [rows[0], rows[1] ?? -1] : [-1, -1]), chosen].forEach((row, i) => {
      drawn[i].draw(row);
    });
  };
  const later = inFrame(draw, view.signal);
  for (const field of ["step", "host"] as const) link.on(field, later, view.signal);
  data.onTables(later, view.signal, ["steps", "step_pieces", "attribution", "advice", "occurrences"]);
  void data.ready(["step_pieces", "attribution"]);
  draw();
  return box;
}
