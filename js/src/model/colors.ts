/** The colours of events and ops, by what the reader wants colours to mean. */

import { CATEGORIES, CATEGORY_LABELS, FAMILIES, FAMILY_LABELS, type TraceMeta } from "../data/meta";

export interface Palette {
  bg: string;
  bg2: string;
  ink: string;
  ink2: string;
  rule: string;
  rule2: string;
  act: string;
  actWash: string;
  warn: string;
  sliceInk: string;
  memoryHeap: string;
  categories: string[];
  categoryFills: string[];
  fills: string[];
  edges: string[];
  font: string;
}

export type ColorBy = "family" | "step" | "category";

export const COLOR_CHOICES: readonly { value: ColorBy; text: string }[] = [
  { value: "family", text: "kind of op" },
  { value: "category", text: "part of a step" },
  { value: "step", text: "step" },
];

export function isColorBy(value: unknown): value is ColorBy {
  return COLOR_CHOICES.some((choice) => choice.value === value);
}

const FAMILY = Object.fromEntries(FAMILIES.map((name, id) => [name, id])) as Record<(typeof FAMILIES)[number], number>;
const CATEGORY = Object.fromEntries(CATEGORIES.map((name, id) => [name, id])) as Record<
  (typeof CATEGORIES)[number],
  number
>;

/** Steps take turns in so many colours: neighbours, and steps that overlap theirs, differ. */
const STEP_COLORS = 4;
/** Families whose hues the steps borrow, and that of events in no step. */
const STEP_FAMILIES = [FAMILY.conv, FAMILY.optim, FAMILY.move, FAMILY.elem];
const NO_STEP = STEP_COLORS;
const STEPS_NAMED = 3;

export interface ColorScheme {
  readonly by: ColorBy;
  readonly n: number;
  /** Number of the colour of an event, by position; `isDevice`: of its line. */
  of(position: number, isDevice: boolean): number;
  /** Index of the colour in the palette's fills (families), or in its category colours. */
  readonly source: readonly number[];
  readonly isCategory: boolean;
}

type Families = Readonly<Record<"ofName" | "ofOp" | "isCopy", ArrayLike<number>>>;

export function readFamilies(names: readonly string[], ofName: ArrayLike<number>, ofOp: ArrayLike<number>): Families {
  return { ofName, ofOp, isCopy: Uint8Array.from(names, (name) => Number(COPY.test(name))) };
}

/** `categoryOfName`: see nameCategories; `partOfName`: see namedParts, empty where there are none. */
export function newColorScheme(
  by: ColorBy,
  events: Readonly<Record<"name" | "op" | "unit" | "step", ArrayLike<number>>>,
  families: Families,
  categoryOfName: ArrayLike<number>,
  partOfName: ArrayLike<number> = [],
): ColorScheme {
  const { name, op, step, unit } = events;
  if (by === "step") {
    const of = (p: number) => (step[p] < 0 ? NO_STEP : step[p] % STEP_COLORS);
    return { by, n: STEP_COLORS + 1, of, source: [...STEP_FAMILIES, FAMILY.runtime], isCategory: false };
  }
  if (by === "category") {
    const of = (p: number, isDevice: boolean) =>
      isDevice ? deviceCategory(categoryOfName[name[p]]) : hostCategory(categoryOfName[name[p]], op[p] >= 0);
    return { by, n: CATEGORIES.length, of, source: CATEGORIES.map((_, id) => id), isCategory: true };
  }
  const { ofName, ofOp, isCopy } = families;
  // What an event is there for is what its op does; copies, and what a compiler made of ops, say it themselves.
  const ofFamily = (p: number) => {
    const own = op[p];
    if (own < 0 || unit[p] !== own || isCopy[name[p]] === 1) return ofName[name[p]];
    return ofOp[own] === FAMILY.runtime ? ofName[name[p]] : ofOp[own];
  };
  const ids = FAMILIES.map((_, id) => id);
  if (partOfName.length === 0) return { by, n: ids.length, of: ofFamily, source: ids, isCategory: false };
  const ofPart = (p: number) => (partOfName[name[p]] > 0 ? ids.length - 1 + partOfName[name[p]] : ofFamily(p));
  const source = [...ids, ...CATEGORIES.map((_, id) => ids.length + id)];
  return { by, n: source.length, of: ofPart, source, isCategory: false };
}

/** By name id 1 + the category that the name is the label of, 0 for none: parts of steps, as a reduced profile has them as events. */
export function namedParts(names: readonly string[]): Uint8Array {
  const part = new Map(CATEGORIES.map((category, id) => [CATEGORY_LABELS[category], id + 1]));
  return Uint8Array.from(names, (name) => part.get(name) ?? 0);
}

/** What a device does is compute, unless the name says that it copies, to or from the host or to another device. */
function deviceCategory(ofName: number): number {
  return ofName === CATEGORY.other || ofName === CATEGORY.kernel_launch ? CATEGORY.device_compute : ofName;
}

/** A name that says nothing is host compute where it ran an op. */
function hostCategory(ofName: number, isOp: boolean): number {
  return ofName === CATEGORY.other && isOp ? CATEGORY.host_compute : ofName;
}

const COPY = /^mem(cpy|set)/i;
const COMPILE = /xla.*compil|compil.*xla|XlaCompile|Compiling IR|tracing|trace_?function|GraphConstructor|MLIR|LLVM/i;
const LAUNCH =
  /^(cuLaunch|cudaLaunch|hipLaunch|hipModuleLaunch|cuMemcpy|cuMemset|cudaMemcpy|KernelLaunch|Launch(Kernel)?\b)/;
const FROM_HOST = /memcpy.*(h2d|htod|hosttodevice)/i;
const INFEED = /infeed/i;
const SYNC = /(Stream|Event|Ctx|Device)Synchronize|Block\w*Until|OptionalHasValue/;
const CHECKPOINT = /(:|: )(Save|Restore|MergeV2Checkpoints)\w*$/;
const TO_HOST = /memcpy.*(d2h|dtoh|devicetohost)|outfeed/i;
const BETWEEN = /memcpy.*(d2d|dtod|p2p|ptop|peer|other)/i;
const COLLECTIVE = /all-?reduce|all-?gather|reduce-?scatter|collective|nccl|recvtensor/i;

/** By name id the step-time category that the name of a host event says; "other" where it says none. */
export function nameCategories(names: readonly string[], family: ArrayLike<number>): Uint8Array {
  const parts = namedParts(names);
  return Uint8Array.from(names, (name, id) => {
    if (parts[id] > 0) return parts[id] - 1;
    return family[id] === FAMILY.tfdata ? CATEGORY.input : categoryOf(name);
  });
}

function categoryOf(name: string): number {
  if (LAUNCH.test(name)) return CATEGORY.kernel_launch;
  if (FROM_HOST.test(name)) return CATEGORY.copy_to_device;
  if (INFEED.test(name)) return CATEGORY.input;
  if (SYNC.test(name)) return CATEGORY.sync;
  if (CHECKPOINT.test(name)) return CATEGORY.checkpoint;
  if (TO_HOST.test(name)) return CATEGORY.output;
  if (BETWEEN.test(name)) return CATEGORY.device_to_device;
  if (COMPILE.test(name)) return CATEGORY.compile;
  if (COLLECTIVE.test(name)) return CATEGORY.device_collectives;
  return CATEGORY.other;
}

export interface StepInView {
  readonly row: number;
  readonly name: string;
}

/** Names of the colours that `isShown`, in a fixed order: a legend of nothing that is not on the screen. `steps`: in view. */
export function legendOf(by: ColorBy, isShown: ArrayLike<number>, steps: readonly StepInView[] = []) {
  const ofStep = (color: number) => stepLabel(color, steps);
  const label = by === "step" ? ofStep : by === "category" ? categoryLabel : familyLabel;
  return Array.from(isShown, (_, color) => ({ color, text: label(color) })).filter(({ color }) => isShown[color]);
}

/** Shorter than elsewhere: all stand in one line. */
const SHORT_LABELS: Readonly<Record<string, string>> = {
  tfdata: "tf.data",
  image: "image",
  conv: "conv, matmul",
  elem: "element-wise",
  reduce: "reduction, loss",
  move: "copies, casts",
  runtime: "runtime",
};
const familyLabel = (id: number) =>
  id < FAMILIES.length
    ? (SHORT_LABELS[FAMILIES[id]] ?? FAMILY_LABELS[FAMILIES[id]])
    : categoryLabel(id - FAMILIES.length);
const categoryLabel = (id: number) => CATEGORY_LABELS[CATEGORIES[id]];

/** "steps 5, 9, 13…": those of the colour, by their names. */
function stepLabel(color: number, steps: readonly StepInView[]): string {
  if (color === NO_STEP) return "in no step";
  const names = steps.filter(({ row }) => row % STEP_COLORS === color).map(({ name }) => name);
  if (names.length === 0) return `a step out of view (${color + 1})`;
  const more = names.length > STEPS_NAMED ? "…" : "";
  return `${names.length === 1 ? "step" : "steps"} ${names.slice(0, STEPS_NAMED).join(", ")}${more}`;
}

export function opColors(meta: TraceMeta) {
  const familyOf = (op: number) => FAMILIES[meta.op_family[op]] ?? "runtime";
  const categoryOf = (op: number) => {
    const row = { device: meta.op_device[op], type: meta.names[meta.op_type[op]] ?? "" };
    return opCategory({ ...row, isIdle: false }, familyOf(op));
  };
  return { familyOf, categoryOf };
}

export function opCategory(row: { device: number; type: string; isIdle: boolean }, family: string): string {
  if (row.isIdle) return "other";
  if (row.device === 1) return CATEGORIES[deviceCategory(categoryOf(row.type))];
  return row.type === "Dataset" || family === "tfdata" || family === "image" ? "input" : "host_compute";
}
