import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { dist, launch } from './browser';
import { Fake } from './fake-server';

/** Counts that are the same on every machine: rows in the document, rows that are drawn again, questions that are asked. */
describe('a thousand tasks', () => {
  let context: BrowserContext;
  let closeBrowser: () => Promise<void>;
  let fake: Fake;
  let page: Page;
  const list = () => page.getByRole('list', { name: 'Task list' });
  const asked = (path: string): number => fake.calls.filter((call) => call.path === path).length;

  beforeAll(async () => {
    ({ context, close: closeBrowser } = await launch());
  });
  afterAll(() => closeBrowser());
  beforeEach(async () => {
    fake = new Fake({ dist, many: 1000 });
    const base = await fake.listen();
    page = await context.newPage();
    await page.clock.install({ time: fake.now() });
    await page.goto(`${base}/#/tasks`);
    await page.getByText('1,014 tasks').waitFor();
    // What is fetched once the content is there has nothing to do with what is counted.
    await page.clock.runFor(1000);
  });
  afterEach(async () => {
    await page.close();
    await fake.close();
  });

  /** Notes each row in which anything changes, until `changed` is called. */
  async function watchRows(): Promise<() => Promise<string[]>> {
    await list().evaluate((box) => {
      const seen = new Set<string>();
      const rowOf = (node: Node): Element | null => (node instanceof Element ? node : node.parentElement)?.closest('[role="listitem"]') ?? null;
      const observer = new MutationObserver((records) => {
        for (const record of records) for (const node of [record.target, ...record.addedNodes]) {
          const row = rowOf(node);
          if (row) seen.add(row.querySelector('a')?.textContent ?? '');
        }
      });
      observer.observe(box, { subtree: true, childList: true, characterData: true, attributes: true });
      Object.assign(window, { changedRows: seen });
    });
    return () => page.evaluate(() => [...(window as unknown as { changedRows: Set<string> }).changedRows].sort());
  }
  /** Lets an event's reading happen, and waits until the answer is there. */
  async function settle(before: number): Promise<void> {
    await expect.poll(async () => { await page.clock.runFor(200); return asked('/api/tasks'); }).toBeGreaterThan(before);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)).then(() => undefined));
  }

  it('asks each question once when it opens', () => {
    for (const path of ['/api/overview', '/api/projects', '/api/tasks']) expect(asked(path), path).toBe(1);
    expect(fake.calls.length, fake.calls.map((call) => call.path).join(' ')).toBe(3);
  });
  it('keeps only the rows in sight in the document, wherever it is scrolled to', async () => {
    for (const place of [0, 0.3, 0.7, 1]) {
      await list().evaluate((box, part) => { box.scrollTop = part * box.scrollHeight; }, place);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)).then(() => undefined));
      expect(await page.getByRole('switch').count(), `at ${place}`).toBeLessThan(40);
    }
    expect(await list().getByRole('listitem').last().getAttribute('aria-posinset')).toBe('1014');
    expect(await page.locator('*').count(), 'the whole page stays small').toBeLessThan(2500);
  });
  it('gives the focus to a row that was far out of sight', async () => {
    const focus = (): Promise<string | null | undefined> => page.evaluate(() => document.activeElement?.closest('[role="listitem"]')?.getAttribute('aria-posinset'));
    for (const [key, place] of [['End', '1014'], ['k', '1013'], ['Home', '1'], ['j', '2']] as const) {
      await page.keyboard.press(key);
      await expect.poll(focus, { message: key }).toBe(place);
    }
  });
  it('draws no row again when an event changed nothing', async () => {
    const changed = await watchRows();
    const before = asked('/api/tasks');
    fake.emit('tasks_changed');
    await settle(before);
    expect(await changed()).toEqual([]);
  });
  it('draws the one row again that an event is about', async () => {
    await page.getByRole('searchbox').fill('loop-00');
    const name = await list().getByRole('link').nth(3).textContent();
    const changed = await watchRows();
    const row = fake.rows.find((each) => each.summary.name === name);
    if (!row) throw new Error('the row is one of the server’s');
    const before = asked('/api/tasks');
    row.summary.words = 'At another time';
    fake.emit('tasks_changed');
    await settle(before);
    await list().getByText('At another time').waitFor();
    expect(await changed()).toEqual([name]);
  });
  it('draws only the rows again whose text a second changes', async () => {
    await page.getByRole('searchbox').fill('loop-01');
    await list().getByRole('link', { name: /^loop-01/ }).first().waitFor();
    const changed = await watchRows();
    await page.clock.runFor(1000);
    expect(await changed(), 'all of these run in more than two minutes, or ran before').toEqual([]);
    await page.getByRole('searchbox').fill('triage');
    await list().getByRole('link', { name: 'triage-inbox' }).waitFor();
    const running = await watchRows();
    await page.clock.runFor(1000);
    expect(await running(), 'its running time goes on').toEqual(['triage-inbox']);
  });
  it('answers a burst of events with two readings at most', async () => {
    const before = asked('/api/tasks');
    for (let n = 0; n < 50; n += 1) fake.emit('run_changed', { runId: n });
    await settle(before);
    await page.clock.runFor(2000);
    expect(asked('/api/tasks') - before).toBeLessThanOrEqual(2);
  });
  it('keeps a timeline of a thousand lanes small', async () => {
    await page.evaluate(() => { location.hash = '#/timeline'; });
    await page.getByRole('link', { name: 'loop-0001' }).first().waitFor();
    const body = page.locator('.view-body');
    for (const place of [0, 0.5, 1]) {
      await body.evaluate((box, part) => { box.scrollTop = part * box.scrollHeight; }, place);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)).then(() => undefined));
      expect(await page.locator('.lane').count(), `at ${place}`).toBeLessThan(45);
    }
    await page.getByRole('link', { name: 'loop-1000' }).or(page.getByRole('link', { name: /^loop-09/ })).first().waitFor();
  });
});
