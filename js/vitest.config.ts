import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/setup.ts"],
    environment: "node",
    css: false,
    // No test is about speed: on a loaded machine vitest's own 5 s would make one fail that is right.
    testTimeout: 120_000,
    // All processors, also where there are two.
    maxWorkers: "100%",
    // To load jsdom and the views anew for each file took longer than the tests.
    isolate: false,
  },
});
