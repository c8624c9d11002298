import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

export default defineConfig(({ mode }) => ({
  plugins: [svelte()],
  server: { port: 5173, strictPort: true },
  build: { target: 'es2022', modulePreload: { polyfill: false } },
  // Without it a test would get Svelte's server build, which cannot mount.
  resolve: mode === 'test' ? { conditions: ['browser'] } : {},
  test: { environment: 'jsdom', include: ['src/**/*.test.ts'] },
}));
