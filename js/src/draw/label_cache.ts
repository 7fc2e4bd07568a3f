/** Turns a name id, or a path, and a width into the text that fits: measured once per text, cut once per length. */
import { opLabel, shortName } from "../model/text/labels";

const ELLIPSIS = "…";
const ELLIPSIS_PX = 11;

export class LabelCache {
  /** Of each text its width, and its cuts by their length. */
  readonly #texts = new Map<string, { readonly px: number; readonly cuts: string[] }>();
  readonly #short: string[] = [];
  /** By name id of an op and of its kernel: both of them, or the op alone. */
  readonly #kernels = new Map<number, { readonly both: string; readonly op: string }>();

  constructor(readonly names: readonly string[]) {}

  /** After a change of font, or of names. */
  clear() {
    this.#texts.clear();
    this.#kernels.clear();
  }

  /** Of a kernel first the op that launched it, by its name id, then the kernel itself where there is room. */
  fitKernel(ctx: CanvasRenderingContext2D, op: number, id: number, px: number): string {
    const key = op * this.names.length + id;
    let label = this.#kernels.get(key);
    if (label === undefined) {
      const own = opLabel(this.names[op]);
      label = { both: `${own} · ${shortName(this.names[id])}`, op: own };
      this.#kernels.set(key, label);
    }
    if (this.#measured(ctx, label.both).px <= px) return label.both;
    return this.#measured(ctx, label.op).px <= px ? label.op : this.fit(ctx, op, px);
  }

  /** The name, its informative part, or a cut of that; "" when not even three characters fit. */
  fit(ctx: CanvasRenderingContext2D, id: number, px: number): string {
    const name = this.names[id];
    if (this.#measured(ctx, name).px <= px) return name;
    this.#short[id] ??= shortName(name);
    return this.#cut(ctx, this.#short[id], px);
  }

  /** A path, its last parts, or a cut of the last one; "" when not even three characters fit. */
  fitPath(ctx: CanvasRenderingContext2D, path: string, px: number): string {
    const slash = path.indexOf("/");
    if (slash < 0) return this.#cut(ctx, path, px);
    return this.#measured(ctx, path).px <= px ? path : this.fitPath(ctx, path.slice(slash + 1), px);
  }

  #cut(ctx: CanvasRenderingContext2D, text: string, px: number): string {
    const { px: whole, cuts } = this.#measured(ctx, text);
    if (whole <= px) return text;
    const n = Math.floor(((px - ELLIPSIS_PX) / whole) * text.length);
    if (n < 3) return "";
    cuts[n] ??= text.slice(0, n) + ELLIPSIS;
    return cuts[n];
  }

  #measured(ctx: CanvasRenderingContext2D, text: string) {
    let found = this.#texts.get(text);
    if (found === undefined) {
      found = { px: ctx.measureText(text).width, cuts: [] };
      this.#texts.set(text, found);
    }
    return found;
  }
}
