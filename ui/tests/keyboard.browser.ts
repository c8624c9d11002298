import { readFile } from 'node:fs/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch } from './browser';
import { openServed, Served } from './served';

/** The way through the window without a pointer, on the real program. Each step goes on from the one before. */
describe('by keyboard alone', () => {
  let served: Served;
  let context: BrowserContext;
  let closeBrowser: () => Promise<void>;
  let page: Page;
  let errors: string[];
  const press = (key: string, times = 1): Promise<void> => (async () => { for (let n = 0; n < times; n += 1) await page.keyboard.press(key); })();
  const toast = (text: string | RegExp) => page.locator('[data-sonner-toast]').filter({ hasText: text });
  const row = (name: string) => page.getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) });
  /** What has the focus: its name, and whether it can be seen that it has it. */
  const focused = (): Promise<{ name: string; seen: boolean; where: string }> => page.evaluate(() => {
    const at = document.activeElement as HTMLElement;
    const labelled = at.id === '' ? null : document.querySelector(`label[for="${CSS.escape(at.id)}"]`);
    const style = getComputedStyle(at);
    return {
      name: (at.getAttribute('aria-label') ?? labelled?.textContent ?? at.textContent ?? '').trim(), where: at.outerHTML.slice(0, 120),
      // An editor shows a cursor, a list of messages and a modal window hold what is focused next.
      seen: (style.outlineStyle !== 'none' && style.outlineWidth !== '0px') || style.boxShadow !== 'none' || at.closest('.cm-editor, [data-sonner-toaster], [role="dialog"], [role="menu"]') !== null || at === document.body,
    };
  });
  /** Goes on with Tab until something of that name has the focus; whatever has it on the way shows that it does. */
  async function tabTo(name: string | RegExp, key = 'Tab'): Promise<void> {
    const way: string[] = [];
    for (let n = 0; n < 60; n += 1) {
      await press(key);
      const now = await focused();
      expect(now.seen, `the focus is seen on ${now.where}`).toBe(true);
      if (typeof name === 'string' ? now.name === name : name.test(now.name)) return;
      way.push(now.name);
    }
    throw new Error(`Tab never came to ${String(name)}: ${way.join(' → ')}`);
  }
  /** Types a line of the editor anew; the cursor stays in it. */
  async function line(text: string[], starts: string, next: string): Promise<void> {
    const at = text.findIndex((each) => each.startsWith(starts));
    await press('Control+Home');
    await press('ArrowDown', at);
    await press('Home');
    await press('Shift+End');
    await page.keyboard.type(next);
    await press('Escape');
  }

  beforeAll(async () => {
    served = await Served.make();
    await served.start();
    ({ context, close: closeBrowser } = await launch());
    ({ page, errors } = await openServed(context, served));
    await page.getByText('No tasks yet').waitFor();
  });
  afterAll(async () => {
    await closeBrowser();
    await served.stop();
  });

  it('makes a loop, fixes what is wrong with it, saves it', async () => {
    await press('n');
    await page.getByLabel('Name').waitFor();
    await page.keyboard.type('by-hand');
    await press('Enter');
    await page.locator('.cm-focused').waitFor();
    const text = (await readFile(served.loop('by-hand'), 'utf8')).split('\n');
    await line(text, 'schedule:', 'schedule: */5 * * * *');
    await line(text, 'enabled:', 'enabled: true');
    await line(text, 'model:', 'model: demo/echo');
    await page.getByRole('button', { name: /^Quote/ }).waitFor();
    // Tab indents in a text; after Escape it leads out of it.
    await press('Escape');
    await tabTo(/^Quote/);
    await press('Enter');
    await page.getByRole('complementary', { name: 'Preview' }).getByText(/5 minutes/).waitFor();
    await press('Control+s');
    await toast(/Saved\. Next run/).waitFor();
    expect(await readFile(served.loop('by-hand'), 'utf8')).toMatch(/^schedule: ["']\*\/5 \* \* \* \*["']$/m);
  });
  it('leaves the editor, goes to the tasks, switches and runs', async () => {
    await press('Escape');
    await tabTo('Back', 'Shift+Tab');
    await press('Enter');
    await page.getByRole('complementary', { name: 'by-hand' }).waitFor();
    await press('Escape');
    await page.getByRole('complementary', { name: 'by-hand' }).waitFor({ state: 'detached' });
    await press('j');
    expect((await focused()).name).toBe('by-hand');
    await press('Space');
    await row('by-hand').getByRole('img', { name: 'Off', exact: true }).waitFor();
    expect(await readFile(served.loop('by-hand'), 'utf8')).toContain('enabled: false');
    await press('Space');
    await row('by-hand').getByRole('img', { name: 'Armed' }).waitFor();
    await press('r');
    await row('by-hand').getByText('Succeeded', { exact: true }).waitFor({ state: 'attached', timeout: 20_000 });
  });
  it('reads what a run said', async () => {
    await press('Enter');
    const detail = page.getByRole('complementary', { name: 'by-hand' });
    await detail.getByText('Next runs').waitFor();
    await tabTo(/^Runs$/);
    // The first of that name is the view's own entry.
    if ((await focused()).where.includes('#/runs"')) await tabTo(/^Runs$/);
    await press('Enter');
    await detail.getByRole('button', { name: /Succeeded/ }).first().waitFor();
    await tabTo(/Succeeded/);
    await press('Enter');
    await detail.getByText('What the agent said last').waitFor();
    await press('Escape');
    await detail.waitFor({ state: 'detached' });
    expect((await focused()).name, 'the focus is where it was before').toBe('by-hand');
  });
  it('searches, and comes back', async () => {
    await press('/');
    await page.keyboard.type('nothing like it');
    await page.getByText('No task matches').waitFor();
    await press('Escape');
    await row('by-hand').waitFor();
  });
  it('pauses everything and resumes', async () => {
    await tabTo('Pause everything');
    await press('Enter');
    await page.getByRole('menuitem', { name: 'For 1 hour' }).waitFor();
    await press('ArrowDown', 2);
    await press('Enter');
    await page.getByText(/Everything is paused/).waitFor();
    await tabTo('Resume');
    await press('Enter');
    await page.getByText(/Everything is paused/).waitFor({ state: 'detached' });
  });
  it('deletes a loop after the question, and undoes it', async () => {
    const before = await readFile(served.loop('by-hand'), 'utf8');
    await tabTo('Actions for by-hand');
    await press('Enter');
    await page.getByRole('menuitem', { name: 'Delete' }).waitFor();
    await press('End');
    await press('Enter');
    await page.getByRole('dialog').getByText(served.loop('by-hand')).waitFor();
    await tabTo('Delete');
    await press('Enter');
    await row('by-hand').waitFor({ state: 'detached' });
    await toast('by-hand was deleted').waitFor();
    await press('Alt+t');
    await tabTo('Undo');
    await press('Enter');
    await row('by-hand').waitFor();
    expect(await readFile(served.loop('by-hand'), 'utf8')).toBe(before);
  });
  it('goes to every view, and tells its keys', async () => {
    for (const [key, heading] of [['u', 'Needs you'], ['l', 'Timeline'], ['r', 'Runs'], ['s', 'Settings'], ['t', 'Tasks']] as const) {
      await page.evaluate(() => (document.activeElement as HTMLElement).blur());
      await press('g');
      await press(key);
      await page.getByRole('heading', { name: heading, exact: true, level: 1 }).waitFor();
    }
    await press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(errors).toEqual([]);
  });
});
