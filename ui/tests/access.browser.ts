import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dist, grave, launch, newPage } from './browser';
import { Fake, type FakeOptions } from './fake/server';

const digest = '/home/ada/src/alpha/.agents/loops/daily-digest.md';
const editor = `#/editor?path=${encodeURIComponent(digest)}&project=path_alpha`;
const sizes = { wide: { width: 1280, height: 820 }, narrow: { width: 390, height: 780 } };
type Act = (page: Page, fake: Fake) => Promise<void>;

/** Every view, and what opens over them: light and dark, wide and narrow. */
describe('axe finds nothing grave, and nothing is cut off', () => {
  let context: BrowserContext;
  let closeBrowser: () => Promise<void>;
  beforeAll(async () => {
    ({ context, close: closeBrowser } = await launch());
  });
  afterAll(() => closeBrowser());

  const places: [name: string, hash: string, seen: string | RegExp, options?: FakeOptions, act?: Act][] = [
    ['tasks', '#/tasks', 'daily-digest'],
    ['tasks with long names', '#/tasks', /^summarize-every/, { long: true }],
    ['an empty project', '#/tasks', 'No tasks yet', { bare: true }],
    ['detail', '#/tasks/path_alpha/loop%3Aproject%3Aweekly-audit', 'Next runs'],
    ['detail that waits for approval', '#/tasks/path_infra/loop%3Aproject%3Adependency-updates', 'Next runs', {}, async (page) => page.getByRole('button', { name: 'Show what changed' }).click()],
    ['runs of a task', '#/tasks/path_infra/loop%3Aproject%3Adependency-updates/runs', /Yesterday|Today/, {}, async (page) => page.locator('.detail li button').nth(1).click()],
    ['editor', editor, 'name:'],
    ['editor with a conflict', editor, 'name:', {}, async (page, fake) => {
      await page.locator('.cm-line', { hasText: 'Summarize' }).click();
      await page.keyboard.type('Mine. ');
      fake.write(digest, (fake.files.get(digest) ?? '').replace('Group by area', 'Their words'));
      await page.getByText('while you were editing').waitFor();
      await page.keyboard.press('Control+s');
      await page.locator('.cm-merge-b', { hasText: 'Mine.' }).waitFor();
      await page.getByRole('button', { name: 'Take over' }).first().waitFor();
    }],
    ['new loop', '#/new-loop', 'Where'],
    ['form', '#/task-form/path_beta/task-changelog-draft', '16:00', {}, async (page) => page.getByText('More', { exact: true }).click()],
    ['form with errors', '#/task-form', 'Next runs', {}, async (page) => { await page.getByRole('button', { name: 'Create task' }).click(); await page.getByText('Give it a name.').waitFor(); }],
    ['form with its models open', '#/task-form/path_beta/task-changelog-draft', '16:00', {}, async (page) => { await page.getByLabel('Model').click(); await page.locator('.combo [role="option"]').first().waitFor(); }],
    ['timeline', '#/timeline', 'daily-digest'],
    ['runs', '#/runs', 'triage-inbox'],
    ['a run', '#/runs/3', 'Steps'],
    ['needs', '#/needs', 'translate-docs'],
    ['nothing needed', '#/needs', 'Nothing needs you', { calm: true }],
    ['settings', '#/settings', 'Latest start', {}, async (page) => page.getByRole('button', { name: 'Add command' }).click()],
    ['first start', '#/tasks', 'Open the sample', { empty: true }],
    ['a menu', '#/tasks', 'daily-digest', {}, async (page) => { await page.getByRole('button', { name: 'Actions for daily-digest' }).click(); await page.getByRole('menuitem').first().waitFor(); }],
    ['a question', '#/tasks', 'daily-digest', {}, async (page) => { await page.getByRole('button', { name: 'Actions for standup-notes' }).click(); await page.getByRole('menuitem', { name: 'Delete' }).click(); await page.getByRole('dialog').waitFor(); }],
    ['the keys', '#/tasks', 'daily-digest', {}, async (page) => { await page.keyboard.press('?'); await page.getByRole('dialog').waitFor(); }],
    ['a lost connection', '#/tasks', 'daily-digest', {}, async (page, fake) => { await fake.close(); await page.getByText('The connection to Loopkeeper is lost').waitFor(); }],
    ['a pause, and a message', '#/tasks', 'daily-digest', {}, async (page, fake) => {
      await page.getByRole('button', { name: 'Pause everything' }).click();
      await page.getByRole('menuitem', { name: 'Until I resume' }).click();
      await page.getByText('Everything is paused until you resume.').waitFor();
      const run = fake.runs.find((each) => each.taskName === 'triage-inbox' && each.status === 'running');
      if (run) fake.finish(run, 'succeeded', { persistError: 'The project file is locked by another program.' });
      await page.getByText('its end could not be written').waitFor();
    }],
  ];
  for (const [name, hash, seen, options, act] of places) {
    it(name, async () => {
      for (const size of ['wide', 'narrow'] as const) {
        const fake = new Fake({ dist, ...options });
        const base = await fake.listen();
        const page = await newPage(context, fake);
        await page.setViewportSize(sizes[size]);
        await page.goto(`${base}/${hash}`);
        // Of two views side by side a phone shows one.
        await page.getByText(seen).filter({ visible: true }).first().waitFor();
        await act?.(page, fake);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          expect(await grave(page), `${size}, ${colorScheme}`).toEqual([]);
        }
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(wider, `nothing reaches beyond the window when it is ${size}`).toBeLessThanOrEqual(0);
        await page.close();
        await fake.close();
      }
    });
  }
});
