/** The state of a training -> its chart: redrawn at most once a frame, and only when there is something new to draw. */

import type { Palette } from "../../colors/palette";
import { h, on, onKeys, unspoken } from "../../ui/dom";
import { inFrame, watchSize } from "../../ui/page";
import { createTip, drawLabels } from "../../ui/plot";
import { readPalette } from "../../ui/theme";
import type { View } from "../../ui/view";
import { binOf, StepAxis, topOf } from "./axes";
import { drawFlags } from "./flags";
import { liveLabels } from "./labels";
import { LABELS_PX, type Layout, layOut, RIGHT_PX } from "./layout";
import { paintLive } from "./paint";
import type { LiveState, Mark } from "./payload";
import { stripsOf } from "./strips";
import { binTip, markWords, stripWords, summary } from "./words";

const TIP_PX = 14;

export class LiveChart {
  readonly element: HTMLElement;
  readonly #plot = h("div.tfp-plot", { tabindex: 0, role: "application", "aria-roledescription": "step chart" });
  readonly #canvas = unspoken("canvas");
  readonly #labels = unspoken("div.tfp-labels");
  readonly #flags = h("div.flags");
  readonly #said = h("div.sr", { role: "status" });
  readonly #tip;
  readonly #redraw: () => void;
  #state: LiveState | null = null;
  #layout: Layout | null = null;
  #palette: Palette | null = null;
  #width = 0;
  #opened: number | null = null;
  /** The step that is pointed at, and whether it was clicked or walked to: then it stays. */
  #cursor: number | null = null;
  #isHeld = false;

  constructor(
    readonly view: View,
    readonly onWindow: (index: number) => void,
  ) {
    const { signal } = view;
    this.#plot.append(this.#canvas, this.#labels);
    this.element = h("div.chart", this.#plot, this.#flags, this.#said);
    this.#tip = createTip(this.element);
    this.#redraw = inFrame(() => this.#draw(), signal);
    view.onTheme(() => {
      this.#palette = null;
      this.#redraw();
    });
    const resize = (width: number) => {
      this.#width = width;
      this.#redraw();
    };
    watchSize(this.element, resize, signal);
    on(this.#plot, signal, {
      pointermove: (event) => this.#isHeld || this.#point(this.#at(event)),
      pointerleave: () => this.#isHeld || this.#point(null),
      blur: () => this.#point(null),
      // The first click keeps the words of a bin where they are, so that they can be read; the next one lets go.
      click: (event) => this.#point(this.#at(event), !this.#isHeld),
    });
    onKeys(this.#plot, signal, ({ key, shiftKey }) => this.#key(key, shiftKey));
  }

  show(state: LiveState, opened: number | null): void {
    this.#state = state;
    this.#opened = opened;
    this.#redraw();
  }

  #draw(): void {
    const { signal } = this.view;
    const state = this.#state;
    if (state === null || this.#width === 0) return;
    const axis = new StepAxis(state.run, LABELS_PX, Math.max(1, this.#width - LABELS_PX - RIGHT_PX));
    const layout = layOut(state, stripsOf(state), axis, topOf(state.run));
    this.#layout = layout;
    this.#plot.style.height = `${layout.height}px`;
    this.#plot.setAttribute("aria-label", summary(state));
    drawLabels(this.#labels, liveLabels(layout, state.head));
    drawFlags(this.#flags, layout, state.head, this.#opened, this.onWindow, signal);
    this.#paint(layout, state);
    this.#tell(layout, state);
  }

  #paint(layout: Layout, state: LiveState): void {
    const canvas = this.#canvas;
    const ratio = globalThis.devicePixelRatio || 1;
    const [width, height] = [Math.round(this.#width * ratio), Math.round(layout.height * ratio)];
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const ctx = canvas.getContext("2d");
    if (ctx === null) return;
    this.#palette ??= readPalette(this.view.root);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintLive(ctx, { layout, marks: state.head.marks, palette: this.#palette, cursor: this.#cursor });
  }

  /** The step under the pointer; null beside the steps. */
  #at(event: MouseEvent): number | null {
    const layout = this.#layout;
    if (layout === null) return null;
    const ordinal = Math.floor(layout.axis.ordinal(event.clientX - this.#plot.getBoundingClientRect().left));
    return ordinal >= 0 && ordinal < layout.run.nSteps ? ordinal : null;
  }

  #point(at: number | null, isHeld = false): boolean {
    this.#isHeld = isHeld && at !== null;
    this.#cursor = at;
    this.#redraw();
    return true;
  }

  #marksAt(ordinal: number): Mark[] {
    const { axis } = this.#layout as Layout;
    const near = (2 * axis.nSteps) / axis.width;
    const end = ({ kind, at, to }: Mark) => to ?? (kind === "anomaly" ? axis.nSteps : at);
    const marks = this.#state?.head.marks ?? [];
    return marks.filter((mark) => ordinal >= mark.at - near && ordinal <= end(mark) + near);
  }

  #tell({ run, times, strips, axis }: Layout, { head }: LiveState): void {
    const ordinal = this.#cursor;
    if (ordinal === null) {
      this.#tip.hide();
      return;
    }
    const { title, lines } = binTip(run, binOf(run, ordinal), ordinal);
    const marks = this.#marksAt(ordinal).map((mark) => markWords(mark, head));
    const all = [
      ...lines,
      stripWords(
        strips.map(({ strip }) => strip),
        ordinal,
      ),
      ...marks,
    ].filter(Boolean);
    this.#tip.show(axis.x(ordinal + 0.5), times.top + TIP_PX, { title, lines: all });
    if (this.#isHeld) this.#said.textContent = [title, ...all].join(", ");
  }

  #key(key: string, isShift: boolean): boolean {
    const run = this.#layout?.run;
    if (run === undefined) return false;
    if (key === "Escape") return this.#cursor !== null && this.#point(null);
    if (key === "Enter" || key === " ") return this.#open();
    const marks = (this.#state?.head.marks ?? []).filter(({ kind }) => kind === "window" || kind === "anomaly");
    const isOfBins = isShift || marks.length === 0;
    const places = isOfBins ? [...run.first_ordinal] : marks.map(({ at }) => at).sort((a, b) => a - b);
    const now = this.#cursor ?? Number.POSITIVE_INFINITY;
    const next = {
      ArrowLeft: places.findLast((at) => at < now) ?? places[0],
      ArrowRight: places.find((at) => at > now) ?? places.at(-1),
      Home: places[0],
      End: places.at(-1),
    }[key];
    return next !== undefined && this.#point(next, true);
  }

  #open(): boolean {
    const at = this.#cursor;
    const window = at === null ? undefined : this.#marksAt(at).find(({ kind }) => kind === "window");
    if (window === undefined) return false;
    this.onWindow(window.index ?? -1);
    return true;
  }
}
