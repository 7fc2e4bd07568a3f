import { describe, expect, it } from "vitest";
import { xAt } from "../src/data/columns";
import { TRACKS_TOP_PX } from "../src/draw/frame";
import { drawArrows, markFound, outlineEvent, outlineHovered, outlineMarked } from "../src/draw/marks";
import { drawNoCounter, drawTracks } from "../src/draw/tracks";
import { newArrangement } from "../src/model/arrangement";
import { Marks } from "../src/model/search";
import { layoutTracks, ROW_PX, SLICE_PX } from "../src/model/tracks";
import { flagsOfKeys } from "../src/views/timeline/state";
import { events, frame, lineNames, meta, recorder, rows, steps, texts, work } from "./drawn_frame";

describe("outlines", () => {
  const idOf = (name: string) => meta.names.indexOf(name);
  const marked = (ids: readonly number[]) => {
    const marks = new Marks(events, flagsOfKeys(meta, Int32Array.from(ids)));
    marks.advance();
    return marks;
  };

  it("mark every visible slice of an op on its place", () => {
    const { ctx, calls } = recorder();
    const view = { t0: steps.start[12], t1: steps.end[18] };
    const marks = marked([idOf("Iterator::Root::BatchV2")]);
    outlineMarked(frame(ctx, { view }), marks, "ink");
    expect(calls.filter((c) => c.name === "stroke")).toHaveLength(7);
    const first = calls.find((c) => c.name === "lineTo");
    let event = marks.next(0, events.n);
    while (events.step[event] !== 12) event = marks.next(event + 1, events.n);
    expect(Number(first?.args[0])).toBeCloseTo(Math.round(xAt(view, 850, events.start[event])) + 0.5, 5);
  });

  it("leave the colour of narrow slices seen: ticks at the top of their row, one per pixel column, however many there are", () => {
    const { ctx, calls } = recorder();
    const marks = marked([idOf("Iterator::Root::BatchV2::Zip[0]::Map")]);
    outlineMarked(frame(ctx, { view: { t0: 0, t1: 50 * meta.duration_ps } }), marks, "ink");
    expect(calls.filter((c) => c.name === "stroke")).toEqual([]);
    const ticks = calls.filter((c) => c.name === "fillRect");
    expect(ticks.length).toBeGreaterThan(5);
    expect(ticks.length).toBeLessThan(20);
    expect(ticks.every((c) => c.fillStyle === "ink" && c.args[3] === 2)).toBe(true);
    expect(ticks.every((c) => (Number(c.args[1]) - TRACKS_TOP_PX) % ROW_PX < SLICE_PX - 2)).toBe(true);
  });

  it("put caps over and under one narrow slice, and nothing beside it", () => {
    const { ctx, calls } = recorder();
    const view = { t0: 0, t1: 50 * meta.duration_ps };
    const event = marked([idOf("Iterator::Root::BatchV2")]).next(0, events.n);
    outlineEvent(frame(ctx, { view }), event, "ink", 2);
    expect(calls.filter((c) => c.name === "stroke")).toEqual([]);
    const caps = calls.filter((c) => c.name === "fillRect").map((c) => c.args.map(Number));
    expect(caps).toHaveLength(2);
    const [[x, top, width, thick], [, bottom]] = caps;
    const middle = xAt(view, 850, events.start[event]);
    expect([x < middle, x + width > middle, thick]).toEqual([true, true, 2]);
    expect(bottom - top).toBe(SLICE_PX - 2);
  });

  it("surround found slices that are wide, and ticks stand for narrow ones at the bottom of their row", () => {
    const long = new Set(Array.from(events.name).filter((_, e) => events.duration[e] > meta.duration_ps / 10));
    const names = Uint8Array.from(meta.names, (_, name) => (long.has(name) ? 0 : 1));
    const marks = new Marks(events, { names, ops: null });
    marks.advance();
    const draw = (t0: number, t1: number) => {
      const { ctx, calls } = recorder();
      markFound(frame(ctx, { view: { t0, t1 } }), marks, "act");
      return { strokes: calls.filter((c) => c.name === "stroke"), ticks: calls.filter((c) => c.name === "fillRect") };
    };
    expect(draw(steps.start[14], steps.end[14]).strokes.length).toBeGreaterThan(0);
    const far = draw(0, 50 * meta.duration_ps);
    expect(far.strokes).toEqual([]);
    expect(far.ticks.length).toBeGreaterThan(5);
    expect(far.ticks.every((c) => c.fillStyle === "act" && c.args[2] === 2 && c.args[3] === 2)).toBe(true);
    expect(new Set(far.ticks.map((c) => `${c.args[0]} ${c.args[1]}`)).size).toBe(far.ticks.length);
  });

  it("show where the hovered name is among the wide slices, and look at no others", () => {
    const { ctx, calls } = recorder();
    const hoveredIds = Int32Array.of(idOf("Iterator::Root::BatchV2"));
    const near = frame(ctx, { view: { t0: steps.start[12], t1: steps.end[18] }, hoveredIds });
    drawTracks(near);
    const before = calls.filter((c) => c.name === "stroke").length;
    outlineHovered(near, "ink");
    expect(calls.filter((c) => c.name === "stroke").length - before).toBe(7);
    const far = frame(ctx, { view: { t0: 0, t1: 500 * meta.duration_ps }, hoveredIds });
    drawTracks(far);
    expect(far.hovered).toEqual([]);
  });
});

describe("arrows", () => {
  /** Positions of an op in a step on two lines: its launch and its kernel. */
  function launchAndKernel(): readonly [number, number] {
    const relu = meta.names.indexOf("sequential/conv2d/Relu");
    const isOf = (e: number, line: number) =>
      events.lineOf(e) === line && events.step[e] === 14 && events.keyOf(e) === relu;
    const of = (line: number) => [...events.start.keys()].find((e) => isOf(e, line)) as number;
    return [of(2), of(16)];
  }

  it("end at the head of a plane whose tracks are closed, and are dashed there", () => {
    const { ctx, calls } = recorder();
    const [launch, kernel] = launchAndKernel();
    const closed = newArrangement();
    const plane = meta.lines[events.lineOf(kernel)].plane;
    closed.closedPlanes.add(plane);
    const layout = layoutTracks({ meta, rows, work, lineNames, counterNames: [] }, closed);
    const head = layout.tracks.find((track) => track.kind === "plane" && track.plane === plane);
    drawArrows(frame(ctx, { tracksBottom: 1000, layout }), [{ from: launch, to: kernel, kind: 0, hop: 1 }], "ink");
    const [, tip] = calls.filter((c) => c.name === "moveTo");
    expect(tip.args[1]).toBe(TRACKS_TOP_PX + (head?.y ?? 0) + (head?.height ?? 0) / 2);
    expect(calls.find((c) => c.name === "setLineDash")?.args[0]).not.toEqual([]);
  });

  it("are not drawn to a track that is hidden with its plane", () => {
    const { ctx, calls } = recorder();
    const [launch, kernel] = launchAndKernel();
    const arrangement = newArrangement();
    arrangement.hidden.add(`p${meta.lines[events.lineOf(kernel)].plane}`);
    const layout = layoutTracks({ meta, rows, work, lineNames, counterNames: [] }, arrangement);
    drawArrows(frame(ctx, { tracksBottom: 1000, layout }), [{ from: launch, to: kernel, kind: 0, hop: 1 }], "ink");
    expect(calls.filter((c) => c.name === "stroke")).toEqual([]);
  });

  it("go from the launch to the start of its kernel", () => {
    const { ctx, calls } = recorder();
    const [launch, kernel] = launchAndKernel();
    const shown = frame(ctx, { tracksBottom: 1000 });
    drawArrows(shown, [{ from: launch, to: kernel, kind: 0, hop: 1 }], "ink");
    const [tail, tip] = calls.filter((c) => c.name === "moveTo");
    expect(Number(tip.args[0])).toBeCloseTo(xAt(shown.view, 850, events.start[kernel]), 5);
    expect(Number(tail.args[1])).toBeGreaterThan(Number(tip.args[1]));
  });
});

describe("where no memory is drawn", () => {
  const wordsOf = (of: Partial<typeof meta>) => {
    const { ctx, calls } = recorder();
    drawNoCounter(frame(ctx, { meta: { ...meta, ...of } }), 0);
    return texts(calls)[1];
  };
  const notRecorded = "Not recorded on this run.";

  it("is said why", () => {
    expect(wordsOf({ memory_remedy: "Nothing reports.\nimport os" })).toBe("Nothing reports.");
  });

  it("peaks are promised only of a reduced profile of which a host recorded memory", () => {
    expect(wordsOf({ is_summed: true, n_allocators: 2 })).toBe(
      "Not over time in a reduced profile. The memory view has the peak of each host that recorded it.",
    );
    expect(wordsOf({ is_summed: true, n_allocators: 0 })).toBe(notRecorded);
    expect(wordsOf({ is_summed: false, n_allocators: 1 })).toBe(notRecorded);
  });
});
