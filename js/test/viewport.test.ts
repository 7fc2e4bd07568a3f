import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clamp, fitRange, MIN_SPAN_PS, panBy, shows, tickStep, timeAt, xAt, zoomAt } from "../src/data/columns";

const BOUNDS = { t0: 0, t1: 1e12 };
const WIDTH = 850;
const views = fc
  .tuple(fc.double({ min: 0, max: 0.9, noNaN: true }), fc.double({ min: 1e-6, max: 0.1, noNaN: true }))
  .map(([at, length]) => ({ t0: at * 1e12, t1: (at + length) * 1e12 }));

describe("viewport", () => {
  it("gives back the pixel that a time came from", () => {
    fc.assert(
      fc.property(views, fc.double({ min: 0, max: WIDTH, noNaN: true }), (view, x) => {
        expect(xAt(view, WIDTH, timeAt(view, WIDTH, x))).toBeCloseTo(x, 4);
      }),
    );
  });

  it("keeps the time under the cursor while zooming inside the bounds", () => {
    const factors = fc.double({ min: 0.2, max: 1.5, noNaN: true });
    fc.assert(
      fc.property(views, fc.double({ min: 0, max: WIDTH, noNaN: true }), factors, (view, x, factor) => {
        const time = timeAt(view, WIDTH, x);
        const next = zoomAt(view, time, factor, { t0: -1e13, t1: 1e13 });
        expect(xAt(next, WIDTH, time)).toBeCloseTo(x, 3);
      }),
    );
  });

  it("undoes a zoom by the inverse factor", () => {
    fc.assert(
      fc.property(views, fc.double({ min: 0.3, max: 3, noNaN: true }), (view, factor) => {
        const wide = { t0: -1e13, t1: 1e13 };
        const time = (view.t0 + view.t1) / 2;
        const back = zoomAt(zoomAt(view, time, factor, wide), time, 1 / factor, wide);
        expect(back.t0).toBeCloseTo(view.t0, -1);
        expect(back.t1).toBeCloseTo(view.t1, -1);
      }),
    );
  });

  it("never leaves the bounds and never gets thinner than the clock", () => {
    const deltas = fc.double({ min: -1e13, max: 1e13, noNaN: true });
    fc.assert(
      fc.property(views, deltas, fc.double({ min: 1e-9, max: 1e9, noNaN: true }), (view, delta, factor) => {
        const next = zoomAt(panBy(view, delta, BOUNDS), view.t0, factor, BOUNDS);
        expect(next.t0).toBeGreaterThanOrEqual(0);
        expect(next.t1).toBeLessThanOrEqual(1e12 + 1);
        expect(next.t1 - next.t0).toBeGreaterThanOrEqual(MIN_SPAN_PS * 0.999);
      }),
    );
  });

  it("shows the whole of a capture shorter than the smallest window", () => {
    expect(clamp({ t0: -5, t1: 50 }, { t0: 0, t1: 10 })).toEqual({ t0: 0, t1: 10 });
  });

  it("fits a range with a margin on both sides", () => {
    const view = fitRange({ t0: 4e11, t1: 5e11 }, BOUNDS, 0.1);
    expect(view).toEqual({ t0: 3.9e11, t1: 5.1e11 });
    expect(shows(view, { t0: 4e11, t1: 5e11 })).toBe(true);
    expect(shows(view, { t0: 5e11, t1: 6e11 })).toBe(false);
  });

  it("puts ticks at 1, 2 or 5 times a power of ten, no closer than asked", () => {
    fc.assert(
      fc.property(views, (view) => {
        const step = tickStep(view, WIDTH, 90);
        expect((step / (view.t1 - view.t0)) * WIDTH).toBeGreaterThanOrEqual(89.9);
        expect(["1", "2", "5"]).toContain(step.toPrecision(1)[0]);
      }),
    );
  });
});
