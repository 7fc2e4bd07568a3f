import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clamp, panBy, type Span, zoomAt } from "../src/data/columns";
import { isEcho, SharedWindow, shifted, type WantedWindow } from "../src/model/range";

const STARTS = [1e10, 4e10];
const HOME: Span = { t0: -1e8, t1: 1e9 };

/** Timelines that do what the real ones do with a window they are given, and tell of it. */
function twoTimelines(bounds: readonly Span[]) {
  const views: Span[] = bounds.map((span) => span);
  const limits: Span[] = bounds.map((span) => span);
  let nShown = 0;
  const shared: SharedWindow = new SharedWindow(STARTS, HOME, (index, wanted: WantedWindow) => {
    nShown += 1;
    limits[index] = wanted.limits;
    move(index, wanted.view);
  });
  const move = (index: number, view: Span) => {
    views[index] = clamp(view, limits[index]);
    shared.told(index, { view: views[index], bounds: bounds[index] });
  };
  bounds.forEach((_, index) => void move(index, views[index]));
  return { shared, views, limits, move, nShown: () => nShown };
}

const areAligned = ([a, b]: readonly Span[]) => isEcho(shifted(a, -STARTS[0]), shifted(b, -STARTS[1]));
const LONG = { t0: 0, t1: 9e10 };
const SHORT = { t0: 0, t1: 5e10 };

describe("two timelines with one window", () => {
  it("begin aligned", () => {
    const { views } = twoTimelines([LONG, SHORT]);
    expect(isEcho(shifted(views[0], -STARTS[0]), HOME)).toBe(true);
    expect(areAligned(views)).toBe(true);
  });

  it("stay aligned whatever is panned and zoomed in either, beyond the end of the shorter capture, too", () => {
    const moves = fc.array(
      fc.tuple(
        fc.constantFrom(0, 1),
        fc.double({ min: -2, max: 2, noNaN: true }),
        fc.double({ min: 0.1, max: 10, noNaN: true }),
      ),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(moves, (steps) => {
        const { views, limits, move } = twoTimelines([LONG, SHORT]);
        for (const [index, pan, zoom] of steps) {
          const view = views[index];
          const panned = panBy(view, pan * (view.t1 - view.t0), limits[index]);
          move(index, zoomAt(panned, (panned.t0 + panned.t1) / 2, zoom, limits[index]));
          expect(areAligned(views)).toBe(true);
        }
      }),
    );
  });

  it("answer no answer", () => {
    const { move, views, nShown } = twoTimelines([LONG, SHORT]);
    const before = nShown();
    move(0, shifted(views[0], 1e8));
    expect(nShown()).toBe(before + 1);
  });

  it("go back to where they began", () => {
    const { shared, move, views } = twoTimelines([LONG, SHORT]);
    move(1, shifted(views[1], 5e9));
    shared.reset();
    expect(isEcho(shifted(views[0], -STARTS[0]), HOME)).toBe(true);
    expect(areAligned(views)).toBe(true);
  });

  it("need not both be there", () => {
    const shown: number[] = [];
    const shared = new SharedWindow(STARTS, HOME, (index) => void shown.push(index));
    shared.told(0, { view: LONG, bounds: LONG });
    shared.told(0, { view: SHORT, bounds: LONG });
    expect(shown).toEqual([0]);
  });
});
