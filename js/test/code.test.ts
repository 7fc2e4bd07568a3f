import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { wrapCode } from "../src/model/text";

describe("wrapCode", () => {
  it("leaves code alone that fits", () => {
    expect(wrapCode(".map(f)\n.batch(32)", 20)).toBe(".map(f)\n.batch(32)");
  });

  it("breaks after a comma or an opening bracket first", () => {
    expect(wrapCode(".map(f, num_parallel_calls=AUTOTUNE)", 30)).toBe(".map(f,\n  num_parallel_calls=AUTOTUNE)");
  });

  it("breaks after = where an argument alone is too long", () => {
    expect(wrapCode(".map(f, num_parallel_calls=tf.data.AUTOTUNE)", 28)).toBe(
      ".map(f,\n  num_parallel_calls=\n    tf.data.AUTOTUNE)",
    );
  });

  it("never breaks inside a word, and loses nothing but spaces", () => {
    const code = fc.stringMatching(/^[ab(),= .]{0,60}$/);
    fc.assert(
      fc.property(code, fc.integer({ min: 1, max: 30 }), (text, width) => {
        const wrapped = wrapCode(text, width);
        expect(wrapped.replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
        expect(wrapped).not.toMatch(/[ab.)]\n *[ab.]/);
      }),
    );
  });

  it("keeps a comment on its line", () => {
    const code = "x = f(a)  # why, of all (things)";
    expect(wrapCode(code, 12)).toBe(code);
  });
});
