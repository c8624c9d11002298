import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

/** Where `npm run dev` finds the routes: a running `loopkeeper serve`, or `npm run fake`. */
const api = 'http://127.0.0.1:4117';

export default defineConfig(({ mode }) => ({
  plugins: [svelte()],
  server: { port: 5173, strictPort: true, proxy: { '/api': { target: api, changeOrigin: true } } },
  // Nothing is inlined as data: the page's policy allows scripts, styles and fonts from itself only.
  build: { target: 'es2022', modulePreload: { polyfill: false }, assetsInlineLimit: 0,
    // The editor is one large part, loaded when it is first needed.
    chunkSizeWarningLimit: 700 },
  // Without it a test would get Svelte's server build, which cannot mount.
  ...(mode === 'test' ? { resolve: { conditions: ['browser'] } } : {}),
  test: { environment: 'jsdom', include: ['src/**/*.test.ts'], setupFiles: ['tests/setup.ts'] },
}));
