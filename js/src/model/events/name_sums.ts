/** Sums of slices by name: of a piece of time as it is kept, and of several as they are added up. */

/** Columns by place: a name id, or a rank among the names that occur. */
interface Sums {
  readonly count: Float64Array;
  readonly total: Float64Array;
  readonly self: Float64Array;
  /** Durations as a whole. */
  readonly whole: Float64Array;
  readonly least: Float64Array;
  readonly longest: Int32Array;
}

/** Totals of one tile, of the names that occur in it. */
export interface TileTotals extends Sums {
  readonly names: Int32Array;
}

function newSums(n: number): Sums {
  return {
    count: new Float64Array(n),
    total: new Float64Array(n),
    self: new Float64Array(n),
    whole: new Float64Array(n),
    least: new Float64Array(n).fill(Number.POSITIVE_INFINITY),
    longest: new Int32Array(n).fill(-1),
  };
}

/** Totals by name id, which remember the names they have: emptying costs what was added. */
export class Accumulator {
  readonly sums: Sums;
  readonly names: number[] = [];

  constructor(nNames: number) {
    this.sums = newSums(nNames);
  }

  add(name: number, count: number, total: number, self: number, whole = total) {
    if (this.sums.count[name] === 0) this.names.push(name);
    this.sums.count[name] += count;
    this.sums.total[name] += total;
    this.sums.self[name] += self;
    this.sums.whole[name] += whole;
  }

  /** Time of a slice that is counted already. */
  subtract(name: number, total: number, self: number) {
    this.sums.total[name] -= total;
    this.sums.self[name] -= self;
  }

  /** Of equally long ones the first stays the longest. */
  offer(name: number, position: number, duration: ArrayLike<number>, least = duration[position]) {
    const best = this.sums.longest[name];
    if (least < this.sums.least[name]) this.sums.least[name] = least;
    if (best < 0 || duration[position] > duration[best]) this.sums.longest[name] = position;
  }

  /** Adds all of a piece of time. */
  merge(totals: TileTotals, duration: ArrayLike<number>) {
    const { names, count, total, self, whole, least, longest } = totals;
    for (let k = 0; k < names.length; k++) {
      this.add(names[k], count[k], total[k], self[k], whole[k]);
      this.offer(names[k], longest[k], duration, least[k]);
    }
  }

  clear() {
    const { count, total, self, whole, least, longest } = this.sums;
    for (const name of this.names) {
      count[name] = 0;
      total[name] = 0;
      self[name] = 0;
      whole[name] = 0;
      least[name] = Number.POSITIVE_INFINITY;
      longest[name] = -1;
    }
    this.names.length = 0;
  }

  toTile(): TileTotals {
    const names = Int32Array.from(this.names);
    const { count, total, self, whole, least, longest } = this.sums;
    const at = (values: Float64Array) => Float64Array.from(names, (name) => values[name]);
    const tile = { names, count: at(count), total: at(total), self: at(self), whole: at(whole), least: at(least) };
    return { ...tile, longest: Int32Array.from(names, (name) => longest[name]) };
  }
}
