// @vitest-environment jsdom

import { afterEach, describe, expect, it } from "vitest";
import type { OverviewMeta, TraceMeta } from "../src/data/meta";
import { type FactGroup, overviewFacts } from "../src/model/overview";
import { mount } from "../src/ui/view";
import { overviewPanel } from "../src/views/overview_panel/overview_panel";
import { fakePage } from "./fake_host";
import { makeScene } from "./scene";
import { settle } from "./shown";

const EVIL = "<img src=x onerror=alert(1)>: <b>bold</b>";
const GPU = { hosts: ["box"], device_type: "Nvidia GPU (Volta)", n_devices: 8, n_active_devices: 3, n_threads: 16 };

function facts(overview: OverviewMeta): FactGroup[] {
  const meta = makeScene().meta as unknown as TraceMeta;
  return overviewFacts({ ...meta, overview });
}

function factOf(groups: FactGroup[], group: string, name: string): string | undefined {
  return groups.find(({ title }) => title === group)?.facts.find((fact) => fact.name === name)?.value;
}

async function show(overview: OverviewMeta, given: Partial<TraceMeta> = {}) {
  const scene = makeScene();
  const meta = scene.meta as unknown as TraceMeta;
  const pack = {
    ...scene,
    meta: { ...meta, ...given, overview: { ...meta.overview, ...overview } },
  };
  const page = await fakePage(pack);
  const el = document.body.appendChild(document.createElement("div"));
  await mount(overviewPanel).render({ model: page.view, el, host: page.host, signal: new AbortController().signal });
  await settle();
  const root = el.firstElementChild as HTMLElement;
  const find = (selector: string) => root.querySelector(selector) as HTMLElement;
  return { root, find };
}

afterEach(() => document.body.replaceChildren());

describe("facts of the overview", () => {
  it("give device and host in groups", () => {
    const groups = facts({
      environment: GPU,
      compute_16bit_ratio: 0.305,
      device_idle_ratio: 0.95,
      host_idle_ratio: 0.98,
    });
    expect(groups.map(({ title }) => title)).toEqual(["Device", "Host", "Capture"]);
    expect(factOf(groups, "Device", "devices")).toBe("3 of 8 ran anything");
    expect(factOf(groups, "Device", "16-bit compute")).toBe("31 %");
    expect(factOf(groups, "Device", "idle in the capture")).toBe("95 %");
    expect(factOf(groups, "Host", "idle threads")).toBe("98 %");
  });

  it("leave out what is not known", () => {
    const groups = facts({ environment: GPU, compute_16bit_ratio: null, device_duty_cycle_ratio: null });
    expect(factOf(groups, "Device", "16-bit compute")).toBeUndefined();
    expect(factOf(groups, "Device", "duty cycle")).toBeUndefined();
    expect(factOf(groups, "Host", "TensorFlow")).toBeUndefined();
    expect(factOf(facts({ environment: { ...GPU, tensorflow_version: "2.21.0" } }), "Host", "TensorFlow")).toBe(
      "2.21.0",
    );
  });

  it("have no device group on a machine without a device", () => {
    expect(facts({ environment: { hosts: ["box"], n_devices: 0 } }).map(({ title }) => title)).not.toContain("Device");
  });

  it("name three hosts and count the others", () => {
    const hosts = ["a", "b", "c", "d", "e"];
    expect(factOf(facts({ environment: { hosts } }), "Host", "hosts")).toBe("a, b, c and 2 more");
  });

  it("say over how many steps the averages are", () => {
    const step_time = { avg: 21.3, std: 0.4, min: 19.9, max: 22.2, median: 21.2, n: 40, n_averaged: 39 };
    const groups = facts({ step_time, left_out: "Step 0 is excluded." });
    expect(factOf(groups, "Step time", "steps averaged")).toBe("39 of 40 steps");
    expect(factOf(groups, "Step time", "range")).toBe("19.9 to 22.2 ms");
    expect(groups[0].notes).toEqual(["Step 0 is excluded."]);
  });
});

describe("the header", () => {
  it("says how much of the device's memory is in use at the peak, the unit once where it is one", async () => {
    const use = (peak: number) => ({ allocator: "GPU_0_bfc", peak_bytes: peak, capacity_bytes: 80 * 2 ** 30 });
    const words = async (peak: number) => (await show({}, { device_memory: use(peak) })).find(".tfp-quiet").textContent;
    expect(await words(20 * 2 ** 30)).toContain("20.0 of 80.0 GiB GPU memory");
    expect(await words(20 * 2 ** 20)).toContain("20.0 MiB of 80.0 GiB GPU memory");
  });
});

describe("a headline", () => {
  it("has the kind of limit apart, and is text, whatever a trace put into it", async () => {
    const { find } = await show({ kind: "Host-bound", headline: `The GPU waits 78 % of a step for ${EVIL}.` });
    expect(find("h2 .kind").textContent).toBe("Host-bound");
    expect(find("h2 .nb").textContent).toBe("78 %");
    expect(find("h2").textContent).toContain(`of a step for ${EVIL}.`);
    expect((await show({ kind: "", headline: "Nothing was recorded." })).find("h2 .kind")).toBeNull();
  });
});

describe("the figures of the header", () => {
  const step_time = { avg: 59.3, std: 40, min: 8, max: 300, median: 10.5, n: 10, n_averaged: 9 };

  it("are the median step with its range and mean, and what computes how much of it", async () => {
    const { root } = await show({ step_time, busy_ratio: 0.01, slow_steps: "4 of 9 steps: 285 ms" });
    const figures = [...root.querySelectorAll(".tfp-figs .tfp-fig")].map((one) => one.textContent);
    expect(figures[0]).toBe(
      "10.5 ms a stepmedian of 9 of 10 steps8.00 to 300 ms · mean 59.3 ms4 of 9 steps: 285 ms16.9 steps/s",
    );
    expect(figures[1]).toBe("1 %of a step the GPUcomputes");
  });

  it("have no range and no mean of one step", async () => {
    const { find } = await show({ step_time: { ...step_time, n: 1, n_averaged: 1 }, busy_ratio: null });
    expect(find(".tfp-figs").textContent).toBe("10.5 ms a step1 step");
  });
});

describe("the parts of a step", () => {
  it("stress the one that the verdict is about, which need not be the largest", async () => {
    const breakdown = [
      { category: "device_compute", ms: 63, ratio: 0.63 },
      { category: "kernel_launch", ms: 33, ratio: 0.33 },
    ];
    const stressed = async (limiter: string) => {
      const { root } = await show({ breakdown, limiter });
      return [...root.querySelectorAll(".tfp-cat.top .label")].map((one) => one.textContent);
    };
    expect(await stressed("kernel_launch")).toEqual(["Kernel launch"]);
    expect(await stressed("")).toEqual(["Device compute"]);
  });
});

describe("notices of the overview panel", () => {
  it("are text, whatever a trace put into them", async () => {
    const { root } = await show({ findings: [EVIL], environment: { hosts: [EVIL] } }, { advice_notices: [EVIL] });
    expect(root.querySelector("img, .tfp-top b b, .tfp-facts b")).toBeNull();
    expect(root.textContent).toContain("<img src=x");
  });
});
