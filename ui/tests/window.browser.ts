import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { dist, launch, newPage } from './browser';
import { Fake, type FakeOptions } from './fake/server';

let context: BrowserContext;
let closeBrowser: () => Promise<void>;
let fake: Fake;
let base: string;
let page: Page;
let errors: string[];

beforeAll(async () => {
  ({ context, close: closeBrowser } = await launch());
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
});
afterAll(() => closeBrowser());

async function open(hash = '#/tasks', options: FakeOptions = {}, before?: (page: Page) => Promise<void>): Promise<void> {
  fake = new Fake({ dist, ...options });
  base = await fake.listen();
  page = await newPage(context, fake);
  errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    // A refused call is one of the things that are tested.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) errors.push(message.text());
  });
  await before?.(page);
  await page.goto(`${base}/${hash}`);
}
beforeEach(() => {
  errors = [];
});
afterEach(async () => {
  const violations = fake.violations;
  await page.close();
  await fake.close();
  expect(errors, 'no error may reach the console').toEqual([]);
  expect(violations, 'the page keeps within its own policy').toEqual([]);
});
const digest = '/home/ada/src/alpha/.agents/loops/daily-digest.md';
const editor = (path: string): string => `#/editor?path=${encodeURIComponent(path)}&project=path_alpha`;
const row = (name: string) => page.getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) });
const toast = (text: string | RegExp) => page.locator('[data-sonner-toast]').filter({ hasText: text });
async function retype(line: string, text: string): Promise<void> {
  await page.locator('.cm-line', { hasText: line }).click();
  await page.keyboard.press('Home');
  await page.keyboard.press('Shift+End');
  await page.keyboard.type(text);
}

describe('tasks', () => {
  it('moves, opens, toggles, runs and stops by keyboard alone', async () => {
    await open();
    await row('daily-digest').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('daily');
    await page.keyboard.press('Tab');
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press('j');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('daily-digest');
    await page.keyboard.press('Space');
    await page.getByRole('switch', { name: 'Enable daily-digest' }).waitFor();
    await expect.poll(() => fake.files.get(digest), { message: 'one token of the file changes' }).toContain('enabled: false');
    await page.keyboard.press('r');
    await row('daily-digest').getByText('Running').waitFor();
    await page.keyboard.press('r');
    await page.getByRole('button', { name: 'Run daily-digest now' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: 'daily-digest' }).getByText('Next runs').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('complementary').waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
  it('deletes a loop after naming its file, and brings it back', async () => {
    await open();
    await page.getByRole('button', { name: 'Actions for daily-digest' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(digest).waitFor();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await row('daily-digest').waitFor({ state: 'detached' });
    await toast('daily-digest was deleted').getByRole('button', { name: 'Undo' }).click();
    await row('daily-digest').waitFor();
    expect(fake.files.has(digest)).toBe(true);
  });
  it('closes what showed a task that is deleted, and says so of one that somebody else deleted', async () => {
    await open();
    await row('daily-digest').getByRole('link').click();
    const detail = page.getByRole('complementary', { name: 'daily-digest' });
    await detail.getByRole('button', { name: 'Actions for daily-digest' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await detail.waitFor({ state: 'detached' });
    await row('old-report').getByRole('link').click();
    await page.getByRole('complementary', { name: 'old-report' }).getByText('Prompt').waitFor();
    fake.rows = fake.rows.filter((each) => each.summary.name !== 'old-report');
    fake.emit('tasks_changed');
    await page.getByText('This task is gone').waitFor();
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await page.getByText('This task is gone').waitFor({ state: 'detached' });
  });
  it('answers a permission from the list', async () => {
    await open();
    await row('weekly-audit').getByRole('button', { name: 'Allow once' }).click();
    await row('weekly-audit').getByText('Running').waitFor();
  });
  /** Of each "Allow once" in the list: whether all of what is asked is seen beside it. */
  const allowed = (name = /./): Promise<boolean[]> => page.getByRole('list', { name: 'Task list' }).getByRole('listitem').filter({ has: page.getByRole('link', { name }) }).getByRole('button', { name: 'Allow once' }).evaluateAll((buttons) => buttons.map((button) => {
    const text = button.closest('[role="listitem"]')?.querySelector<HTMLElement>('code');
    const around = text?.parentElement;
    return text != null && around != null && text.checkVisibility() && text.offsetWidth > 0 && around.scrollWidth <= around.clientWidth;
  }));
  it('offers to allow in a row only what is seen there, and leads to it elsewhere', async () => {
    await open();
    const audit = row('weekly-audit');
    const detail = page.getByRole('complementary', { name: 'weekly-audit' });
    await audit.getByRole('button', { name: 'Allow once' }).waitFor();
    expect(await allowed(), 'a window with room').toEqual([true]);
    expect(await row('translate-docs').getByRole('button', { name: 'Answer translate-docs' }).count(), 'a question has no short answer').toBe(1);
    // Beside a task's details the list is narrow.
    await row('daily-digest').getByRole('link').click();
    await audit.getByRole('button', { name: 'Answer weekly-audit' }).click();
    await detail.getByText('bash: npm audit fix --package-lock-only').waitFor();
    expect(await allowed(), 'beside the details').toEqual([]);
    expect(await audit.getByRole('button', { name: 'Deny' }).count()).toBe(0);
    await page.keyboard.press('Escape');
    await detail.waitFor({ state: 'detached' });
    await expect.poll(allowed, { message: 'with room again' }).toEqual([true]);
    for (const width of [1280, 1000, 860, 721, 720, 390]) {
      await page.setViewportSize({ width, height: 780 });
      const ways = audit.getByRole('button', { name: /^(Allow once|Answer weekly-audit)$/ });
      await expect.poll(() => ways.count(), { message: `one way at ${width}` }).toBe(1);
      await expect.poll(async () => (await allowed()).every(Boolean), { message: `at ${width}` }).toBe(true);
    }
    expect(await allowed(), 'on a phone').toEqual([]);
    await audit.getByRole('button', { name: 'Answer weekly-audit' }).focus();
    await page.keyboard.press('Enter');
    await detail.getByText('bash: npm audit fix --package-lock-only').waitFor();
    await detail.getByRole('button', { name: 'Allow once' }).click();
    await detail.getByRole('button', { name: 'Allow once' }).waitFor({ state: 'detached' });
  });
  it('does not offer to allow a command that is cut, or that one line would draw otherwise', async () => {
    await open('#/tasks', { long: true });
    const long = (): Promise<boolean[]> => allowed(/^asks-for-something/);
    const answer = page.getByRole('button', { name: /^Answer asks-for-something/ });
    await answer.waitFor();
    expect(await long()).toEqual([]);
    const ask = [...fake.asks.values()].flat().find((each) => each.id === 'per_9');
    const say = async (text: string): Promise<void> => {
      if (ask) ask.text = text;
      fake.emit('tasks_changed');
      await page.getByTitle(text, { exact: true }).waitFor();
    };
    await say('bash: ls');
    await expect.poll(long, { message: 'a short one' }).toEqual([true]);
    await say('bash: ls\nrm notes');
    await answer.waitFor();
    expect(await long(), 'a second line').toEqual([]);
    await say('bash: ls -a');
    await expect.poll(long, { message: 'a short one again' }).toEqual([true]);
    await say(`bash: ${'ls -a && '.repeat(40)}rm notes`);
    await answer.waitFor();
    expect(await long(), 'a long one').toEqual([]);
  });
  it('filters and searches', async () => {
    await open();
    await page.getByRole('radio', { name: /Blocked/ }).click();
    await row('translate-docs').waitFor();
    expect(await page.getByRole('listitem').filter({ has: page.getByRole('switch') }).count()).toBe(2);
    await page.getByRole('searchbox').fill('audit');
    await row('translate-docs').waitFor({ state: 'detached' });
  });
  it('scrolls a thousand tasks, drawing only what is seen', async () => {
    await open('#/tasks', { many: 1000 });
    await page.getByText('1,014 tasks').waitFor();
    const list = page.getByRole('list', { name: 'Task list' });
    const worst = await list.evaluate(async (box) => {
      let worst = 0;
      let last = performance.now();
      for (let n = 0; n < 60; n += 1) {
        box.scrollTop += 640;
        await new Promise((resolve) => requestAnimationFrame(resolve));
        const now = performance.now();
        worst = Math.max(worst, now - last);
        last = now;
      }
      return worst;
    });
    console.log(`1,014 tasks: slowest of 60 frames while scrolling ${worst.toFixed(0)} ms`);
    expect(await page.getByRole('switch').count(), 'rows out of sight are not in the document').toBeLessThan(60);
    await page.keyboard.press('k');
    await page.keyboard.press('k');
    expect(await list.getByRole('listitem').last().getAttribute('aria-setsize')).toBe('1014');
  });
});

describe('the editor', () => {
  it('underlines, fixes, previews and saves', async () => {
    await open(editor(digest));
    await page.locator('.cm-content').waitFor();
    await retype('schedule', 'schedule: */30 * * * *');
    await page.getByRole('button', { name: 'Quote it' }).click();
    await page.getByText('Every 30 minutes').waitFor();
    await page.keyboard.press('Control+s');
    await toast(/Saved\. Next run/).waitFor();
    expect(fake.files.get(digest)).toContain('schedule: "*/30 * * * *"\n');
  });
  it('saves a malformed text, and says what stays armed', async () => {
    await open(editor(digest));
    await page.locator('.cm-content').waitFor();
    await retype('model:', 'modle: x');
    await page.getByText('model is missing').waitFor();
    await page.keyboard.press('Control+s');
    await toast('last good definition stays armed').waitFor();
  });
  it('shows both versions when the file changed meanwhile, and loses neither', async () => {
    await open(editor(digest));
    await page.locator('.cm-content').waitFor();
    await retype('Summarize what changed', 'My sentence.');
    fake.write(digest, (fake.files.get(digest) ?? '').replace('Group by area', 'Their words'));
    await page.getByText('The file changed on disk while you were editing').waitFor();
    await page.keyboard.press('Control+s');
    await page.getByText('Left: the file on disk').waitFor();
    await page.locator('.cm-merge-a', { hasText: 'Their words' }).waitFor();
    await page.locator('.cm-merge-b', { hasText: 'My sentence.' }).waitFor();
    expect(fake.files.get(digest), 'nothing is written before somebody chose').toContain('Their words');
    await page.getByRole('button', { name: 'Save my text' }).click();
    await toast(/Saved/).waitFor();
    expect(fake.files.get(digest)).toContain('My sentence.');
  });
  it('shows them in one column on a phone, merges there, and loses nothing when the window changes its width', async () => {
    await open(editor(digest), {}, (fresh) => fresh.setViewportSize({ width: 390, height: 780 }));
    await page.locator('.cm-content').waitFor();
    // Of a line that is broken, Home goes to the beginning of the piece: so its first one is clicked.
    const begin = { position: { x: 30, y: 8 } };
    await page.locator('.cm-line', { hasText: 'Summarize what changed' }).click(begin);
    await page.keyboard.press('Home');
    await page.keyboard.type('My sentence. ');
    fake.write(digest, (fake.files.get(digest) ?? '').replace('0 9 * * *', '0 7 * * *'));
    await page.getByText('The file changed on disk while you were editing').waitFor();
    await page.keyboard.press('Control+s');
    await page.getByText('above each difference').waitFor();
    const merge = page.locator('.merge');
    const mine = merge.locator('.cm-merge-b .cm-line');
    const theirs = merge.locator('.cm-deletedChunk');
    await theirs.filter({ hasText: '0 7 * * *' }).waitFor();
    await mine.filter({ hasText: 'My sentence.' }).waitFor();
    expect(await merge.locator('.cm-editor').count(), 'one column holds both').toBe(1);
    expect((await mine.first().boundingBox())?.width, 'it has the width of the window').toBeGreaterThan(320);
    await mine.filter({ hasText: 'My sentence.' }).click(begin);
    await page.keyboard.press('Home');
    await page.keyboard.type('More. ');

    await page.setViewportSize({ width: 1280, height: 820 });
    await page.getByText('Left: the file on disk').waitFor();
    await merge.locator('.cm-merge-a', { hasText: '0 7 * * *' }).waitFor();
    await mine.filter({ hasText: 'More. My sentence. Summarize' }).waitFor();
    await page.setViewportSize({ width: 390, height: 780 });
    await theirs.filter({ hasText: '0 7 * * *' }).waitFor();
    await page.keyboard.press('Control+z');
    await mine.filter({ hasText: /^My sentence\. Summarize/ }).waitFor();

    await theirs.filter({ hasText: '0 7 * * *' }).getByRole('button', { name: 'Take over' }).click();
    await theirs.filter({ hasText: '0 7 * * *' }).waitFor({ state: 'detached' });
    await mine.filter({ hasText: '0 7 * * *' }).waitFor();
    const refused = page.waitForResponse((response) => response.request().method() === 'PUT');
    await page.keyboard.press('Control+s');
    expect((await refused).status(), 'nothing is written before somebody chose').toBe(412);
    await mine.filter({ hasText: '0 7 * * *' }).waitFor();
    await page.getByRole('button', { name: 'Save my text' }).click();
    await toast(/Saved/).waitFor();
    expect(fake.files.get(digest)).toContain('0 7 * * *');
    expect(fake.files.get(digest)).toContain('My sentence.');
  });
  it('goes back to the editor with what was merged, and can undo that the file was taken', async () => {
    await open(editor(digest));
    await page.locator('.cm-content').waitFor();
    await retype('Summarize what changed', 'My sentence.');
    fake.write(digest, (fake.files.get(digest) ?? '').replace('0 9 * * *', '0 7 * * *'));
    await page.getByText('The file changed on disk while you were editing').waitFor();
    await page.keyboard.press('Control+s');
    const mine = page.locator('.cm-merge-b .cm-line');
    await mine.filter({ hasText: 'My sentence.' }).waitFor();
    await page.getByRole('button', { name: 'Take over' }).first().focus();
    await page.keyboard.press('Enter');
    await mine.filter({ hasText: '0 7 * * *' }).waitFor();
    await page.getByRole('button', { name: 'Keep editing' }).click();
    const line = page.locator('.panes .cm-line').filter({ visible: true });
    await line.filter({ hasText: '0 7 * * *' }).waitFor();
    await line.filter({ hasText: 'My sentence.' }).waitFor();
    await page.keyboard.press('Control+s');
    await page.getByRole('button', { name: 'Take the file on disk' }).click();
    await line.filter({ hasText: 'Summarize what changed' }).waitFor();
    await page.keyboard.press('Control+z');
    await line.filter({ hasText: 'My sentence.' }).waitFor();
    await page.keyboard.press('Control+s');
    await toast(/Saved/).waitFor();
    expect(fake.files.get(digest)).toContain('My sentence.');
  });
  it('asks before unsaved text is left', async () => {
    await open(editor(digest));
    await page.locator('.cm-content').waitFor();
    await retype('Summarize what changed', 'Unsaved.');
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Keep editing' }).click();
    await page.locator('.cm-line', { hasText: 'Unsaved.' }).waitFor();
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save and leave' }).click();
    await page.getByRole('region', { name: 'Runs' }).waitFor();
    expect(fake.files.get(digest)).toContain('Unsaved.');
  });
  it('takes a change on disk by itself while nothing was typed', async () => {
    await open(editor(digest));
    await page.locator('.cm-content').waitFor();
    fake.write(digest, (fake.files.get(digest) ?? '').replace('Group by area', 'Their words'));
    await page.locator('.cm-line', { hasText: 'Their words' }).waitFor();
  });
  it('makes a new loop from the template', async () => {
    await open();
    await row('daily-digest').waitFor();
    await page.keyboard.press('n');
    await page.getByLabel('Name').fill('fresh-loop');
    await page.getByRole('button', { name: 'Create loop' }).click();
    await page.locator('.cm-line', { hasText: 'name: fresh-loop' }).waitFor();
    await page.getByText('Not enabled: it runs only by hand').waitFor();
  });
});

describe('the form', () => {
  it('makes a weekly task, with errors at their fields', async () => {
    await open('#/task-form');
    await page.getByRole('button', { name: 'Create task' }).click();
    await page.getByText('Give it a name.').waitFor();
    await page.getByLabel('Name').fill('press-review');
    await page.getByRole('radio', { name: 'Weekly' }).click();
    await page.getByRole('button', { name: 'Sat' }).click();
    await page.getByLabel('Add time').fill('730');
    await page.getByLabel('Add time').press('Enter');
    await page.getByRole('button', { name: 'Remove 07:30' }).waitFor();
    await page.getByLabel('Prompt').fill('/rev');
    await page.getByRole('option', { name: /review/ }).waitFor();
    await page.keyboard.press('Enter');
    expect(await page.getByLabel('Prompt').inputValue()).toBe('/review ');
    await page.getByLabel('Model').fill('opus');
    await page.getByRole('option', { name: 'anthropic/claude-opus-4-5' }).click();
    await page.getByRole('button', { name: 'Create task' }).click();
    await page.getByRole('complementary', { name: 'press-review' }).waitFor();
    const sent = fake.calls.find((call) => call.method === 'PUT')?.body as { task: { schedule: unknown; execution: unknown } };
    expect(sent.task.schedule).toMatchObject({ kind: 'weekly', times: ['07:30', '09:00'], weekdays: [1, 2, 3, 4, 5, 6] });
    expect(sent.task.execution).toMatchObject({ providerID: 'anthropic', modelID: 'claude-opus-4-5' });
  });
  it('says at the field what the engine refuses', async () => {
    await open('#/task-form/path_beta/task-changelog-draft');
    await page.getByRole('radio', { name: 'Cron' }).click();
    await page.getByLabel('Expression').fill('0 9 * *');
    await page.getByText('A cron expression has five fields').first().waitFor();
  });
});

describe('what needs somebody', () => {
  it('is answered, approved with its difference seen, dismissed', async () => {
    await open('#/needs');
    await page.getByRole('article', { name: 'translate-docs' }).getByRole('button', { name: 'Zeitplan' }).click();
    await page.getByRole('article', { name: 'translate-docs' }).waitFor({ state: 'detached' });
    const approval = page.getByRole('article', { name: 'dependency-updates' });
    await approval.getByRole('button', { name: 'Show what changed' }).click();
    await approval.getByText('Keep it short.').waitFor();
    const hidden = await approval.locator('.diff').evaluate((diff) => [...diff.querySelectorAll('.sign')].filter((sign) => {
      const text = document.createRange();
      text.selectNodeContents(sign);
      return text.getBoundingClientRect().left < diff.getBoundingClientRect().left;
    }).length);
    expect(hidden, 'each sign is whole, none reaches beyond the edge').toBe(0);
    await approval.getByRole('button', { name: 'Approve' }).click();
    await approval.waitFor({ state: 'detached' });
    const failed = page.getByRole('article', { name: 'check-links' }).filter({ hasText: 'Failed' });
    await failed.getByRole('button', { name: /Dismiss/ }).click();
    await failed.waitFor({ state: 'detached' });
  });
  it('is gone through by keyboard, card by card', async () => {
    await open('#/needs');
    await page.getByRole('article', { name: 'weekly-audit' }).waitFor();
    const at = (): Promise<string | null | undefined> => page.evaluate(() => document.activeElement?.closest('article')?.querySelector('h2')?.textContent);
    await page.keyboard.press('j');
    expect(await at()).toBe('weekly-audit');
    await page.keyboard.press('j');
    expect(await at()).toBe('translate-docs');
    await page.keyboard.press('k');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('article', { name: 'weekly-audit' }).waitFor({ state: 'detached' });
  });
  it('keeps a persist error on the screen until it is dismissed', async () => {
    await open();
    await row('triage-inbox').waitFor();
    const run = fake.runs.find((each) => each.taskName === 'triage-inbox' && each.status === 'running');
    if (!run) throw new Error('the sample has a running task');
    fake.finish(run, 'succeeded', { persistError: 'The project file is locked by another program.' });
    const warning = toast('its end could not be written');
    await warning.getByText('locked by another program').waitFor();
    await page.getByRole('link', { name: 'Runs' }).click();
    await warning.waitFor();
    await warning.getByRole('button', { name: /close/i }).click();
    await warning.waitFor({ state: 'detached' });
  });
  it('says so when there is nothing', async () => {
    await open('#/needs', { calm: true });
    await page.getByText('Nothing needs you').waitFor();
    await page.getByText(/^Next: /).waitFor();
  });
});

describe('the whole', () => {
  it('pauses everything, shows it everywhere, and resumes', async () => {
    await open();
    await page.getByRole('button', { name: 'Pause everything' }).click();
    await page.getByRole('menuitem', { name: 'For 1 hour' }).click();
    await page.getByText(/Everything is paused until/).waitFor();
    await row('check-links').getByText('paused', { exact: true }).waitFor();
    expect(await row('daily-digest').getByText('paused', { exact: true }).count(), 'it is due when the pause is over').toBe(0);
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.getByText(/Everything is paused until/).waitFor();
    await page.getByRole('button', { name: 'Resume' }).first().click();
    await page.getByText(/Everything is paused until/).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Tasks' }).click();
    await row('check-links').getByText(/^in \d+ min$/).waitFor();
  });
  it('heals a lost connection by itself, and reads again what it missed', async () => {
    await open();
    await row('daily-digest').waitFor();
    const port = Number(new URL(base).port);
    await fake.close();
    await page.getByText('The connection to Loopkeeper is lost').waitFor();
    fake.rows = fake.rows.filter((each) => each.summary.name !== 'old-report');
    await fake.listen(port);
    await page.getByText('The connection to Loopkeeper is lost').waitFor({ state: 'detached', timeout: 20_000 });
    await row('old-report').waitFor({ state: 'detached' });
    errors = errors.filter((error) => !error.includes('ERR_'));
  });
  it('says so when a part of the page is no longer there, as after an update', async () => {
    await open();
    await row('daily-digest').waitFor();
    await page.route('**/assets/SettingsView-*.js', (route) => route.fulfill({ status: 404, body: '' }));
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByText('This part of the page could not be loaded').waitFor();
    await page.unroute('**/assets/SettingsView-*.js');
    await page.getByRole('button', { name: 'Load the page anew' }).click();
    await page.getByText('Latest start').waitFor();
  });
  it('starts with nothing: adds a project, or opens the sample', async () => {
    await open('#/tasks', { empty: true });
    await page.getByRole('button', { name: 'Add a project' }).click();
    await page.getByLabel('Folder').fill('relative');
    await page.getByRole('dialog').getByRole('button', { name: 'Add project' }).click();
    await page.getByText('is not an absolute path').waitFor();
    await page.getByLabel('Folder').fill('/home/ada/src/new');
    await page.getByRole('dialog').getByRole('button', { name: 'Add project' }).click();
    await page.getByText('No tasks yet').waitFor();
  });
  it('goes from the timeline and the history to a run', async () => {
    await open('#/timeline');
    await page.locator('.mark').first().click();
    await page.getByText('Steps').waitFor();
    expect(page.url()).toContain('#/runs/');
  });
  it('marks on the timeline what never ran, pauses and clock changes', async () => {
    // In Berlin the clock goes forward on that Sunday.
    const now = Date.UTC(2027, 2, 28, 12, 18);
    await open('#/timeline', { now }, async (fresh) => {
      const session = await context.newCDPSession(fresh);
      await session.send('Emulation.setTimezoneOverride', { timezoneId: 'Europe/Berlin' });
    });
    await page.locator('.change').getByText('Clock change').waitFor();
    await page.getByRole('group', { name: 'Runs of log-anomalies' }).getByRole('link', { name: /^Skipped/ }).first().waitFor();
    await page.getByRole('radio', { name: 'Week' }).click();
    await page.getByRole('group', { name: 'Runs of certificate-expiry' }).getByRole('link', { name: /^Missed \(3 slots\).*asleep/ }).first().waitFor();
    await page.locator('.pause').getByText('Paused').waitFor();
    await page.getByRole('button', { name: 'Later' }).click();
    await page.locator('.change').waitFor({ state: 'detached' });
    // The week to come has coming runs.
    await page.locator('.slot').nth(5).waitFor();
  });
  it('narrows the lists to a project, on a phone too', async () => {
    await open('#/tasks', {}, (fresh) => fresh.setViewportSize({ width: 390, height: 780 }));
    await row('check-links').waitFor();
    await page.getByRole('button', { name: 'Project: all' }).click();
    await page.getByRole('menuitem', { name: /^infra/ }).click();
    await row('check-links').waitFor({ state: 'detached' });
    await row('log-anomalies').waitFor();
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('button', { name: 'Project: infra' }).waitFor();
    await page.getByRole('list', { name: 'Run list' }).getByText('log-anomalies').first().waitFor();
    expect(await page.getByRole('list', { name: 'Run list' }).getByText('triage-inbox').count()).toBe(0);
    await page.evaluate(() => localStorage.clear());
  });
  it('tells the whole instant of a relative time that is pointed at, in both zones', async () => {
    await open();
    await row('daily-digest').locator('time').first().hover();
    const tip = page.locator('.tip');
    await tip.waitFor();
    expect((await tip.textContent())?.split('\n').length, 'the machine’s zone, and the task’s').toBe(2);
    await page.keyboard.press('Shift');
    await tip.waitFor({ state: 'hidden' });
  });
  it('shows the log, and copies a report without an address that could hold a key', async () => {
    await open('#/settings');
    await page.getByLabel('OpenCode log', { exact: true }).getByText('daily-digest 09:00 lost').waitFor();
    fake.settings['signal'] = { url: 'https://ping.example/secret' };
    await page.reload();
    await page.getByText('1,204 runs').waitFor();
    await page.getByRole('button', { name: 'Copy report' }).click();
    await toast('The report was copied').waitFor();
    const report = await page.evaluate(() => navigator.clipboard.readText());
    expect(report).toContain('[warning] watching');
    expect(report).toContain('"catch_up"');
    expect(report).not.toContain('secret');
  });
  it('asks before a page with unsaved text is closed', async () => {
    await open(editor(digest));
    await page.locator('.cm-content').waitFor();
    await retype('Summarize what changed', 'Unsaved.');
    const asked = page.waitForEvent('dialog');
    const left = page.evaluate(() => { location.href = 'about:blank'; });
    const dialog = await asked;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.dismiss();
    await left;
    await page.locator('.cm-line', { hasText: 'Unsaved.' }).waitFor();
    // So that the page can be closed.
    await page.keyboard.press('Control+s');
    await toast(/Saved/).waitFor();
  });
  it('keeps settings, and refuses what cannot be', async () => {
    await open('#/settings');
    await page.getByLabel('Time limit').fill('soon');
    await page.getByLabel('Time limit').press('Enter');
    await page.getByText('A duration such as').waitFor();
    await page.getByLabel('Time limit').fill('20m');
    await page.getByLabel('Time limit').press('Enter');
    await toast('Saved').waitFor();
    expect(fake.settings['runs']?.['timeout']).toBe('20m');
  });
  it('shows content soon after opening', async () => {
    await open();
    await row('daily-digest').waitFor();
    await page.close();
    page = await newPage(context, fake);
    const started = performance.now();
    await page.goto(`${base}/#/tasks`, { waitUntil: 'commit' });
    await row('daily-digest').waitFor();
    const took = performance.now() - started;
    console.log(`opening to content: ${took.toFixed(0)} ms`);
  });
});
