import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { STEADY } from "../src/data/columns";
import type { HloMeta, TraceMeta } from "../src/data/meta";
import type { Table, TypedArray } from "../src/data/pack";
import { readableKernel, readableKernels, shortKernel } from "../src/model/names";
import { layerRows, topShares } from "../src/model/ops";
import { hloRows, hloTotals, opsOfHlos, withPrograms } from "../src/views/hlo_table/hlo_table";
import { kernelRows, shortDimensions, tensorCore } from "../src/views/kernel_table/kernel_table";
import { labelsOf } from "../src/views/op_table/op_table";
import { f8, hloMeta, i4, kernelMeta, layerMeta } from "./table_scene";

describe("shares", () => {
  it("keep every weight, largest first, with the rest as one", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 1000 }), { maxLength: 40 }),
        fc.integer({ min: 1, max: 12 }),
        (weights, n) => {
          const shares = topShares(weights, (weight) => weight, n);
          const sum = weights.reduce((a, b) => a + b, 0);
          expect(shares.reduce((total, share) => total + share.value, 0)).toBe(sum);
          expect(shares.length).toBeLessThanOrEqual(n + 1);
          const single = shares.filter((share) => !share.isRest).map((share) => share.value);
          expect(single).toEqual([...weights].sort((a, b) => b - a).slice(0, single.length));
          const rest = shares.filter((share) => share.isRest);
          expect(rest.every((share) => share.rows.length > 1)).toBe(true);
          if (sum > 0) expect(shares.reduce((total, share) => total + share.ratio, 0)).toBeCloseTo(1, 12);
          else expect(shares).toEqual([]);
        },
      ),
    );
  });
});

const EIGEN = (expression: string) =>
  `void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<Eigen::Tensor<Eigen::half, 1, 1, long>, 16, Eigen::MakePointer>, ${expression} const> const, Eigen::GpuDevice>, long>(Eigen::TensorEvaluator<Eigen::Tensor<int, 1>>, long)`;
const INPUT = (type: string) =>
  `Eigen::TensorMap<Eigen::Tensor<${type} const, 1, 1, long>, 16, Eigen::MakePointer> const`;

describe("readable names of kernels", () => {
  it.each([
    ["volta_sgemm_128x64_nn", "volta_sgemm_128x64_nn"],
    ["void cudnn::detail::pooling_fw<float, 2>(float const*, int)", "pooling_fw<float, 2>"],
    ["void tensorflow::(anonymous namespace)::Fill<int>(int)", "Fill<int>"],
    ["void f<void (*)(int)>(int)", "f<void (*)(int)>"],
    [EIGEN(`Eigen::TensorConversionOp<Eigen::half, ${INPUT("float")}>`), "Eigen Conversion (float → half)"],
    [
      EIGEN(
        `Eigen::TensorCwiseUnaryOp<Eigen::internal::scalar_left<Eigen::half, Eigen::half, Eigen::internal::scalar_product_op<Eigen::half, Eigen::half>, false>, ${INPUT("Eigen::half")}>`,
      ),
      "Eigen left product (half)",
    ],
    ["", ""],
    ["void ", "void "],
    ["<(", "<("],
  ])("%s", (signature, name) => expect(readableKernel(signature)).toBe(name));

  it("are never equal for two kernels, and never empty for a name that is not", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(
          fc.string({ unit: fc.constantFrom("a", "::", "<", ">", "(", ")", " ", "void "), minLength: 1, maxLength: 8 }),
        ),
        (names) => {
          const readable = [...readableKernels(names).values()];
          expect(new Set(readable).size).toBe(names.length);
          expect(readable.every((name) => name !== "")).toBe(true);
        },
      ),
    );
  });

  it("say the rank of what they write where that alone tells them apart", () => {
    const broadcast = (rank: number) =>
      `void EigenMetaKernel<TensorAssignOp<TensorMap<Tensor<half, ${rank}, 1, int>>, TensorBroadcastingOp<Tensor<half const, ${rank}, 1, int>>>>(int)`;
    expect([...readableKernels([broadcast(1), broadcast(2)]).values()]).toEqual([
      "Eigen Broadcasting (half)",
      "Eigen Broadcasting (half, 2-d)",
    ]);
  });

  it("lose their template parameters where there is little room", () => {
    expect(shortKernel("pooling_fw<float, 2>")).toBe("pooling_fw");
    expect(shortKernel("Eigen Conversion (float → half)")).toBe("Eigen Conversion");
    expect(shortKernel("<lambda>")).toBe("<lambda>");
  });
});

describe("kernels", () => {
  const KERNELS = [kernelMeta("a", { could_use_tensor_core: true }), kernelMeta("b")];
  const sums = (count: TypedArray, total: TypedArray, min: TypedArray, max: TypedArray): Table => ({
    n: 2,
    columns: { kernel: i4(0, 1), occurrences: count, total_ps: total, min_ps: min, max_ps: max },
  });
  const TABLES: Record<string, Table> = {
    kernel_step_totals: sums(f8(2, 4), f8(8, 24), f8(4, 6), f8(4, 6)),
    steps: {
      n: 3,
      columns: { is_averaged: Uint8Array.of(0, 1, 1), start_ps: f8(1e6, 2e6, 3e6), duration_ps: f8(1e6, 1e6, 1e6) },
    },
  };
  it("are told a step, of the averaged steps", () => {
    expect(kernelRows(KERNELS, new Map(), (name) => TABLES[name], STEADY)).toMatchObject([
      { name: "b", occurrences: 2, totalPs: 12, minPs: 6, maxPs: 6, ratio: 0.75 },
      { name: "a", occurrences: 1, totalPs: 4 },
    ]);
  });

  it("say whether Tensor Cores serve them, could, or cannot", () => {
    expect(KERNELS.map(tensorCore)).toEqual(["idle", "none"]);
    expect(tensorCore(kernelMeta("c", { uses_tensor_core: true }))).toBe("used");
  });

  it("show dimensions without the ones at the end", () => {
    expect(["160,1,1", "16,8,1", "1,1,2", "1,1,1"].map(shortDimensions)).toEqual(["160", "16×8", "1×1×2", "1"]);
  });
});

describe("HLO ops", () => {
  const HLOS = withPrograms([
    hloMeta("conv.1", { category: "convolution", op_name: "conv" }),
    hloMeta("fusion.2"),
    hloMeta("fusion.3", { program_id: "8", flops: null }),
  ]);
  const TABLES: Record<string, Table> = {
    // Units 0 and 2 are ordinary ops; HLO op 1 is two units.
    hlo_units: { n: 6, columns: { hlo: i4(-1, 0, -1, 1, 1, 2) } },
    occurrences: {
      n: 5,
      columns: {
        ...{ op: i4(0, 1, 3, 4, 5), line: i4(0, 0, 0, 0, 0), parent: i4(-1, 0, -1, -1, -1) },
        ...{ start_ps: f8(0, 10, 200, 300, 400), duration_ps: f8(100, 50, 20, 10, 5), span_ps: f8(100, 50, 20, 10, 5) },
      },
    },
    op_shares: { n: 4, columns: { unit: i4(0, 1, 1, 5), op: i4(0, 1, 2, 2), ratio: f8(1, 0.25, 0.75, 1) } },
  };
  const table = (name: string) => TABLES[name];
  const rows = (grouping: "op" | "category" | "program") =>
    hloRows(HLOS, hloTotals({ op_name: [] } as unknown as TraceMeta, table, HLOS.length, null), grouping);

  it("are grouped by category and by program, of which two may have one module", () => {
    expect(rows("category").map((row) => [row.key, row.selfPs])).toEqual([
      ["convolution", 50],
      ["loop fusion", 35],
    ]);
    expect(rows("program").map((row) => [row.key, row.selfPs])).toEqual([
      ["train_step (7)", 80],
      ["train_step (8)", 5],
    ]);
    expect(withPrograms([hloMeta("a")])[0].program).toBe("train_step");
  });

  it("have a rate where the work of all is known", () => {
    const [first, , third] = rows("op");
    expect(first.gflops).toBeCloseTo(1e6 / 50e-12 / 1e9, 6);
    expect(first.gibps).toBeCloseTo(2 ** 20 / 50e-12 / 2 ** 30, 6);
    expect(third.gflops).toBeNaN();
    expect(rows("category")[1].gflops).toBeNaN();
  });

  it("stand for framework ops, the largest share first", () => {
    expect(opsOfHlos(table, 3)).toEqual([
      [
        [2, 0.75],
        [1, 0.25],
      ],
      [],
      [[2, 1]],
    ]);
    expect(opsOfHlos(() => undefined, 1)).toEqual([[]]);
  });

  it("of hostile programs keep their keys apart", () => {
    const hlos: HloMeta[] = ["__proto__", "constructor"].map((category) => hloMeta("x", { category }));
    const totals = { totalPs: f8(1, 2), selfPs: f8(1, 2), occurrences: f8(1, 1), done: f8(1, 1) };
    expect(hloRows(withPrograms(hlos), totals, "category").map((row) => row.key)).toEqual(["constructor", "__proto__"]);
  });
});

describe("layers", () => {
  const LAYERS = [
    layerMeta("dense"),
    layerMeta("adam", { kind: "optimizer" }),
    layerMeta("stack", { kind: "other", peak_bytes: 8 }),
    layerMeta("unused"),
  ];
  const PLACES = { layer: i4(0, 0, 1, 0), phase: i4(0, 1, 2, 0), device: [0, 0, 0, 1] };
  const TOTALS = { totalPs: f8(5, 7, 9, 100), selfPs: f8(5, 7, 9, 100), occurrences: f8(1, 2, 3, 4) };

  it("add up forward, backward and optimizer time on one side, and what only holds memory comes last", () => {
    expect(layerRows(LAYERS, PLACES, TOTALS, 0, true)).toMatchObject([
      { layer: "dense", phasePs: [5, 7, 0, 0], selfPs: 12, nOps: 2, occurrences: 3, rank: 1 },
      { layer: "adam", phasePs: [0, 0, 9, 0], selfPs: 9, nOps: 1 },
      { layer: "stack", selfPs: 0, ratio: 0 },
    ]);
    expect(layerRows(LAYERS, PLACES, TOTALS, 1, true)[0]).toMatchObject({ layer: "dense", selfPs: 100, ratio: 1 });
  });

  it("keep the time of every op, so that shares add up to 1", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(3), fc.nat(3), fc.nat(1), fc.nat(1000)), { minLength: 1, maxLength: 20 }),
        (ops) => {
          const places = {
            layer: ops.map(([layer]) => layer),
            phase: ops.map(([, phase]) => phase),
            device: ops.map(([, , side]) => side),
          };
          const selfPs = Float64Array.from(ops, ([, , , ps]) => ps);
          const totals = { selfPs, totalPs: selfPs, occurrences: new Float64Array(ops.length).fill(1) };
          for (const side of [0, 1] as const) {
            const rows = layerRows(LAYERS, places, totals, side, true);
            const whole = ops.reduce((sum, [, , where, ps]) => sum + (where === side ? ps : 0), 0);
            expect(rows.reduce((sum, row) => sum + row.selfPs, 0)).toBe(whole);
            expect(rows.reduce((sum, row) => sum + row.ratio, 0)).toBeCloseTo(whole > 0 ? 1 : 0, 9);
          }
        },
      ),
    );
  });
});

it("labels of ops get shorter and stay telling", () => {
  expect(labelsOf("model/block/conv/Conv2D")).toEqual(["model/block/conv/Conv2D", "…/conv/Conv2D", "Conv2D"]);
  expect(labelsOf("Iterator::Root::Map")).toEqual(["Iterator::Root::Map", "Map"]);
  expect(labelsOf("MatMul")).toEqual(["MatMul"]);
});
