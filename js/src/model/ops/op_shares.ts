/** The table `op_shares` -> which framework ops a unit stands for, and which others a framework op is compiled together with. */
import { numbers } from "../wire/column";
import type { TraceMeta } from "../wire/meta";
import { EMPTY_TABLE, type Table } from "../wire/wire";

export interface Share {
  /** Framework op. */
  readonly op: number;
  /** Of the unit's time. */
  readonly ratio: number;
}

export class Shares {
  /** By unit the first of its rows in the table, which is sorted by unit. */
  readonly #first = new Map<number, number>();
  readonly #unitsOfName = new Map<number, number[]>();
  readonly #unit: ArrayLike<number>;
  readonly #op: ArrayLike<number>;
  readonly #ratio: ArrayLike<number>;

  constructor(
    table: Table | undefined,
    readonly meta: Pick<TraceMeta, "op_name">,
  ) {
    const shares = table ?? EMPTY_TABLE;
    this.#unit = numbers(shares, "unit");
    this.#op = numbers(shares, "op");
    this.#ratio = numbers(shares, "ratio");
    for (let row = shares.n - 1; row >= 0; row--) {
      this.#first.set(this.#unit[row], row);
      const name = meta.op_name[this.#op[row]];
      const units = this.#unitsOfName.get(name);
      if (units) units.push(this.#unit[row]);
      else this.#unitsOfName.set(name, [this.#unit[row]]);
    }
  }

  /** Whether no compiled program ran. */
  get isEmpty(): boolean {
    return this.#unit.length === 0;
  }

  /** What a unit stands for, largest share first; empty for a unit that the table does not name. */
  ofUnit(unit: number): Share[] {
    const found: Share[] = [];
    const first = this.#first.get(unit) ?? -1;
    for (let row = first; row >= 0 && row < this.#unit.length && this.#unit[row] === unit; row++) {
      found.push({ op: this.#op[row], ratio: this.#ratio[row] });
    }
    return found.sort((a, b) => b.ratio - a.ratio || a.op - b.op);
  }

  /** Name ids under which the units of a framework op are drawn: those of the ops that each of them is most of. */
  drawnAs(name: number): number[] {
    const units = this.#unitsOfName.get(name) ?? [];
    return [...new Set(units.flatMap((unit) => this.ofUnit(unit).slice(0, 1)).map(({ op }) => this.meta.op_name[op]))];
  }
}
