// `npm run shots`: a picture of each view, light and dark, wide and narrow, into the git-ignored folder `screenshots/`.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { runnerImport } from 'vite';

const only = process.argv.slice(2);
const { module } = await runnerImport(new URL('./fake/server.ts', import.meta.url).pathname);
const dist = new URL('../dist', import.meta.url).pathname;
const out = new URL('../screenshots/', import.meta.url).pathname;
await mkdir(out, { recursive: true });
const profile = await mkdtemp(join(tmpdir(), 'shots-'));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: '/usr/bin/chromium', headless: true, viewport: { width: 1280, height: 820 },
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const now = module.TUESDAY;
// Each picture has a server of its own: what one does is not seen in the next.
const kinds = { full: {}, calm: { calm: true }, empty: { empty: true }, long: { long: true }, many: { many: 1000 }, bare: { bare: true } };
const alpha = '/home/ada/src/alpha/.agents/loops/daily-digest.md';
const shots = {
  tasks: ['full', '#/tasks'],
  detail: ['full', '#/tasks/path_alpha/loop%3Aproject%3Adaily-digest'],
  'detail-blocked': ['full', '#/tasks/path_alpha/loop%3Aproject%3Aweekly-audit'],
  'detail-approval': ['full', '#/tasks/path_infra/loop%3Aproject%3Adependency-updates', async (page) => page.getByRole('button', { name: 'Show what changed' }).click()],
  'detail-runs': ['full', '#/tasks/path_infra/loop%3Aproject%3Adependency-updates/runs', async (page) => page.locator('.detail li button').nth(1).click()],
  editor: ['full', `#/editor?path=${encodeURIComponent(alpha)}&project=path_alpha`, async (page) => page.waitForSelector('.cm-content')],
  'editor-broken': ['full', `#/editor?path=${encodeURIComponent('/home/ada/src/infra/.agents/loops/log-anomalies.md')}`, async (page) => {
    await page.waitForSelector('.cm-content');
    await page.locator('.cm-line', { hasText: 'schedule' }).click();
    await page.keyboard.press('Home');
    await page.keyboard.press('Shift+End');
    await page.keyboard.type('schedule: */30 * * * *');
    await page.locator('.cm-line', { hasText: 'enabled' }).click();
    await page.keyboard.press('Home');
    await page.keyboard.press('Shift+End');
    await page.keyboard.type('enabled: yes');
    await page.keyboard.press('Escape');
    await page.waitForTimeout(600);
  }],
  'new-loop': ['full', '#/new-loop'],
  form: ['full', '#/task-form/path_beta/task-changelog-draft'],
  timeline: ['full', '#/timeline'],
  'timeline-week': ['full', '#/timeline', async (page) => { await page.getByRole('radio', { name: 'Week' }).click(); await page.waitForTimeout(300); }],
  runs: ['full', '#/runs'],
  'runs-detail': ['full', '#/runs', async (page) => { await page.locator('.row').nth(6).click(); }],
  needs: ['full', '#/needs', async (page) => { await page.getByRole('button', { name: 'Show what changed' }).click(); }],
  'needs-empty': ['calm', '#/needs'],
  settings: ['full', '#/settings'],
  start: ['empty', '#/tasks'],
  conflict: ['full', `#/editor?path=${encodeURIComponent(alpha)}&project=path_alpha`, async (page, fake) => {
    await page.waitForSelector('.cm-content');
    await page.locator('.cm-line', { hasText: 'Summarize' }).click();
    await page.keyboard.press('End');
    await page.keyboard.type(' Name the authors.');
    fake.write(alpha, fake.files.get(alpha).replace('under 200 words', 'under 120 words, in English'));
    await page.getByText('while you were editing').waitFor();
    await page.keyboard.press('Control+s');
    await page.waitForSelector('.cm-merge-b');
  }],
  menu: ['full', '#/tasks', async (page) => { await page.getByRole('button', { name: 'Actions for triage-inbox' }).click(); }],
  'delete-dialog': ['full', '#/tasks', async (page) => { await page.getByRole('button', { name: 'Actions for standup-notes' }).click(); await page.getByRole('menuitem', { name: 'Delete' }).click(); }],
  toasts: ['full', '#/tasks', async (page, fake) => {
    await page.getByRole('button', { name: 'Actions for check-links' }).click();
    await page.getByRole('menuitem', { name: 'Run now' }).click();
    await page.getByText('check-links started').waitFor();
    const run = fake.runs.findLast((each) => each.taskName === 'check-links');
    fake.finish(run, 'succeeded', { persistError: 'The project file is locked by another program (pid 4211).' });
    await page.getByText('its end could not be written').waitFor();
  }],
  'form-policy': ['full', '#/task-form/path_beta/task-changelog-draft', async (page) => { await page.getByText('More', { exact: true }).click(); await page.getByText('Own worktree').scrollIntoViewIfNeeded(); }],
  'form-errors': ['full', '#/task-form', async (page) => { await page.getByRole('button', { name: 'Create task' }).click(); await page.getByText('Give it a name.').waitFor(); }],
  'settings-command': ['full', '#/settings', async (page) => { await page.getByRole('button', { name: 'Add command' }).click(); await page.getByRole('button', { name: 'Codex' }).click(); }],
  'settings-end': ['full', '#/settings', async (page) => { await page.getByRole('button', { name: 'Copy report' }).scrollIntoViewIfNeeded(); }],
  'settings-deleted': ['full', '#/tasks', async (page) => {
    await page.getByRole('button', { name: 'Actions for old-report' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('old-report was deleted').waitFor();
    await page.evaluate(() => { location.hash = '#/settings'; });
    await page.getByRole('button', { name: 'Bring old-report back' }).scrollIntoViewIfNeeded();
  }],
  'tasks-long': ['long', '#/tasks'],
  'needs-long': ['long', '#/needs'],
  'runs-long': ['long', '#/runs'],
  'detail-long': ['long', '#/tasks', async (page) => { await page.getByRole('link', { name: /^summarize-every/ }).click(); await page.getByText('Last 30 days').waitFor(); }],
  'tasks-many': ['many', '#/tasks'],
  'timeline-many': ['many', '#/timeline'],
  'tasks-bare': ['bare', '#/tasks'],
  'runs-bare': ['bare', '#/runs'],
  'timeline-bare': ['bare', '#/timeline'],
  lost: ['full', '#/tasks', async (page, fake) => { await fake.close(); await page.getByText('The connection to Loopkeeper is lost').waitFor(); }],
  leave: ['full', `#/editor?path=${encodeURIComponent(alpha)}&project=path_alpha`, async (page) => {
    await page.waitForSelector('.cm-content');
    await page.locator('.cm-line', { hasText: 'Summarize' }).click();
    await page.keyboard.type('x');
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('dialog').waitFor();
  }],
  combo: ['full', '#/task-form/path_beta/task-changelog-draft', async (page) => { await page.getByLabel('Model').click(); await page.keyboard.press('ArrowDown'); }],
  keys: ['full', '#/tasks', async (page) => { await page.keyboard.press('?'); }],
  paused: ['full', '#/timeline', async (page) => { await page.getByRole('button', { name: 'Pause everything' }).click(); await page.getByRole('menuitem', { name: 'For 1 hour' }).click(); await page.waitForTimeout(400); await page.getByRole('button', { name: 'Resume' }).first().waitFor(); }],
  'tasks-paused': ['full', '#/tasks', async (page) => { await page.getByRole('button', { name: 'Pause everything' }).click(); await page.getByRole('menuitem', { name: 'For 1 hour' }).click(); await page.getByRole('button', { name: 'Resume' }).first().waitFor(); }],
};
// Only where the side bar has no room for the projects.
const narrowOnly = { picker: ['full', '#/tasks', async (page) => { await page.getByRole('button', { name: 'Project: all' }).click(); }] };
const sizes = { wide: { width: 1280, height: 820 }, narrow: { width: 390, height: 780 }, large: { width: 1720, height: 1000 } };
const reports = new Set();
for (const [name, [kind, hash, act]] of [...Object.entries(shots), ...Object.entries(narrowOnly)]) {
  if (only.length > 0 && !only.includes(name)) continue;
  for (const scheme of ['light', 'dark']) {
    for (const size of name in narrowOnly ? ['narrow'] : ['wide', 'narrow', ...(process.env.LARGE ? ['large'] : [])]) {
      const fake = new module.Fake({ dist, now, ...kinds[kind] });
      const url = await fake.listen();
      const page = await browser.newPage();
      page.setDefaultTimeout(8000);
      page.on('pageerror', (error) => console.error(name, 'pageerror', error.message));
      // A refused save and a server that is gone are what some of the pictures show.
      page.on('console', (message) => { if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) console.error(name, message.text()); });
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
      await page.setViewportSize(sizes[size]);
      await page.clock.setFixedTime(now);
      await page.addInitScript(() => localStorage.clear());
      await page.goto(`${url}/${hash}`);
      await page.waitForTimeout(500);
      try {
        if (act) await act(page, fake);
      } catch (error) {
        console.error(name, size, String(error).split('\n')[0]);
        process.exitCode = 1;
      }
      await page.waitForTimeout(250);
      await page.screenshot({ path: `${out}${name}-${scheme}-${size}.png` });
      await page.close();
      for (const text of fake.violations) {
        const report = JSON.parse(text)['csp-report'];
        reports.add(`${name}: ${report['effective-directive']} ${report['blocked-uri']} ${report['source-file'] ?? ''}:${report['line-number'] ?? ''}`);
      }
      await fake.close();
    }
  }
}
if (reports.size > 0) console.error('policy violations:', [...reports]);
await browser.close();
await rm(profile, { recursive: true, force: true });
