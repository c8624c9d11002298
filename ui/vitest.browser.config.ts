import { defineConfig } from 'vitest/config';

/** Tests of the built page in a real browser; `npm run build` comes first. */
export default defineConfig({
  test: { environment: 'node', include: ['tests/**/*.browser.ts'], testTimeout: 30_000, hookTimeout: 60_000, fileParallelism: false },
});
