import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch } from './browser';
import { Served, showBuiltPage } from './served';

/** One day with the real program: each step goes on from the one before. */
describe('the window on a real server', () => {
  let context: BrowserContext;
  let closeBrowser: () => Promise<void>;
  let served: Served;
  let page: Page;
  let base: string;
  const errors: string[] = [];
  const row = (name: string) => page.getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) });
  const toast = (text: string | RegExp) => page.locator('[data-sonner-toast]').filter({ hasText: text });
  const go = (hash: string) => page.evaluate((to) => { location.hash = to; }, hash);
  async function retype(line: string | RegExp, text: string): Promise<void> {
    await page.locator('.cm-line', { hasText: line }).first().click();
    await page.keyboard.press('Home');
    await page.keyboard.press('Shift+End');
    await page.keyboard.type(text);
    await page.keyboard.press('Escape');
  }

  beforeAll(async () => {
    served = await Served.make();
    await served.start();
    ({ context, close: closeBrowser } = await launch());
    await showBuiltPage(context, served);
    page = await context.newPage();
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) errors.push(message.text());
    });
  });
  afterAll(async () => {
    await closeBrowser();
    await served.stop();
  });

  it('lets nobody in without a link, and says how to get one', async () => {
    await page.goto(new URL('/', served.link).href);
    await page.getByText('loopkeeper open').or(page.getByText(/link/i)).first().waitFor();
  });
  it('starts with nothing, and takes a project', async () => {
    await page.goto(served.link);
    // Where the program holds an older page, the way on from the link shows that one: the built page is asked for.
    await page.goto(new URL('/', served.link).href);
    await page.getByRole('button', { name: 'Add a project' }).click();
    await page.getByLabel('Folder').fill(served.project);
    await page.getByRole('dialog').getByRole('button', { name: 'Add project' }).click();
    await page.getByText('No tasks yet').waitFor();
    base = new URL('/', page.url()).href;
  });
  it('makes a loop from the template, fixes it by a quick fix, saves it, and it is armed', async () => {
    await page.getByRole('button', { name: 'New loop' }).click();
    await page.getByLabel('Name').fill('first-loop');
    await page.getByRole('button', { name: 'Create loop' }).click();
    await page.locator('.cm-line', { hasText: 'first-loop' }).first().waitFor();
    await retype(/^model:/, 'model: demo/echo');
    await retype(/^enabled:/, 'enabled: true');
    await retype(/^schedule:/, 'schedule: */5 * * * *');
    await page.getByRole('region', { name: 'Problems' }).getByRole('button', { name: /^Quote/ }).click();
    await page.getByRole('complementary', { name: 'Preview' }).getByText(/5 minutes/).waitFor();
    await page.keyboard.press('Control+s');
    await toast(/Saved\. Next run/).waitFor();
    expect(await readFile(served.loop('first-loop'), 'utf8')).toMatch(/^schedule: ["']\*\/5 \* \* \* \*["']$/m);
    await go('#/tasks');
    await row('first-loop').getByRole('img', { name: 'Armed' }).waitFor();
  });
  it('runs it and watches it end', async () => {
    await page.getByRole('button', { name: 'Run first-loop now' }).click();
    await row('first-loop').getByText('Succeeded', { exact: true }).waitFor({ state: 'attached', timeout: 20_000 });
    await go('#/runs');
    await page.locator('.row').first().click();
    await page.getByText('What the agent said last').waitFor();
  });
  it('toggles exactly one token of the file', async () => {
    const before = await readFile(served.loop('first-loop'), 'utf8');
    await go('#/tasks');
    await page.getByRole('switch', { name: 'Disable first-loop' }).click();
    await page.getByRole('switch', { name: 'Enable first-loop' }).waitFor();
    await row('first-loop').getByRole('img', { name: 'Off', exact: true }).waitFor();
    expect(await readFile(served.loop('first-loop'), 'utf8')).toBe(before.replace('enabled: true', 'enabled: false'));
  });
  it('meets a file that was edited behind its back, and loses neither text', async () => {
    const path = served.loop('first-loop');
    await go(`#/editor?path=${encodeURIComponent(path)}`);
    await page.locator('.cm-line', { hasText: 'name:' }).waitFor();
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('My sentence.');
    await writeFile(path, `${await readFile(path, 'utf8')}\nTheir sentence.\n`);
    await page.keyboard.press('Control+s');
    await page.locator('.cm-merge-a', { hasText: 'Their sentence.' }).waitFor();
    await page.locator('.cm-merge-b', { hasText: 'My sentence.' }).waitFor();
    expect(await readFile(path, 'utf8')).toContain('Their sentence.');
    await page.getByRole('button', { name: 'Save my text' }).click();
    await page.getByText('Left: the file on disk').waitFor({ state: 'detached' });
    await expect.poll(() => readFile(path, 'utf8')).toContain('My sentence.');
  });
  it('answers a run that asks', async () => {
    await served.write('asker', 'demo/ask');
    await go('#/tasks');
    await page.getByRole('button', { name: 'Run asker now' }).click({ timeout: 20_000 });
    await go('#/needs');
    const article = page.getByRole('article', { name: 'asker' });
    await article.getByRole('button').first().waitFor({ timeout: 20_000 });
    await article.getByRole('button').first().click();
    await article.waitFor({ state: 'detached', timeout: 20_000 });
  });
  it('deletes after naming the file, and brings it back', async () => {
    const before = await readFile(served.loop('asker'), 'utf8');
    await go('#/tasks');
    await page.getByRole('button', { name: 'Actions for asker' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText(served.loop('asker')).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await row('asker').waitFor({ state: 'detached' });
    await toast('asker was deleted').getByRole('button', { name: 'Undo' }).click();
    await row('asker').waitFor();
    expect(await readFile(served.loop('asker'), 'utf8')).toBe(before);
  });
  it('makes a weekly task in the form', async () => {
    await go('#/task-form');
    await page.getByLabel('Name').fill('press-review');
    await page.getByRole('radio', { name: 'Weekly' }).click();
    await page.getByLabel('Prompt').fill('Read the news.');
    await page.getByLabel('Model').fill('demo/echo');
    await page.keyboard.press('Tab');
    await page.getByRole('complementary', { name: 'Next runs' }).getByText('09:00').first().waitFor();
    await page.getByRole('button', { name: 'Create task' }).click();
    await page.getByRole('complementary', { name: 'press-review' }).getByText('Next runs').waitFor();
  });
  it('warns, until it is dismissed, when the end of a run cannot be written', async () => {
    await served.write('slow', 'demo/slow');
    await go('#/tasks');
    await page.getByRole('button', { name: 'Run slow now' }).click({ timeout: 20_000 });
    await row('slow').getByText('Running').waitFor();
    // A folder where the project's file was: nothing can be written there.
    const folder = join(served.root, 'data/projects');
    const name = (await readdir(folder)).find((each) => each.endsWith('.json'));
    if (name === undefined) throw new Error('the project has a file');
    const file = join(folder, name);
    await rename(file, `${file}.kept`);
    await mkdir(file);
    const warning = toast('its end could not be written');
    await warning.waitFor({ timeout: 40_000 });
    await rm(file, { recursive: true });
    await rename(`${file}.kept`, file);
    await go('#/runs');
    await warning.waitFor();
    await warning.getByRole('button', { name: /close/i }).click();
    await warning.waitFor({ state: 'detached' });
  }, 90_000);
  it('scrolls a thousand loops', async () => {
    for (let n = 0; n < 1000; n += 1) await served.write(`many-${n}`, 'demo/echo', { enabled: n % 3 === 0 });
    await go('#/tasks');
    await page.getByText(/^1,00\d tasks$/).waitFor({ timeout: 40_000 });
    const list = page.getByRole('list', { name: 'Task list' });
    await list.evaluate((box) => { box.scrollTop = box.scrollHeight; });
    await page.getByRole('link', { name: /^many-/ }).first().waitFor();
    expect(await page.getByRole('switch').count(), 'rows out of sight are not in the document').toBeLessThan(60);
  }, 90_000);
  it('pauses everything', async () => {
    await go('#/timeline');
    await page.getByRole('button', { name: 'Pause everything' }).click();
    await page.getByRole('menuitem', { name: 'For 1 hour' }).click();
    await page.getByText(/Everything is paused until/).waitFor();
    await page.getByRole('button', { name: 'Resume' }).first().click();
    await page.getByText(/Everything is paused until/).waitFor({ state: 'detached' });
  });
  it('shows every view without an error', async () => {
    for (const [hash, text] of [['#/settings', 'Latest start'], ['#/timeline', 'first-loop'], ['#/runs', 'first-loop'], ['#/needs', 'Needs you']] as const) {
      await go(hash);
      await page.getByText(text).first().waitFor();
    }
    expect(base.startsWith('http://127.0.0.1:')).toBe(true);
    expect(errors).toEqual([]);
  });
});
