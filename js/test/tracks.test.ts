import { describe, expect, it } from "vitest";
import { bandsOf, filledRows } from "../src/core/bands";
import { extremeInSpan, newCounter } from "../src/core/counter";
import { buildRows, readEvents } from "../src/core/events";
import { shortName } from "../src/core/labels";
import type { TraceMeta } from "../src/core/meta";
import { layoutTracks, lineLabels, newTrackState, reveal, trackAt, yOfRow } from "../src/core/tracks";
import { trainingRun } from "./fixtures";

const run = trainingRun();
const meta = run.meta as unknown as TraceMeta;
const events = readEvents(run.tables.events, meta);
const rows = buildRows(events, meta.lines.length);

describe("tracks", () => {
  const layout = layoutTracks(meta, rows, filledRows(events, rows), newTrackState());

  it("puts the busiest threads first and folds the idle ones with their number", () => {
    const names = layout.tracks.map((t) =>
      t.kind === "line" ? meta.lines[t.line].name : `${t.kind} ${t.lines.length}`,
    );
    expect(names).toEqual([
      "plane 15",
      "python",
      "tf_data_iterator_get_next",
      "tf_Compute/0",
      "fold 12",
      "plane 3",
      "Stream #13 Compute",
      "Stream #14 Memcpy",
      "TensorFlow Ops",
    ]);
  });

  it("puts devices that did next to nothing after the others", () => {
    const planes = ["GPU:0", "GPU:1", "GPU:2"].map((name) => ({ name, host: "", kind: "device" as const }));
    const busy = [1, 100, 90];
    const lines = busy.map((busy_ps, plane) => ({ plane, name: "s", n_events: 1, busy_ps, is_derived: false }));
    const one = { start_ps: new Float64Array(3), duration_ps: Float64Array.from(busy), line: Int32Array.of(0, 1, 2) };
    const own = readEvents({ n: 3, columns: one }, meta);
    const ownRows = buildRows(own, 3);
    const order = layoutTracks({ ...meta, planes, lines }, ownRows, filledRows(own, ownRows), newTrackState()).tracks;
    expect(order.flatMap((t) => (t.kind === "plane" ? [planes[t.plane].name] : []))).toEqual([
      "GPU:1",
      "GPU:2",
      "GPU:0",
    ]);
  });

  it("names threads without their long ids, and numbers what that makes equal", () => {
    const lines = ["tf_Compute/-4638255601", "tf_Compute/346699663", "python", "tf_data/12345678"].map((name) => ({
      ...meta.lines[0],
      name,
    }));
    expect(lineLabels({ ...meta, lines })).toEqual(["tf_Compute 1", "tf_Compute 2", "python", "tf_data"]);
  });

  it("finds the track at every height", () => {
    for (const track of layout.tracks) expect(trackAt(layout, track.y + 1)).toBe(track);
    expect(trackAt(layout, layout.height + 1)).toBeNull();
  });

  it("opens what hides a slice that was asked for", () => {
    const state = newTrackState();
    state.closedPlanes.add(0);
    const closed = layoutTracks(meta, rows, filledRows(events, rows), state);
    expect(yOfRow(closed, 9, 0)).toBeNull();
    expect(reveal(meta, closed, state, 9, 0)).toBe(true);
    const open = layoutTracks(meta, rows, filledRows(events, rows), state);
    expect(yOfRow(open, 9, 0)).not.toBeNull();
    expect(reveal(meta, open, state, 9, 0)).toBe(false);
  });
});

describe("bands", () => {
  /** [depth, start, duration] on one line. */
  const bands = (...list: [number, number, number][]) => {
    const column = (k: number) => Float64Array.from(list, (row) => row[k]);
    const small = readEvents(
      { n: list.length, columns: { depth: Uint16Array.from(column(0)), start_ps: column(1), duration_ps: column(2) } },
      meta,
    );
    const smallRows = buildRows(small, 1);
    return bandsOf(smallRows, filledRows(small, smallRows), 0, true);
  };

  it("folds a wrapper and the children that fill it into one band", () => {
    expect(bands([0, 0, 100], [1, 1, 98], [2, 10, 20])).toEqual([[0, 1], [2]]);
  });

  it("leaves a parent with work of its own its band", () => {
    expect(bands([0, 0, 100], [1, 1, 60])).toEqual([[0], [1]]);
  });

  it("folds wrappers although others of their level have no children", () => {
    expect(bands([0, 0, 100], [1, 1, 98], [0, 200, 500])).toEqual([[0, 1]]);
  });
});

describe("memory counter", () => {
  it("gives the extremes of a column, with what was in use before it", () => {
    const n = 1000;
    const time = Float64Array.from({ length: n }, (_, i) => i * 10);
    const value = Float64Array.from({ length: n }, (_, i) => (i * 7919) % 1000);
    const counter = newCounter("bfc", time, value, 7);
    for (const [from, to] of [
      [0, 1000],
      [3, 900],
      [500, 501],
      [64, 128],
    ]) {
      expect(extremeInSpan(counter, "max", from * 10, to * 10)).toBe(Math.max(...value.subarray(from, to)));
      expect(extremeInSpan(counter, "min", from * 10, to * 10)).toBe(Math.min(...value.subarray(from, to)));
    }
    expect(extremeInSpan(counter, "max", 15, 16)).toBe(value[1]);
    expect(counter.max).toBe(999);
    const late = newCounter(
      "bfc",
      time.map((t) => t + 5),
      value,
      7,
    );
    expect(extremeInSpan(late, "max", 0, 5)).toBe(7);
    expect(extremeInSpan(late, "min", 0, 6)).toBe(Math.min(7, value[0]));
  });
});

describe("short names", () => {
  it.each([
    ["Iterator::Root::BatchV2::Zip[0]::Map", "Map"],
    ["Iterator::Root::Zip[1]", "Zip"],
    ["sequential/conv2d/Relu:Relu", "Relu"],
    ["EagerLocalExecute: __inference_multi_step_on_iterator_1686", "multi_step_on_iterator"],
    ["cudnn::dgrad2d_alg1_1<float, 0, 6, 7>", "dgrad2d_alg1_1"],
    ["ExecutorState::Process", "ExecutorState::Process"],
    ["train", "train"],
    ["<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
    ["", ""],
  ])("cuts %s to %s", (name, short) => {
    expect(shortName(name)).toBe(short);
  });
});
