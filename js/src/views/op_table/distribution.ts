/** Rows of the op table -> up to four bars of shares: self time by type and by op, on each side that did anything. */

import type { OpRow } from "../../model/ops/ops";
import { shortName } from "../../model/text/labels";
import { h } from "../../ui/dom";
import { isMostlyRest, ShareBar, shareSegments } from "../../ui/share_bar";

const SIDES = [
  { device: 1, name: "Device" },
  { device: 0, name: "Host" },
] as const;

interface SideBars {
  readonly device: 0 | 1;
  readonly byType: ShareBar;
  readonly byOp: ShareBar;
}

export class Distribution {
  readonly element = h("div.tfp-distribution");
  readonly #sides: readonly SideBars[];

  constructor(
    /** Slice family of an op, for its colour. */
    readonly familyOf: (op: number) => string,
    /** Gets the key of a row. */
    onPick: (key: string) => void,
    signal: AbortSignal,
  ) {
    this.#sides = SIDES.map(({ device, name }) => ({
      device,
      byType: new ShareBar(`${name} by type`, onPick, signal),
      byOp: new ShareBar(`${name} by op`, onPick, signal),
    }));
    for (const { byType, byOp } of this.#sides) this.element.append(byType.element, byOp.element);
  }

  /** @param each what times are of, such as " a step" */
  set(byType: readonly OpRow[], byOp: readonly OpRow[], each: string): void {
    for (const side of this.#sides) {
      const own = (rows: readonly OpRow[]) => rows.filter((row) => row.device === side.device);
      this.#fill(side.byType, own(byType), "types", each);
      this.#fill(side.byOp, own(byOp), "ops", each);
    }
  }

  /** Marks the rows whose keys these are. */
  setSelected(keys: ReadonlySet<string>): void {
    for (const { byType, byOp } of this.#sides) {
      byType.setSelected(keys);
      byOp.setSelected(keys);
    }
  }

  #fill(bar: ShareBar, rows: readonly OpRow[], noun: string, each: string): void {
    const of = (row: OpRow) => {
      const name = row.isIdle ? "no op running" : row.name || row.type;
      const short = row.isIdle ? [name, "idle"] : labelsOf(name);
      return { key: row.key, name, short, family: row.isIdle ? "runtime" : this.familyOf(row.op) };
    };
    const segments = shareSegments(rows, (row) => row.selfPs, { noun, whole: "self time", each, of });
    bar.element.hidden = segments.length === 0 || isMostlyRest(segments);
    bar.set(segments);
  }
}

/** Ever shorter names, each of which still says which op it is. */
export function labelsOf(name: string): string[] {
  const parts = name.split("/");
  const lastTwo = parts.length > 2 ? [`…/${parts.slice(-2).join("/")}`] : [];
  return [...new Set([name, ...lastTwo, shortName(name)])];
}
