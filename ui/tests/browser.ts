import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type BrowserContext, type Page } from 'playwright-core';

export const dist = new URL('../dist', import.meta.url).pathname;

/** Debian's Chromium with a new, empty profile, and without its calls to the outside. */
export async function launch(): Promise<{ context: BrowserContext; close: () => Promise<void> }> {
  const profile = await mkdtemp(join(tmpdir(), 'loopkeeper-ui-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', headless: true, viewport: { width: 1280, height: 820 }, reducedMotion: 'reduce',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  context.setDefaultTimeout(10_000);
  return {
    context,
    close: async () => {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
/** A new page whose time of day is the server's; its timers are left alone. */
export async function newPage(context: BrowserContext, server: { now(): number }): Promise<Page> {
  const page = await context.newPage();
  await page.addInitScript((ahead) => {
    const Real = Date;
    window.Date = new Proxy(Real, {
      construct: (target, args: unknown[], made) => Reflect.construct(target, args.length === 0 ? [Real.now() + ahead] : args, made) as Date,
      get: (target, key) => (key === 'now' ? () => Real.now() + ahead : (Reflect.get(target, key) as unknown)),
    });
  }, server.now() - Date.now());
  return page;
}
interface AxeResult { violations: { id: string; impact: string | null; nodes: { html: string; failureSummary?: string }[] }[] }
const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
/** What a screen reader or weak eyes would trip over, grave ones only. */
export async function grave(page: Page): Promise<string[]> {
  // Over the debugging protocol, which the page's policy does not bind.
  const { readFile } = await import('node:fs/promises');
  await page.evaluate(await readFile(axePath, 'utf8'));
  const result = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as AxeResult;
  return result.violations.filter((each) => each.impact === 'serious' || each.impact === 'critical').map((each) => `${each.id}: ${each.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.failureSummary?.split('\n')[1] ?? ''}`).join(' | ')}`);
}
