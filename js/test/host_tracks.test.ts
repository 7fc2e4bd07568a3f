import { describe, expect, it } from "vitest";
import type { Rows } from "../src/data/events";
import { CATEGORIES, FAMILIES, type LineMeta, type PlaneMeta, type TraceMeta } from "../src/data/meta";
import { pieceAt } from "../src/draw/tracks";
import { newArrangement } from "../src/model/arrangement";
import { namedParts, newColorScheme, readFamilies } from "../src/model/colors";
import { hostStrips, stepsOfHost } from "../src/model/hosts";
import type { Steps } from "../src/model/steps";
import { hostSource, layoutTracks, reveal, setHostOpen, type TrackSource, trackAt, yOfRow } from "../src/model/tracks";

/** So many hosts with one thread each, every second one with a device, too. */
function drawn(nHosts: number, more: Partial<TraceMeta> = {}, chosen = ""): TrackSource {
  const planes: PlaneMeta[] = [];
  const lines: LineMeta[] = [];
  for (let host = 0; host < nHosts; host++) {
    for (const kind of host % 2 === 1 ? (["host", "device"] as const) : (["host"] as const)) {
      planes.push({ name: kind === "host" ? "/host:CPU" : "/device:GPU:0", host: `worker${host}`, kind });
      lines.push({
        plane: planes.length - 1,
        name: kind === "host" ? "python" : "Stream",
        n_events: 1,
        busy_ps: 5,
        is_derived: false,
      });
    }
  }
  const firstRow = Uint32Array.from({ length: lines.length + 1 }, (_, line) => line);
  const rows = { firstRow, isFilled: new Uint8Array(lines.length), n: lines.length } as unknown as Rows;
  const hosts = Array.from({ length: nHosts }, (_, host) => `worker${host}`);
  const meta = { planes, lines, hosts, step_names: [], ...more } as unknown as TraceMeta;
  const lineNames = lines.map(({ name }) => name);
  return { meta, rows, work: () => 5, lineNames, counterNames: [], hosts: hostSource(meta, chosen) };
}

function shown(source: TrackSource, state = newArrangement()): string[] {
  return layoutTracks(source, state).tracks.map((track) => {
    if (track.kind === "host") return `${track.isOpen ? "-" : "+"} worker${track.host}`;
    if (track.kind === "plane") return source.meta.planes[track.plane].kind;
    return track.kind === "line" ? source.lineNames[track.line] : track.kind;
  });
}

describe("hosts as the outer tracks", () => {
  it("are open where they are few, without the head of an only plane", () => {
    expect(shown(drawn(2))).toEqual(["- worker0", "python", "- worker1", "device", "Stream", "host", "python"]);
  });

  it("are one line each where they are many, those that hold the others up and the chief first", () => {
    const stragglers = [
      { host: "worker7", category: "input", n_steps: 1, n_aligned: 1, excess_ms: 1, cost_ms: 1, cost_ratio: 0.1 },
    ];
    const roles = Array.from({ length: 9 }, (_, host) => (host === 3 ? "chief" : "worker"));
    const source = drawn(9, { stragglers, host_roles: roles });
    expect(shown(source).slice(0, 4)).toEqual(["+ worker7", "+ worker3", "+ worker0", "+ worker1"]);
    expect(shown(source)).toHaveLength(9);
  });

  it("do not exist in a capture of one host", () => {
    expect(drawn(1).hosts).toBeNull();
    expect(shown(drawn(1))).toEqual(["host", "python"]);
  });

  it("begin with the chosen one, open", () => {
    expect(shown(drawn(9, {}, "worker5")).slice(0, 7)).toEqual([
      ...["- worker5", "device", "Stream", "host", "python"],
      ...["+ worker0", "+ worker1"],
    ]);
  });

  it("stay as the reader opened and closed them", () => {
    const state = newArrangement();
    setHostOpen(state, 0, true);
    expect(shown(drawn(9), state).slice(0, 3)).toEqual(["- worker0", "python", "+ worker1"]);
    setHostOpen(state, 0, false);
    expect(shown(drawn(2), state)[0]).toBe("+ worker0");
  });

  it("are found by name, folded as they were, and counted", () => {
    const state = newArrangement();
    state.filter = "worker77";
    const layout = layoutTracks(drawn(100), state);
    expect(layout.tracks.map((track) => track.key)).toEqual(["h77"]);
    expect([layout.nHostsShown, layout.nHosts]).toEqual([1, 100]);
  });

  it("are opened by a filter for lines, so that what it finds is seen", () => {
    const state = newArrangement();
    state.filter = "stream";
    expect(shown(drawn(6), state).slice(0, 3)).toEqual(["- worker1", "device", "Stream"]);
  });

  it("are hidden with all that is theirs, and opened for a slice that was asked for", () => {
    const source = drawn(9);
    const state = newArrangement();
    state.hidden.add("h3");
    const layout = layoutTracks(source, state);
    expect([layout.nHostsShown, layout.nShown]).toEqual([8, 11]);
    const line = source.meta.lines.findIndex(({ plane }) => source.meta.planes[plane].host === "worker3");
    expect(reveal(source.meta, layout, state, line, 0)).toBe(true);
    expect(yOfRow(layoutTracks(source, state), line, 0)).not.toBeNull();
  });

  it("are laid out by the thousand, each found by its height, without a look at what is folded", () => {
    const source = drawn(1000);
    let looks = 0;
    const layout = layoutTracks({ ...source, work: () => ++looks }, newArrangement());
    expect(looks).toBe(0);
    expect(layout.tracks).toHaveLength(1000);
    for (const at of [0, 17, 999]) expect(trackAt(layout, layout.tracks[at].y + 1)).toBe(layout.tracks[at]);
  });
});

const MS = 1e9;
/** Two hosts whose steps take turns in the table, two pieces a step. */
const STEPS: Steps = {
  n: 4,
  start: Float64Array.of(0, 1 * MS, 10 * MS, 11 * MS),
  end: Float64Array.of(9 * MS, 10 * MS, 19 * MS, 20 * MS),
  session: [0, 0, 0, 0],
  names: ["0", "0", "1", "1"],
  isInferred: false,
  isAveraged: [1, 1, 1, 1],
  piece: {
    start: Float64Array.of(0, 1 * MS, 4 * MS, 5 * MS, 10 * MS, 11 * MS),
    end: Float64Array.of(4 * MS, 5 * MS, 9 * MS, 10 * MS, 19 * MS, 20 * MS),
    category: Uint8Array.of(0, 1, 5, 5, 0, 1),
  },
};
const PIECE_STEP = [0, 1, 0, 1, 2, 3];

describe("strips of hosts", () => {
  const strips = hostStrips(3, Int32Array.of(0, 1, 0, 1), STEPS.piece, PIECE_STEP);

  it("have the pieces of their own steps in the order of time", () => {
    expect(strips.map(({ rows }) => [...rows])).toEqual([[0, 2], [1, 3], []]);
    expect([...strips[1].piece.category]).toEqual([1, 5, 1]);
    expect([...strips[1].step]).toEqual([1, 1, 3]);
  });

  it("are met at a point of time, a little beside it too", () => {
    expect(pieceAt(strips[1], 2 * MS, 0)).toBe(0);
    expect(pieceAt(strips[1], 10.5 * MS, 0)).toBe(-1);
    expect(pieceAt(strips[1], 10.5 * MS, MS)).toBeGreaterThanOrEqual(0);
    expect(pieceAt(strips[2], 2 * MS, MS)).toBe(-1);
  });

  it("give the head the steps of one host, with their rows among all", () => {
    const head = stepsOfHost(STEPS, strips[1]);
    expect([head.n, [...head.start], [...(head.rows ?? [])]]).toEqual([2, [1 * MS, 11 * MS], [1, 3]]);
  });
});

describe("events that are parts of steps", () => {
  it("have the colours of the categories, whatever else the colours mean", () => {
    const names = ["Input", "Communication", "MatMul"];
    const events = { name: [0, 1, 2], op: [-1, -1, -1], unit: [-1, -1, -1], step: [0, 0, 0] };
    const communication = CATEGORIES.indexOf("device_collectives");
    expect([...namedParts(names)]).toEqual([1, communication + 1, 0]);
    const scheme = newColorScheme(
      "family",
      events,
      readFamilies(names, new Uint8Array(3).fill(2), []),
      [],
      namedParts(names),
    );
    expect([0, 1, 2].map((p) => scheme.source[scheme.of(p, false)])).toEqual([
      ...[FAMILIES.length, FAMILIES.length + communication, 2],
    ]);
  });
});
