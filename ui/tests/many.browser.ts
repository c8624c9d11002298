import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { dist, launch } from './browser';
import { Fake, TUESDAY } from './fake/server';

/** Counts that are the same on every machine: rows in the document, rows that are drawn again, questions that are asked. */
describe('a thousand tasks', () => {
  let context: BrowserContext;
  let closeBrowser: () => Promise<void>;
  let fake: Fake;
  let page: Page;
  const frame = (): Promise<void> => page.evaluate(() => new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))));
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
    // Timers go on; the time of day moves only when a test says so.
    await page.clock.setFixedTime(TUESDAY);
    await page.goto(`${base}/#/tasks`);
    await page.getByText('1,014 tasks').waitFor();
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
  /** Changes a task on the server, tells of it, and waits until it is seen. */
  async function reword(name: string, words: string): Promise<void> {
    const row = fake.rows.find((each) => each.summary.name === name);
    if (!row) throw new Error(`there is no ${name}`);
    row.summary.words = words;
    fake.emit('tasks_changed');
    await list().getByText(words).waitFor();
    await frame();
  }

  it('says in the head how many are armed and run, uncut at any number', async () => {
    const state = page.getByRole('status').filter({ hasText: 'armed' });
    const cut = (): Promise<boolean> => state.evaluate((box) => [box, ...box.querySelectorAll('.cut')].some((each) => each.scrollWidth > each.clientWidth));
    expect(await cut()).toBe(false);
    const first = fake.rows.filter((each) => each.summary.condition === 'armed').slice(0, 30);
    for (const each of first) fake.open(each, 'running', 1000);
    fake.emit('tasks_changed');
    await state.getByText(/ armed · 3\d running$/).waitFor();
    expect(await cut()).toBe(false);
    expect(await state.getAttribute('data-tip'), 'all of it is told').toMatch(/^\S+ armed · 3\d running/);
  });
  it('asks each question once when it opens', () => {
    for (const path of ['/api/overview', '/api/projects', '/api/tasks']) expect(asked(path), path).toBe(1);
    expect(fake.calls.length, fake.calls.map((call) => call.path).join(' ')).toBe(3);
  });
  it('keeps only the rows in sight in the document, wherever it is scrolled to', async () => {
    for (const place of [0, 0.3, 0.7, 1]) {
      await list().evaluate((box, part) => { box.scrollTop = part * box.scrollHeight; }, place);
      await frame();
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
  it('draws only the row again that an event is about', async () => {
    await page.getByRole('searchbox').fill('loop-00');
    const name = (await list().getByRole('link').nth(3).textContent()) ?? '';
    const changed = await watchRows();
    const before = asked('/api/tasks');
    fake.emit('tasks_changed');
    await expect.poll(() => asked('/api/tasks')).toBeGreaterThan(before);
    await reword(name, 'At another time');
    expect(await changed(), 'the event before it changed nothing').toEqual([name]);
  });
  it('draws only the rows again whose text a second changes', async () => {
    // What runs tells its seconds, and what is due or ended within a minute does.
    const near = (at: number | undefined): boolean => at !== undefined && Math.abs(at - TUESDAY) < 60_000;
    const ticking = fake.rows.map((each) => each.summary).filter((each) => each.condition === 'running' || near(each.enabled ? each.nextRunAt : undefined) || near(each.lastRun?.finishedAt)).map((each) => each.name);
    const drawn = await list().getByRole('link').allTextContents();
    const expected = drawn.filter((name) => ticking.includes(name)).sort();
    expect(expected).toContain('triage-inbox');
    expect(expected.length, 'most of what is drawn stands still').toBeLessThan(drawn.length / 3);
    const changed = await watchRows();
    await page.clock.setFixedTime(TUESDAY + 1000);
    await expect.poll(async () => (await changed()).length).toBeGreaterThanOrEqual(expected.length);
    await frame();
    expect(await changed()).toEqual(expected);
  });
  it('draws no row again each second whose run is held by a pause', async () => {
    fake.paused = { since: TUESDAY };
    fake.emit('paused');
    await page.getByText('Everything is paused until you resume.').waitFor();
    await frame();
    const held = fake.rows.map((each) => each.summary).filter((each) => each.condition === 'armed' && each.nextRunAt !== undefined && (each.lastRun?.finishedAt === undefined || TUESDAY - each.lastRun.finishedAt > 120_000)).map((each) => each.name);
    const changed = await watchRows();
    await page.clock.setFixedTime(TUESDAY + 1000);
    // What runs shows that the second has come.
    await expect.poll(changed).toContain('triage-inbox');
    await frame();
    expect((await changed()).filter((name) => held.includes(name))).toEqual([]);
    expect(await list().locator('time').filter({ hasText: /^in / }).count(), 'nothing is promised').toBe(0);
  });
  it('answers a burst of events with few readings', async () => {
    const name = (await list().getByRole('link').nth(9).textContent()) ?? '';
    const before = asked('/api/tasks');
    for (let n = 0; n < 50; n += 1) fake.emit('run_changed', { runId: n });
    await expect.poll(() => asked('/api/tasks')).toBeGreaterThan(before);
    await reword(name, 'After the burst');
    expect(asked('/api/tasks') - before, 'two for the burst at most, one or two for what came after it').toBeLessThanOrEqual(4);
  });
  it('keeps a timeline of a thousand lanes small', async () => {
    await page.evaluate(() => { location.hash = '#/timeline'; });
    await page.getByRole('link', { name: 'loop-0001' }).first().waitFor();
    const body = page.locator('.view-body');
    for (const place of [0, 0.5, 1]) {
      await body.evaluate((box, part) => { box.scrollTop = part * box.scrollHeight; }, place);
      await frame();
      expect(await page.locator('.lane').count(), `at ${place}`).toBeLessThan(45);
    }
    await page.getByRole('link', { name: 'loop-1000' }).or(page.getByRole('link', { name: /^loop-09/ })).first().waitFor();
  });
});
