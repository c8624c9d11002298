import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dist, launch } from './browser';
import { Served, servesBuiltPage } from './served';

/** The page that the program itself holds: nothing between it and the browser. */
describe('the page inside the program', () => {
  let served: Served;
  let context: BrowserContext;
  let closeBrowser: () => Promise<void>;
  beforeAll(async () => {
    served = await Served.make();
    await served.write('kept', 'demo/echo');
    await served.start();
    ({ context, close: closeBrowser } = await launch());
  });
  afterAll(async () => {
    await closeBrowser();
    await served.stop();
  });

  it('is the one that was built last', async () => {
    expect(await servesBuiltPage(served), 'build the program after the page: `npm run build`, then `cargo build -p loopkeeper`').toBe(true);
  });
  it('is served whole, and what has a hash in its name is kept', async () => {
    const types: Record<string, string> = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml', html: 'text/html; charset=utf-8' };
    for (const name of await readdir(dist, { recursive: true })) {
      const type = types[name.slice(name.lastIndexOf('.') + 1)];
      if (type === undefined || name === 'index.html') continue;
      const answer = await served.ask(`/${name}`);
      expect(answer.headers.get('content-type'), name).toBe(type);
      expect(answer.headers.get('cache-control')?.includes('immutable') ?? false, name).toBe(name.startsWith('assets/'));
      expect(Buffer.from(await answer.arrayBuffer()).equals(await readFile(join(dist, name))), `${name} byte for byte`).toBe(true);
    }
  });
  it('lets in only what carries the nonce of this load', async () => {
    const load = async (): Promise<{ nonce: string; html: string; policy: string }> => {
      const answer = await served.ask('/');
      const policy = answer.headers.get('content-security-policy') ?? '';
      return { policy, html: await answer.text(), nonce: /'nonce-([^']+)'/.exec(policy)?.[1] ?? '' };
    };
    const [one, two] = [await load(), await load()];
    expect(one.nonce).not.toBe(two.nonce);
    expect(one.policy).not.toContain('unsafe');
    for (const tag of one.html.match(/<(script|style)\b[^>]*>/g) ?? []) expect(tag).toContain(`nonce="${one.nonce}"`);
    expect(one.html.match(/<(script|style)\b/g)?.length, 'the editor needs the nonce of a style element').toBeGreaterThan(1);
  });
  it('works within its policy, the editor too', async () => {
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => { if (message.type() === 'error') errors.push(message.text()); });
    await page.addInitScript(() => {
      const seen: string[] = [];
      Object.assign(window, { violations: seen });
      document.addEventListener('securitypolicyviolation', (event) => seen.push(`${event.violatedDirective} ${event.blockedURI}`));
    });
    await page.goto(served.link);
    await page.getByRole('button', { name: 'Add a project' }).click();
    await page.getByLabel('Folder').fill(served.project);
    await page.getByRole('dialog').getByRole('button', { name: 'Add project' }).click();
    await page.getByRole('link', { name: 'kept', exact: true }).click();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const text = page.locator('.cm-content');
    await text.waitFor();
    expect(await text.evaluate((each) => getComputedStyle(each).paddingTop), 'the styles that the editor makes are let in').toBe('12px');
    expect(page.url(), 'the code of the link does not stay in the address').not.toContain('code=');
    expect(await page.evaluate(() => (window as unknown as { violations: string[] }).violations)).toEqual([]);
    expect(errors).toEqual([]);
  });
});
