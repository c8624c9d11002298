import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch } from './browser';
import { openServed, Served } from './served';

/** What is done with tasks, files and settings, on the real program. Each step goes on from the one before. */
describe('deeds on a real server', () => {
  let served: Served;
  let context: BrowserContext;
  let closeBrowser: () => Promise<void>;
  let page: Page;
  let errors: string[];
  const row = (name: string) => page.getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) });
  const toast = (text: string | RegExp) => page.locator('[data-sonner-toast]').filter({ hasText: text });
  const go = (hash: string) => page.evaluate((to) => { location.hash = to; }, hash);
  async function choose(name: string, deed: string): Promise<void> {
    await page.getByRole('button', { name: `Actions for ${name}` }).click({ timeout: 20_000 });
    await page.getByRole('menuitem', { name: deed }).click();
  }
  async function retype(line: string | RegExp, text: string): Promise<void> {
    await page.locator('.cm-line', { hasText: line }).first().click();
    await page.keyboard.press('Home');
    await page.keyboard.press('Shift+End');
    await page.keyboard.type(text);
    await page.keyboard.press('Escape');
  }
  const preview = () => page.getByRole('complementary', { name: 'Preview' });

  beforeAll(async () => {
    served = await Served.make();
    await served.write('digest', 'demo/echo', { enabled: true });
    await served.start();
    ({ context, close: closeBrowser } = await launch());
    ({ page, errors } = await openServed(context, served));
  });
  afterAll(async () => {
    await closeBrowser();
    await served.stop();
  });

  it('keeps a whole policy with a task, and tells it', async () => {
    await go('#/task-form');
    await page.getByLabel('Name').fill('press-review');
    await page.getByLabel('Prompt').fill('Read the news.');
    await page.getByLabel('Model').fill('demo/echo');
    await page.keyboard.press('Tab');
    await page.getByText('More', { exact: true }).click();
    await page.getByLabel('Time limit').fill('5m');
    await page.getByLabel('Only on').fill('desk, attic');
    await page.getByLabel('Signal').fill('no-address');
    await page.getByRole('combobox', { name: 'Own worktree' }).selectOption('Yes');
    await page.getByRole('button', { name: 'Create task' }).click();
    await page.getByText('An address that begins with http').waitFor();
    await page.getByLabel('Signal').fill('');
    await page.getByRole('button', { name: 'Create task' }).click();
    const detail = page.getByRole('complementary', { name: 'press-review' });
    for (const text of ['5m', 'desk, attic', 'Own worktree']) await detail.getByText(text, { exact: true }).waitFor();
  });
  it('deletes a task that has no file, and brings it back with its policy', async () => {
    await go('#/tasks');
    await choose('press-review', 'Delete');
    await page.getByRole('dialog').getByText('Its past runs stay').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await row('press-review').waitFor({ state: 'detached' });
    await toast('press-review was deleted').getByRole('button', { name: 'Undo' }).click();
    await row('press-review').getByRole('link').click();
    const detail = page.getByRole('complementary', { name: 'press-review' });
    await detail.getByText('desk, attic', { exact: true }).waitFor();
    await detail.getByText('Read the news.').waitFor();
  });
  it('copies a task in the form, and a loop in the editor', async () => {
    await go('#/tasks');
    await choose('press-review', 'Duplicate');
    await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('press-review-2');
    await page.getByRole('button', { name: 'Create task' }).click();
    const copy = page.getByRole('complementary', { name: 'press-review-2' });
    await copy.getByText('desk, attic', { exact: true }).waitFor();
    await go('#/tasks');
    await row('press-review-2').getByRole('img', { name: 'Off', exact: true }).waitFor();
    await choose('digest', 'Duplicate');
    await page.locator('.cm-line', { hasText: 'name: digest-2' }).waitFor();
    const text = await readFile(served.loop('digest-2'), 'utf8');
    expect(text, 'a copy does not run by itself').toContain('enabled: false');
    expect(text).toContain('Say hello.');
  });
  it('turns a task into a loop file', async () => {
    await go('#/tasks');
    await choose('press-review-2', 'Turn into a loop file');
    await toast(/Now defined by/).waitFor();
    await row('press-review-2').getByText('.agents/loops/press-review-2.md').waitFor();
    const text = await readFile(served.loop('press-review-2'), 'utf8');
    expect(text).toContain('Read the news.');
    expect(text, 'its policy goes along').toContain('desk');
  });
  it('says beside the editor what a text comes to', async () => {
    await go(`#/editor?path=${encodeURIComponent(served.loop('digest'))}`);
    await preview().getByText('Every day at 09:00').waitFor();
    expect(await preview().getByRole('listitem').count(), 'the next five runs').toBe(5);
    await preview().getByText('available').waitFor();
    await retype(/^schedule:/, 'schedule: "0 9 1 * 1"');
    await preview().getByText(/either matches|a day that matches either/).waitFor();
    await retype(/^schedule:/, 'schedule: "0 9 1 * */2"');
    await preview().getByText('Classic cron wants both').waitFor();
    await retype(/^model:/, 'model: demo/nonsense');
    await preview().getByText('not found', { exact: true }).waitFor();
    await retype(/^model:/, 'model: nobody/knows');
    await preview().getByText('cannot be checked now').waitFor();
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Leave', exact: true }).click();
    await page.getByRole('region', { name: 'Runs' }).waitFor();
    expect(await readFile(served.loop('digest'), 'utf8'), 'what was left unsaved changed nothing').toContain('"0 9 * * *"');
  });
  it('brings a deleted loop back when the message is long gone', async () => {
    const before = await readFile(served.loop('digest-2'), 'utf8');
    await go('#/tasks');
    await choose('digest-2', 'Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await row('digest-2').waitFor({ state: 'detached' });
    await page.reload();
    await go('#/settings');
    await page.getByRole('button', { name: 'Bring digest-2 back' }).click();
    await toast('digest-2 is back').waitFor();
    expect(await readFile(served.loop('digest-2'), 'utf8')).toBe(before);
    await page.getByRole('button', { name: 'Bring digest-2 back' }).waitFor({ state: 'detached' });
  });
  it('adds a command agent, approves a loop that runs it, and reads what it said', async () => {
    await go('#/settings');
    await page.getByRole('button', { name: 'Add command' }).click();
    const form = page.getByRole('form', { name: 'Add command' });
    await form.getByLabel('Name').fill('cat agent');
    await form.getByLabel('Program and arguments').fill('cat');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('One word without a slash.').waitFor();
    await form.getByLabel('Name').fill('echoer');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Edit echoer' }).waitFor();
    const settings = await readFile(join(served.root, 'settings.toml'), 'utf8');
    expect(settings).toContain('[command.echoer]');
    expect(settings).toContain('argv = ["cat"]');

    // Off still: a loop is tried before it is enabled.
    await served.write('parrot', 'echoer/any');
    await go('#/tasks');
    await page.getByRole('button', { name: 'Run parrot now' }).click({ timeout: 20_000 });
    await toast('once you have approved').waitFor();
    const detail = page.getByRole('complementary', { name: 'parrot' });
    await detail.getByRole('button', { name: 'Show what changed' }).click();
    await detail.getByText('Never approved here').waitFor();
    await detail.getByRole('button', { name: 'Approve' }).click();
    await detail.getByRole('button', { name: 'Approve' }).waitFor({ state: 'detached' });
    await detail.getByRole('button', { name: 'Run now' }).click();
    await toast('parrot started').getByRole('button', { name: 'Open run' }).click();
    const run = page.getByRole('complementary', { name: 'Task' });
    await run.getByText('Succeeded', { exact: true }).waitFor({ timeout: 20_000 });
    await run.getByText('Say hello.').waitFor();

    await go('#/settings');
    await page.getByRole('button', { name: 'Remove echoer' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Edit echoer' }).waitFor({ state: 'detached' });
    expect(await readFile(join(served.root, 'settings.toml'), 'utf8')).not.toContain('echoer');
  });
  it('refuses a setting that cannot be, at its field, and keeps the comments of the file', async () => {
    const path = join(served.root, 'settings.toml');
    await writeFile(path, '# mine\n[runs]\nglobal = 3 # few\n');
    await go('#/settings');
    // Without loading it anew: the page hears of it.
    await expect.poll(() => page.getByLabel('At once', { exact: true }).inputValue(), { timeout: 20_000 }).toBe('3');
    await page.getByLabel('Lease').fill('1m');
    await page.getByLabel('Lease').press('Enter');
    await page.getByText('shorter than three heartbeats').waitFor();
    await page.getByLabel('At once', { exact: true }).fill('2');
    await page.getByLabel('At once', { exact: true }).press('Enter');
    await expect.poll(() => readFile(path, 'utf8')).toBe('# mine\n[runs]\nglobal = 2 # few\n');
  });
  it('shows runs and a pause on the timeline', async () => {
    await go('#/tasks');
    await page.getByRole('button', { name: 'Run digest now' }).click();
    await row('digest').getByText('Succeeded', { exact: true }).waitFor({ state: 'attached', timeout: 20_000 });
    await page.getByRole('button', { name: 'Pause everything' }).click();
    await page.getByRole('menuitem', { name: 'Until I resume' }).click();
    await page.getByText('Everything is paused until you resume.').waitFor();
    await go('#/timeline');
    await page.locator('.pause').waitFor();
    await page.getByRole('button', { name: 'Resume' }).first().click();
    await page.getByText('Everything is paused until you resume.').waitFor({ state: 'detached' });
    await page.getByRole('group', { name: 'Runs of digest' }).getByRole('link', { name: /^Succeeded/ }).first().click();
    await page.getByText('What the agent said last').waitFor();
    expect(errors).toEqual([]);
  });
});
