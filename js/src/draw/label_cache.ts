/** Turns a name id and a width into the text that fits: measured once per name, cut once per length. */
import { opLabel, shortName } from "../model/text/labels";

const ELLIPSIS = "…";
/** Longer cuts share an entry: nobody counts the characters of a text this long. */
const MAX_CUT = 255;

export class LabelCache {
  readonly #full: Float32Array;
  readonly #short: Float32Array;
  readonly #shortText: string[] = [];
  readonly #cuts = new Map<number, string>();
  /** By name id of an op and of its kernel: both of them, or the op alone, with their widths. */
  readonly #kernels = new Map<number, { readonly both: string; readonly op: string; bothPx: number; opPx: number }>();

  constructor(readonly names: readonly string[]) {
    this.#full = new Float32Array(names.length).fill(-1);
    this.#short = new Float32Array(names.length).fill(-1);
  }

  /** After a change of font. */
  clear() {
    this.#full.fill(-1);
    this.#short.fill(-1);
    this.#cuts.clear();
    this.#kernels.clear();
  }

  /** Of a kernel first the op that launched it, by its name id, then the kernel itself where there is room. */
  fitKernel(ctx: CanvasRenderingContext2D, op: number, id: number, px: number): string {
    const key = op * this.names.length + id;
    let label = this.#kernels.get(key);
    if (label === undefined) {
      const own = opLabel(this.names[op]);
      const both = `${own} · ${shortName(this.names[id])}`;
      label = { both, op: own, bothPx: ctx.measureText(both).width, opPx: ctx.measureText(own).width };
      this.#kernels.set(key, label);
    }
    if (label.bothPx <= px) return label.both;
    return label.opPx <= px ? label.op : this.fit(ctx, op, px);
  }

  /** The name, its informative part, or a cut of that; "" when not even three characters fit. */
  fit(ctx: CanvasRenderingContext2D, id: number, px: number): string {
    if (this.#full[id] < 0) this.#measure(ctx, id);
    if (this.#full[id] <= px) return this.names[id];
    const text = this.#shortText[id];
    if (this.#short[id] <= px) return text;
    const chars = Math.floor(((px - 11) / this.#short[id]) * text.length);
    return chars < 3 ? "" : this.#cut(id, text, Math.min(chars, MAX_CUT));
  }

  #measure(ctx: CanvasRenderingContext2D, id: number) {
    this.#full[id] = ctx.measureText(this.names[id]).width;
    this.#shortText[id] ??= shortName(this.names[id]);
    const short = this.#shortText[id];
    this.#short[id] = short === this.names[id] ? this.#full[id] : ctx.measureText(short).width;
  }

  #cut(id: number, text: string, chars: number): string {
    const key = id * (MAX_CUT + 1) + chars;
    let cut = this.#cuts.get(key);
    if (cut === undefined) {
      cut = text.slice(0, chars) + ELLIPSIS;
      this.#cuts.set(key, cut);
    }
    return cut;
  }
}
