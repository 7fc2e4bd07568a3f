import { describe, expect, it } from "vitest";
import * as format from "../src/model/text";

describe("numbers for people", () => {
  it.each([
    [0, "0 ms"],
    [1, "1.00 ps"],
    [999, "999 ps"],
    [12_345, "12.3 ns"],
    [999_600, "1.00 µs"],
    [13_500_000_000, "13.5 ms"],
    [1.043e12, "1.04 s"],
    [-2.5e9, "-2.50 ms"],
    [1.2345e16, "12,345 s"],
  ])("writes %d ps as %s", (ps, text) => {
    expect(format.formatTime(ps)).toBe(text);
  });

  it.each([
    // Three digits of the largest, two of those that follow.
    [[28.9, 12.4, 0.71], "28.90 12.40 0.71"],
    [[246, 81], "246 81"],
    [[1.5, 0.0001, Number.NaN, 0], "1.500 <0.001 – 0"],
    [[2, 3], "2 3"],
    [[], ""],
  ])("gives all of a column as many decimals: %s", (values, text) => {
    const decimals = format.commonDecimals(values);
    expect(values.map((value) => format.formatTo(value, decimals)).join(" ")).toBe(text);
  });

  it("gives shares no more decimals than asked for", () => {
    expect(format.commonDecimals([26.636, 0.0021])).toBe(3);
    expect(format.commonDecimals([26.636, 0.0021], 2)).toBe(2);
  });

  it("gives means of counts decimals where they are not whole", () => {
    expect([18, 1 / 3, 1280].map(format.formatAmount)).toEqual(["18", "0.333", "1,280"]);
    expect([1, 18, 0.5].map((count) => format.plural(count, "op"))).toEqual(["1 op", "18 ops", "0.500 ops"]);
  });

  it.each([
    [0, "0 B"],
    [512, "512 B"],
    [1023.9, "1.00 KiB"],
    [3.34 * 2 ** 30, "3.34 GiB"],
    [385 * 2 ** 20, "385 MiB"],
  ])("writes %d bytes as %s", (bytes, text) => {
    expect(format.formatBytes(bytes)).toBe(text);
  });

  it.each([
    [0, "0 %"],
    [0.62, "62 %"],
    [0.0004, "<0.1 %"],
    [0.0274, "2.7 %"],
    [0.0999, "10 %"],
    [1, "100 %"],
    [Number.NaN, "–"],
  ])("writes the ratio %d as %s", (ratio, text) => {
    expect(format.formatPercent(ratio)).toBe(text);
  });

  it("keeps three significant digits and no exponent", () => {
    expect([0.00123, 1.2349, 12.349, 123.49, 1234.9, 0].map((v) => format.formatNumber(v))).toEqual([
      "0.00123",
      "1.23",
      "12.3",
      "123",
      "1,235",
      "0",
    ]);
  });

  it("tells neighbouring instants apart at the resolution asked for", () => {
    expect(format.formatInstant(487.968e9, 1e6)).toBe("487.968 ms");
    expect(format.formatInstant(440e9, 20e9)).toBe("440 ms");
    expect([13.5e12, 14e12].map((t) => format.formatInstant(t, 5e11))).toEqual(["13.5 s", "14.0 s"]);
  });

  it("counts", () => {
    expect([format.plural(1, "step"), format.plural(61204, "event")]).toEqual(["1 step", "61,204 events"]);
    expect(format.formatMs(21.34)).toBe("21.3 ms");
    expect(format.formatMsNumber(21.34e9)).toBe("21.3");
  });
});
