import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CATEGORIES, FAMILIES } from "../src/data/meta";

type Three = readonly [number, number, number];

/** Matrices for linear RGB: Machado, Oliveira and Fernandes 2009, severity 1. */
const VISION: Readonly<Record<string, readonly [Three, Three, Three]>> = {
  trichromat: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanope: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranope: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanope: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
const TO_XYZ: readonly [Three, Three, Three] = [
  [0.4124564, 0.3575761, 0.1804375],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339, 0.119192, 0.9503041],
];
const WHITE: Three = [0.95047, 1, 1.08883];
/** Ground of the two themes. */
const GROUND = ["#ffffff", "#212121"] as const;
/** Part of the edge's colour in a fill, by theme. */
const FILL = [...css().matchAll(/--s-mix: (\d+)%/g)].map(([, percent]) => Number(percent) / 100);

/** Least CIEDE2000 between two colours that may stand in one legend or bar, for everyone. */
const LEAST_CATEGORIES = 10;
const LEAST_FAMILIES = 8;
const LEAST_FILLS = 3;
/** WCAG 1.4.11, and for names on slices AAA of 1.4.6. */
const LEAST_ON_GROUND = 3.05;
const LEAST_TEXT = 7;

function css(): string {
  return readFileSync(new URL("../src/colors/colors.css", import.meta.url), "utf8");
}

/** Both colours of a property. */
function colorsOf(property: string): readonly [string, string] {
  const found = new RegExp(`--${property}: light-dark\\((#\\w{6}), (#\\w{6})\\);`).exec(css());
  if (!found) throw new Error(`colors.css has no two colours for --${property}`);
  return [found[1], found[2]];
}

const times = (matrix: readonly [Three, Three, Three], [x, y, z]: Three): Three =>
  matrix.map(([a, b, c]) => a * x + b * y + c * z) as unknown as Three;
const rgbOf = (hex: string): Three => [1, 3, 5].map((k) => Number.parseInt(hex.slice(k, k + 2), 16) / 255) as never;
const linear = (rgb: Three): Three =>
  rgb.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)) as unknown as Three;
const mixed = (hex: string, theme: number): Three =>
  rgbOf(hex).map((c, k) => FILL[theme] * c + (1 - FILL[theme]) * rgbOf(GROUND[theme])[k]) as unknown as Three;

function contrast(a: Three, b: Three): number {
  const [low, high] = [a, b].map((rgb) => times(TO_XYZ, linear(rgb))[1] + 0.05).sort((x, y) => x - y);
  return high / low;
}

/** Lab of a colour as someone sees it. */
function labOf(rgb: Three, vision: string): Three {
  const seen = times(VISION[vision], linear(rgb)).map((c) => Math.min(1, Math.max(0, c))) as unknown as Three;
  const [x, y, z] = times(TO_XYZ, seen).map((c, k) => {
    const t = c / WHITE[k];
    return t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116;
  });
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const DEGREE = Math.PI / 180;

/** CIEDE2000: Sharma, Wu and Dalal 2005. */
function difference([l1, a1, b1]: Three, [l2, a2, b2]: Three): number {
  const chroma = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const g = 0.5 * (1 - Math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7)));
  const [p1, p2] = [a1, a2].map((a) => (1 + g) * a);
  const [c1, c2] = [Math.hypot(p1, b1), Math.hypot(p2, b2)];
  const hue = (b: number, a: number) => (a === 0 && b === 0 ? 0 : (Math.atan2(b, a) / DEGREE + 360) % 360);
  const [h1, h2] = [hue(b1, p1), hue(b2, p2)];
  const isGrey = c1 * c2 === 0;
  let dh = isGrey ? 0 : h2 - h1;
  if (dh > 180) dh -= 360;
  if (dh < -180) dh += 360;
  const [dl, dc, dH] = [l2 - l1, c2 - c1, 2 * Math.sqrt(c1 * c2) * Math.sin((dh / 2) * DEGREE)];
  const [l, c, sum] = [(l1 + l2) / 2, (c1 + c2) / 2, h1 + h2];
  const h = isGrey ? sum : Math.abs(h1 - h2) <= 180 ? sum / 2 : sum < 360 ? (sum + 360) / 2 : (sum - 360) / 2;
  const cos = (k: number, shift: number) => Math.cos((k * h + shift) * DEGREE);
  const t = 1 - 0.17 * cos(1, -30) + 0.24 * cos(2, 0) + 0.32 * cos(3, 6) - 0.2 * cos(4, -63);
  const turn = 30 * Math.exp(-(((h - 275) / 25) ** 2));
  const rotation = -Math.sin(2 * turn * DEGREE) * 2 * Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7));
  const [x, y, z] = [
    dl / (1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2)),
    dc / (1 + 0.045 * c),
    dH / (1 + 0.015 * c * t),
  ];
  return Math.sqrt(x ** 2 + y ** 2 + z ** 2 + rotation * y * z);
}

/** Pairs that someone sees as more alike than they may be, in words. */
function tooAlike(colors: Readonly<Record<string, Three>>, least: number): string[] {
  const names = Object.keys(colors);
  return Object.keys(VISION).flatMap((vision) => {
    const lab = names.map((name) => labOf(colors[name], vision));
    return names.flatMap((name, i) =>
      names.slice(i + 1).flatMap((other, k) => {
        const apart = difference(lab[i], lab[i + 1 + k]);
        return apart < least ? [`${name}, ${other}: ${apart.toFixed(1)} for a ${vision}`] : [];
      }),
    );
  });
}

describe("the measure", () => {
  it("is CIEDE2000, as in the test data of its authors", () => {
    expect(difference([50, 2.6772, -79.7751], [50, 0, -82.7485])).toBeCloseTo(2.0425, 4);
    expect(difference([50, 2.5, 0], [58, 24, 15])).toBeCloseTo(19.4535, 4);
    expect(difference([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387])).toBeCloseTo(1.2644, 4);
    expect(difference([2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514])).toBeCloseTo(0.9082, 4);
  });

  it("finds what is alike to some", () => {
    const colors = { red: rgbOf("#b00000"), green: rgbOf("#3a6b00"), copy: rgbOf("#3a6b00") };
    expect(tooAlike(colors, 10)).toContain("green, copy: 0.0 for a trichromat");
    expect(tooAlike({ input: rgbOf("#cd2e00"), sync: rgbOf("#7d8b1e") }, 10)).toEqual([
      "input, sync: 4.9 for a deuteranope",
    ]);
  });
});

describe.each(["light", "dark"])("in the %s theme", (theme) => {
  const k = theme === "dark" ? 1 : 0;
  const ground = rgbOf(GROUND[k]);
  const of = (prefix: string, names: readonly string[], tint: (hex: string) => Three = rgbOf) =>
    Object.fromEntries(names.map((name) => [name, tint(colorsOf(`${prefix}-${name}`)[k])]));

  it("no two parts of a step look alike, whatever colours one sees", () => {
    expect(tooAlike(of("c", CATEGORIES), LEAST_CATEGORIES)).toEqual([]);
  });

  it("no two families of ops look alike, whatever colours one sees", () => {
    expect(tooAlike(of("e", FAMILIES), LEAST_FAMILIES)).toEqual([]);
    expect(
      tooAlike(
        of("e", FAMILIES, (hex) => mixed(hex, k)),
        LEAST_FILLS,
      ),
    ).toEqual([]);
  });

  it("every colour stands out from the ground, and names from the slices they are written on", () => {
    for (const color of Object.values({ ...of("c", CATEGORIES), ...of("e", FAMILIES) })) {
      expect(contrast(color, ground)).toBeGreaterThanOrEqual(LEAST_ON_GROUND);
    }
    const ink = rgbOf(colorsOf("s-ink")[k]);
    for (const name of FAMILIES) {
      expect(css()).toContain(`--s-${name}: color-mix(in srgb, var(--e-${name}) var(--s-mix), var(--bg));`);
      expect(contrast(ink, mixed(colorsOf(`e-${name}`)[k], k))).toBeGreaterThanOrEqual(LEAST_TEXT);
    }
  });
});
