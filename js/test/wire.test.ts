import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GrowingTable } from "../src/data/columns";
import { fromBase64, parsePack } from "../src/data/pack";
import { decodePack, encodePack } from "./encoding";
import { vector } from "./vectors";

describe("Pack", () => {
  it("gives back what was put in, for every dtype", async () => {
    const columns = {
      f8: Float64Array.of(1.5, -0, 1e300),
      f4: Float32Array.of(1, 2, 3),
      i4: Int32Array.of(-1, 2 ** 31 - 1, 0),
      u4: Uint32Array.of(0, 2 ** 32 - 1, 7),
      u2: Uint16Array.of(1, 2, 65535),
      u1: Uint8Array.of(0, 255, 3),
      u8: BigUint64Array.of(0n, 2n ** 64n - 1n, 1n),
    };
    const bytes = await encodePack({ meta: { name: "Ω</script>" }, tables: { t: { n: 3, columns } } });
    const pack = await decodePack(bytes);
    expect(pack.meta).toEqual({ name: "Ω</script>" });
    expect(pack.tables.t).toEqual({ n: 3, columns });
  });

  it("decodes the same wherever the bytes start in their buffer", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 40 }),
        fc.array(fc.double(), { maxLength: 9 }),
        async (shift, values) => {
          const table = { n: values.length, columns: { a: Float64Array.from(values) } };
          const bytes = await encodePack({ meta: {}, tables: { t: table } });
          const moved = new Uint8Array(shift + bytes.length);
          moved.set(bytes, shift);
          const pack = await decodePack(moved.subarray(shift));
          expect(pack.tables.t.columns.a).toEqual(table.columns.a);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("copies raw bytes that are not aligned", () => {
    const json = '{"meta":{},"tables":{"t":{"n":1,"columns":{"a":{"dtype":"f8","offset":0}}}}}'.padEnd(84);
    const raw = new Uint8Array(1 + 4 + json.length + 8);
    const view = new DataView(raw.buffer);
    view.setUint32(1, json.length, true);
    raw.set(new TextEncoder().encode(json), 5);
    view.setFloat64(5 + json.length, 42, true);
    expect(parsePack(raw.subarray(1)).tables.t.columns.a[0]).toBe(42);
  });

  it("undoes every way in which Python codes a column", () => {
    const { raw, tables } = vector<{ raw: string; tables: Record<string, Record<string, [string, unknown[]]>> }>(
      "column_code",
    );
    const bytes = fromBase64(raw);
    const text = new TextDecoder().decode(bytes);
    for (const base of ["plain", "delta", "less", "gap", "bits"]) expect(text).toContain(`"base":"${base}"`);
    const pack = parsePack(bytes);
    for (const [name, columns] of Object.entries(tables)) {
      for (const [column, [dtype, values]] of Object.entries(columns)) {
        const found = Array.from(pack.tables[name].columns[column] as Iterable<number | bigint>);
        expect(dtype === "u8" ? found.map(String) : found, `${name}.${column}`).toEqual(values);
      }
    }
  });

  it("names the base that is missing of a column", async () => {
    const code = '{"base":"less","of":"b","width":0}';
    const json = `{"meta":{},"tables":{"t":{"n":1,"columns":{"a":{"dtype":"f8","offset":0,"code":${code}}}}}}`.padEnd(
      132,
    );
    const raw = new Uint8Array(4 + json.length);
    new DataView(raw.buffer).setUint32(0, json.length, true);
    raw.set(new TextEncoder().encode(json), 4);
    expect(() => parsePack(raw)).toThrow(/t\.a: its base "b" is missing/);
  });

  it("names the column that does not fit its bytes", async () => {
    const json = '{"meta":{},"tables":{"events":{"n":9,"columns":{"start_ps":{"dtype":"f8","offset":0}}}}}'.padEnd(92);
    const raw = new Uint8Array(4 + json.length);
    new DataView(raw.buffer).setUint32(0, json.length, true);
    raw.set(new TextEncoder().encode(json), 4);
    expect(() => parsePack(raw)).toThrow(/events\.start_ps/);
    expect(() => parsePack(raw.subarray(0, 4))).toThrow(/shorter than its header/);
  });

  it("grows part by part to as many rows as were said, all with the same columns", () => {
    const part = (...a: number[]) => ({ n: a.length, columns: { a: Int32Array.from(a), b: Float64Array.from(a) } });
    const growing = new GrowingTable(part(1), 3);
    growing.append(part(1));
    growing.append(part(2, 3));
    expect(growing.table).toEqual(part(1, 2, 3));
    expect(() => growing.append(part(4))).toThrow("4 rows of 3");
    const empty = { n: 0, columns: {} };
    expect(() => new GrowingTable(part(1), 3).append(empty)).toThrow("a part without column a");
  });

  it("reads base64 of any byte", () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    expect(fromBase64(Buffer.from(bytes).toString("base64"))).toEqual(bytes);
  });
});
