import { describe, expect, it } from "vitest";
import { bandsOf, type Rows } from "../src/data/events";
import type { LineMeta, PlaneMeta, TraceMeta } from "../src/data/meta";
import { arrangementToJson, newArrangement, togglePin } from "../src/model/arrangement";
import { shortName } from "../src/model/names";
import {
  contentY,
  GROUP_PX,
  layoutTracks,
  lineLabels,
  pinning,
  reveal,
  screenY,
  setCountersOpen,
  type Track,
  type TrackSource,
  trackAt,
  uncutHeight,
  WAITS_PX,
  yOfRow,
} from "../src/model/tracks";

/** Lines by plane, each as [name, busy time, depths]. */
function drawn(planes: Record<string, [string, number, number][]>, counters: string[] = []): TrackSource {
  const metas: PlaneMeta[] = [];
  const lines: LineMeta[] = [];
  const firstRow = [0];
  for (const [name, own] of Object.entries(planes)) {
    const kind = name.startsWith("/device") ? "device" : "host";
    metas.push({ name, host: "h", kind });
    for (const [line, busy_ps, depths] of own) {
      lines.push({ plane: metas.length - 1, name: line, n_events: 1, busy_ps, is_derived: line === "Steps" });
      firstRow.push(firstRow[firstRow.length - 1] + depths);
    }
  }
  const nRows = firstRow[firstRow.length - 1];
  const rows = { firstRow: Uint32Array.from(firstRow), isFilled: new Uint8Array(nRows), n: nRows } as unknown as Rows;
  const meta = { planes: metas, lines, step_names: [] } as unknown as TraceMeta;
  return { meta, rows, work: (l) => lines[l].busy_ps, lineNames: lineLabels(meta), counterNames: counters };
}

describe("the row for what a device waits for", () => {
  const heights = (source: TrackSource) =>
    layoutTracks(source, newArrangement()).tracks.flatMap((track) => (track.kind === "plane" ? [track.height] : []));
  const withSteps = (source: TrackSource) => ({ ...source, meta: { ...source.meta, step_names: ["0"] } });
  const cpu = { "/host:CPU": [["python", 900, 2]] } as Record<string, [string, number, number][]>;
  const one = drawn({ ...cpu, "/device:GPU:0": [["Stream", 9, 1]] });

  it("is below the head of the only device of a host with steps", () => {
    expect(heights(withSteps(one)).sort()).toEqual([GROUP_PX, GROUP_PX + WAITS_PX]);
  });

  it("is not there without steps, nor where several devices share them", () => {
    expect(new Set(heights(one))).toEqual(new Set([GROUP_PX]));
    const two = drawn({ ...cpu, "/device:GPU:0": [["Stream", 9, 1]], "/device:GPU:1": [["Stream", 9, 1]] });
    expect(new Set(heights(withSteps(two)))).toEqual(new Set([GROUP_PX]));
  });
});

const threads = (n: number): [string, number, number][] =>
  Array.from({ length: n }, (_, k) => [`worker/${k}`, 1000 - k, 2]);

const run = drawn(
  {
    "/host:CPU": [
      ["python", 900, 2],
      ["tf_data", 500, 8],
      ["tf_Compute", 300, 3],
      ["idle a", 1, 1],
      ["idle b", 1, 1],
    ],
    "/device:GPU:0": [
      ["Stream #13", 400, 1],
      ["Steps", 999, 1],
    ],
  },
  ["GPU_0_bfc in use", "Prefetch buffer"],
);

function names(source: TrackSource, tracks: readonly Track[]): string[] {
  return tracks.map((track) => {
    if (track.kind === "line") return source.meta.lines[track.line].name;
    if (track.kind === "counter") return source.counterNames[track.counter];
    return `${track.kind} ${track.lines.length}`;
  });
}
const shown = (state = newArrangement(), source = run) => names(source, layoutTracks(source, state).tracks);

describe("tracks", () => {
  it("gives the first screen to the threads that work in the first window, however busy others are elsewhere", () => {
    const source = { ...run, work: (line: number) => (run.meta.lines[line].name === "tf_Compute" ? 300 : 0) };
    expect(shown(newArrangement(), source).slice(3, 6)).toEqual(["plane 5", "tf_Compute", "fold 4"]);
  });

  it("puts devices before hosts, the busiest threads first, and folds the idle ones with their number", () => {
    expect(shown()).toEqual([
      "plane 2",
      "Stream #13",
      "Steps",
      "plane 5",
      "python",
      "tf_data",
      "tf_Compute",
      "fold 2",
      "group 2",
      "GPU_0_bfc in use",
      "Prefetch buffer",
    ]);
  });

  it("shows devices on the first screen: many threads, and counters of all cores, are one row each until they are opened", () => {
    const cores = Array.from({ length: 30 }, (_, k) => `CPU core ${k}`);
    const devices = Object.fromEntries(
      [0, 1, 2, 3].map((gpu) => [`/device:GPU:${gpu}`, [["Stream #13", 900, 1]] as [string, number, number][]]),
    );
    const source = drawn({ "/host:CPU": threads(44), ...devices }, cores);
    const layout = layoutTracks(source, newArrangement());
    expect(names(source, layout.tracks)).toEqual([
      ...Array(4).fill(["plane 1", "Stream #13"]).flat(),
      ...["plane 44", "worker/0", "worker/1", "worker/2", "fold 41", "group 30"],
    ]);
    const isDevice = (track: Track) => track.kind === "line" && source.meta.lines[track.line].name === "Stream #13";
    const bottom = Math.max(...layout.tracks.filter(isDevice).map(({ y, height }) => y + height));
    expect(bottom).toBeLessThan(200);
    const state = newArrangement();
    setCountersOpen(state, true);
    expect(shown(state, source).filter((name) => name.startsWith("CPU core"))).toHaveLength(30);
    expect(arrangementToJson(state)).toBe('{"open":[-1]}');
    setCountersOpen(state, false);
    expect(shown(state, source)).not.toContain("CPU core 0");
    state.filter = "core 7";
    expect(shown(state, source)).toContain("CPU core 7");
  });

  it("puts devices that did next to nothing after the others", () => {
    const source = drawn({
      "/device:GPU:0": [["s", 1, 1]],
      "/device:GPU:1": [["s", 100, 1]],
      "/device:GPU:2": [["s", 90, 1]],
    });
    const { tracks } = layoutTracks(source, newArrangement());
    expect(tracks.flatMap((t) => (t.kind === "plane" ? [t.plane] : []))).toEqual([1, 2, 0]);
  });

  it("finds the track at every height", () => {
    const layout = layoutTracks(run, newArrangement());
    for (const track of layout.tracks) expect(trackAt(layout, track.y + 1)).toBe(track);
    expect(trackAt(layout, layout.height + 1)).toBeNull();
    expect(trackAt(layout, -1)).toBeNull();
  });

  it("opens what hides a slice that was asked for: closed, folded, hidden, filtered or flat", () => {
    const state = newArrangement();
    state.closedPlanes.add(0);
    state.hidden.add("l3");
    state.filter = "stream";
    state.flatLines.add(1);
    for (const [line, depth] of [
      [3, 0],
      [1, 7],
    ]) {
      for (let i = 0; i < 2; i++) reveal(run.meta, layoutTracks(run, state), state, line, depth);
      expect(yOfRow(layoutTracks(run, state), line, depth)).not.toBeNull();
    }
  });

  it("moves a pinned line to the top and a pinned counter to the bottom, once each", () => {
    const state = newArrangement();
    togglePin(state, "l5");
    togglePin(state, "c0");
    const layout = layoutTracks(run, state);
    expect(names(run, layout.tracks).filter((name) => name === "Stream #13")).toHaveLength(1);
    expect(layout.tracks[0]).toMatchObject({ kind: "line", line: 5, y: 0, isPinned: true });
    expect(layout.pinnedHeight).toBe(layout.tracks[0].height);
    expect(names(run, layout.dock)).toEqual(["GPU_0_bfc in use"]);
    expect(names(run, layout.tracks)).not.toContain("GPU_0_bfc in use");
    state.filter = "nothing at all";
    expect(names(run, layoutTracks(run, state).dock)).toEqual(["GPU_0_bfc in use"]);
  });

  it("has room for three counters at the bottom and says when there is no more", () => {
    const state = newArrangement();
    expect(["c0", "c1", "c2", "c3"].map((key) => togglePin(state, key))).toEqual([true, true, true, false]);
  });

  it("keeps what was hidden out and counts it", () => {
    const state = newArrangement();
    state.hidden.add("l1").add("c1").add("p1");
    const layout = layoutTracks(run, state);
    expect(names(run, layout.tracks)).toEqual([
      "plane 5",
      "python",
      "tf_Compute",
      "fold 2",
      "group 1",
      "GPU_0_bfc in use",
    ]);
    expect(layout.nShown).toBe(5);
    expect(layout.nTracks).toBe(9);
    expect(layout.nHidden).toBe(3);
  });

  it("shows of a filter every line it names, folded or closed ones too, and counts them", () => {
    const state = newArrangement();
    state.closedPlanes.add(0);
    state.filter = "IDLE";
    expect(shown(state)).toEqual(["plane 5", "idle a", "idle b"]);
    state.filter = "gpu:0 stream";
    expect(shown(state)).toEqual(["plane 2", "Stream #13"]);
    state.filter = "nothing at all";
    const layout = layoutTracks(run, state);
    expect([layout.tracks.length, layout.nShown, layout.nTracks]).toEqual([0, 0, 9]);
  });

  it("draws one depth of a line that the reader closed, and all of one that was opened", () => {
    const state = newArrangement();
    const height = () => layoutTracks(run, state).tracks.find((t) => t.kind === "line" && t.line === 1)?.height;
    const usual = Number(height());
    state.flatLines.add(1);
    expect(height()).toBeLessThan(usual);
    state.flatLines.clear();
    state.deepLines.add(1);
    expect(height()).toBeGreaterThan(usual);
  });

  it("lays out 5,000 lines with every line either shown or folded, and finds each by its height", () => {
    const source = drawn({ "/host:CPU": threads(5000) });
    const state = newArrangement();
    state.openFolds.add(0);
    const layout = layoutTracks(source, state);
    const lines = layout.tracks.filter((t) => t.kind === "line");
    expect(lines).toHaveLength(5000);
    const last = layout.tracks[layout.tracks.length - 1];
    expect(trackAt(layout, layout.height - 1)).toBe(last);
    expect(layout.height).toBe(last.y + last.height);
    state.filter = "worker/4999";
    expect(layoutTracks(source, state).nShown).toBe(1);
  });
});

describe("pinned tracks", () => {
  const state = newArrangement(["l0", "l1"]);
  const layout = layoutTracks(run, state);

  it("stay while the others scroll under them", () => {
    const height = 600;
    expect(screenY(layout, 0, height, 5)).toBe(5);
    expect(screenY(layout, 200, height, 5)).toBe(5);
    expect(screenY(layout, 200, height, layout.pinnedHeight + 250)).toBe(layout.pinnedHeight + 50);
  });

  it("scroll first where they would take the room of all others", () => {
    const height = 100;
    const { shown: room } = pinning(layout, 0, height);
    expect(room).toBeLessThan(layout.pinnedHeight);
    expect(contentY(layout, 1000, height, 0)).toBe(layout.pinnedHeight - room);
    expect(contentY(layout, 1000, height, room)).toBe(room + 1000);
  });

  it("have no name cut by what lies below", () => {
    const [first, next] = layout.tracks;
    expect(uncutHeight(layout, next.y + 3)).toBe(next.y);
    expect(uncutHeight(layout, first.y + 3)).toBe(first.y);
    expect(uncutHeight(layout, next.y)).toBe(next.y);
    expect(uncutHeight(layout, layout.height + 50)).toBe(layout.height + 50);
  });

  it("are met at the height at which they are drawn", () => {
    for (const height of [100, 300, 600]) {
      for (const scroll of [0, 10, 80, 400]) {
        for (let y = 0; y < height; y += 7) {
          const content = contentY(layout, scroll, height, y);
          if (content < layout.pinnedHeight && y >= pinning(layout, scroll, height).shown) continue;
          expect(screenY(layout, scroll, height, content)).toBe(y);
        }
      }
    }
  });
});

describe("names of tracks", () => {
  it("are without the long ids of threads, and numbered where that leaves them the same", () => {
    const lines = ["tf_Compute/-4638255601", "tf_Compute/346699663", "python", "tf_data/12345678"];
    const { meta } = drawn({ "/host:CPU": lines.map((name) => [name, 1, 1]) });
    expect(lineLabels(meta)).toEqual(["tf_Compute 1", "tf_Compute 2", "python", "tf_data"]);
  });
});

describe("bands", () => {
  const bands = (...isFilled: number[]) => {
    const rows = { firstRow: Uint32Array.of(0, isFilled.length), isFilled: Uint8Array.from(isFilled) };
    return bandsOf(rows as unknown as Rows, 0, true);
  };

  it("fold a wrapper and the children that fill it into one", () => {
    expect(bands(1, 0, 0)).toEqual([[0, 1], [2]]);
  });

  it("leave a parent with work of its own its own", () => {
    expect(bands(0, 0)).toEqual([[0], [1]]);
  });
});

describe("short names", () => {
  it.each([
    ["Iterator::Root::BatchV2::Zip[0]::Map", "Map"],
    ["Iterator::Root::Zip[1]", "Zip"],
    ["sequential/conv2d/Relu:Relu", "Relu"],
    ["EagerLocalExecute: __inference_multi_step_on_iterator_1686", "multi_step_on_iterator"],
    ["cudnn::dgrad2d_alg1_1<float, 0, 6, 7>", "dgrad2d_alg1_1"],
    ["void tensorflow::(anonymous namespace)::SplitOpKernel<float>(float const*, int, int, int)", "SplitOpKernel"],
    ["tensorflow::(anonymous namespace)::GenerateNormalizedProb<float, 4>(float const*)", "GenerateNormalizedProb"],
    ["void LSTM_elementWise_bp1<float, float, float>(int, int, float*)", "LSTM_elementWise_bp1"],
    ["ExecutorState::Process", "ExecutorState::Process"],
    ["train", "train"],
    ["<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
    ["", ""],
  ])("cuts %s to %s", (name, short) => {
    expect(shortName(name)).toBe(short);
  });
});
