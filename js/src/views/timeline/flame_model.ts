/** Turns a span of time into the flame that is shown of it: what it merges, how far it is zoomed, which rectangles that makes. */
import { FlameBuilder, ROOT } from "../../model/events/flame";
import { type Flame, type FlameRect, finishFlame, layoutFlame, pathTo } from "../../model/events/flame_layout";
import { formatCount, formatPercent, formatTime } from "../../model/text/format";
import type { Span } from "../../model/time/viewport";
import { SpanJob } from "./span_job";
import type { TimelineState } from "./state";

export type By = "thread" | "all";

const LEAST_PX = 1.5;

export class FlameModel {
  flame: Flame | null = null;
  rects: readonly FlameRect[] = [];
  /** Index of the rectangle of the keyboard, -1 for none. */
  cursor = -1;
  /** Name id whose slices are the bottom, -1 for everything. */
  base = -1;
  #by: By = "thread";
  /** Labels of the nodes that lead to the zoomed one, so that it is found again in the next flame. */
  #zoom: readonly number[] = [];
  #groups: readonly string[] = [];
  #width = 0;
  readonly #job: SpanJob<FlameBuilder>;

  constructor(
    readonly state: TimelineState,
    /** Called when there are other rectangles. */
    readonly onRects: () => void,
  ) {
    this.#job = new SpanJob(
      (span) => this.#begin(span),
      (builder) => this.#finish(builder),
    );
  }

  /** A part of a frame; whether there is more to do. */
  update(span: Span): boolean {
    return this.#job.update(span, `${this.#by}|${this.base}`, this.state.events.generation);
  }

  /** Share of the next flame that is done; null while none is made. */
  get progress(): number | null {
    return this.#job.running?.progress ?? null;
  }
  get isZoomed(): boolean {
    return this.#zoom.length > 0;
  }

  #begin(span: Span): FlameBuilder {
    const { meta, events } = this.state;
    const isThread = this.#by === "thread";
    this.#groups = isThread ? this.#threadNames() : meta.planes.map((_, plane) => this.#planeName(plane));
    const groupOf = (line: number) => (meta.lines[line].is_derived ? -1 : isThread ? line : meta.lines[line].plane);
    const { base } = this;
    const isBase = base < 0 ? undefined : (position: number) => events.name[position] === base;
    return new FlameBuilder(events, span, { groupOf, isBase });
  }

  #threadNames(): string[] {
    const { meta, lineNames } = this.state;
    const isHost = (plane: number) => meta.planes[plane].kind === "host";
    return meta.lines.map(({ plane }, id) =>
      isHost(plane) ? lineNames[id] : `${this.#planeName(plane)} ${lineNames[id]}`,
    );
  }

  #planeName(plane: number): string {
    const { planes } = this.state.meta;
    const hasSeveral = planes.some(({ host }) => host !== planes[0].host);
    return hasSeveral ? `${planes[plane].host}${planes[plane].name}` : planes[plane].name;
  }

  #finish(builder: FlameBuilder) {
    this.flame = this.state.events.hasAll(builder.span) ? finishFlame(builder.tree) : null;
    if (this.flame) this.layout();
    else this.#forget();
  }

  #forget() {
    this.rects = [];
    this.cursor = -1;
    this.onRects();
  }

  setWidth(width: number) {
    this.#width = width;
    this.layout();
  }

  layout() {
    const { flame } = this;
    if (!flame || this.#width === 0) return;
    const at = this.rects[this.cursor];
    this.rects = layoutFlame(flame, this.#zoomed(flame), LEAST_PX / this.#width);
    const isAt = ({ node, nRest }: FlameRect) => node === at?.node && nRest > 0 === at.nRest > 0;
    this.cursor = at ? this.rects.findIndex(isAt) : -1;
    this.onRects();
  }

  /** The zoomed node in this flame; as far as the path leads. */
  #zoomed({ tree, offset, children }: Flame): number {
    let node = ROOT;
    for (const label of this.#zoom) {
      const next = children.subarray(offset[node], offset[node + 1]).find((child) => tree.label[child] === label);
      if (next === undefined) break;
      node = next;
    }
    return node;
  }

  setBy(by: By) {
    this.#by = by;
    this.#zoom = [];
  }

  setBase(name: number) {
    this.base = name;
    this.#zoom = [];
  }

  zoomTo(node: number) {
    const { flame } = this;
    this.#zoom = flame ? pathTo(flame.tree, node).map((at) => flame.tree.label[at]) : [];
    this.layout();
  }

  zoomOut() {
    this.#zoom = this.#zoom.slice(0, -1);
    this.layout();
  }

  /** Name id of a rectangle, negative for what is no slice. */
  labelOf({ node, nRest }: FlameRect): number {
    return nRest > 0 ? -1 : (this.flame?.tree.label[node] ?? -1);
  }

  nameOf({ node, nRest }: FlameRect): string {
    if (nRest > 0) return `${formatCount(nRest)} smaller`;
    const { names } = this.state.meta;
    if (node === ROOT) return this.base >= 0 ? `Inside ${names[this.base]}` : "All threads and streams";
    const label = this.flame?.tree.label[node] ?? -1;
    return label >= 0 ? names[label] : (this.#groups[-2 - label] ?? "");
  }
}

/** Total, self, how many, share of what is around it and of the whole. */
export function flameFigures({ tree, self }: Flame, { node, nRest, ps }: FlameRect): string[] {
  const whole = tree.total[ROOT];
  const parent = nRest > 0 ? node : tree.parent[node];
  const parts = [formatTime(ps)];
  if (nRest === 0) parts.push(`self ${formatTime(self[node])}`, `${formatCount(tree.count[node])} ×`);
  if (nRest === 0 && tree.label[node] >= 0 && tree.count[node] > 1)
    parts.push(`mean ${formatTime(ps / tree.count[node])}`);
  if (parent > ROOT) parts.push(`${formatPercent(ps / tree.total[parent])} of what is around it`);
  if (node !== ROOT || nRest > 0) parts.push(`${formatPercent(ps / whole)} of all`);
  return parts;
}
