import { describe, expect, it } from "vitest";
import { Shares } from "../src/model/ops";

/** Unit 0 is an op, unit 1 a fusion of three, unit 2 one of two; op `i` has the name `10 + i`. */
const META = { op_name: [10, 11, 12, 13] };
const TABLE = {
  n: 6,
  columns: {
    unit: Int32Array.of(0, 1, 1, 1, 2, 2),
    op: Int32Array.of(0, 1, 2, 3, 2, 3),
    ratio: Float64Array.of(1, 0.2, 0.5, 0.3, 0.4, 0.6),
  },
};

describe("Shares", () => {
  it("tells what a unit stands for, the largest share first", () => {
    const shares = new Shares(TABLE, META);
    expect(shares.ofUnit(1).map(({ op }) => op)).toEqual([2, 3, 1]);
    expect(shares.ofUnit(0)).toEqual([{ op: 0, ratio: 1 }]);
    expect(shares.ofUnit(9)).toEqual([]);
  });

  it("finds the slices that an op is fused into, under the names of the ops they are most of", () => {
    const shares = new Shares(TABLE, META);
    expect(shares.drawnAs(11)).toEqual([12]);
    expect(shares.drawnAs(13).sort()).toEqual([12, 13]);
    expect(shares.drawnAs(99)).toEqual([]);
  });

  it("is empty without a table", () => {
    expect(new Shares(undefined, META).drawnAs(10)).toEqual([]);
  });
});
