import { defineConfig } from "vitest/config";

export default defineConfig({
  // No test is about speed: on a loaded machine vitest's own 5 s would make one fail that is right.
  test: { include: ["test/**/*.test.ts"], environment: "node", css: false, testTimeout: 30_000 },
});
