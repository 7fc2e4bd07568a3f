/** Runs before each file: `vi.waitFor` waits as long as a test may take, for its own second is short on a busy machine. */

import { vi } from "vitest";

const { waitFor } = vi;
vi.waitFor = (ask, options = 20_000) => waitFor(ask, options);
