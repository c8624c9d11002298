// `npm run shots`: a picture of each view, light and dark, wide and narrow, into the git-ignored folder `screenshots/`.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { runnerImport } from 'vite';

const only = process.argv.slice(2);
const { module } = await runnerImport(new URL('./fake-server.ts', import.meta.url).pathname);
const dist = new URL('../dist', import.meta.url).pathname;
const out = new URL('../screenshots/', import.meta.url).pathname;
await mkdir(out, { recursive: true });
const profile = await mkdtemp(join(tmpdir(), 'shots-'));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: '/usr/bin/chromium', headless: true, viewport: { width: 1280, height: 820 },
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
// Half past nine on a Tuesday: enough behind, enough to come.
const today = new Date();
const now = new Date(today.getFullYear(), today.getMonth(), today.getDate(), 10, 18, 30).getTime();
const full = new module.Fake({ dist, now });
const calm = new module.Fake({ dist, now, calm: true });
const empty = new module.Fake({ dist, now, empty: true });
const urls = { full: await full.listen(), calm: await calm.listen(), empty: await empty.listen() };
const alpha = '/home/ada/src/alpha/.agents/loops/daily-digest.md';
const shots = {
  tasks: ['full', '#/tasks'],
  detail: ['full', '#/tasks/path_alpha/loop%3Aproject%3Adaily-digest'],
  'detail-blocked': ['full', '#/tasks/path_alpha/loop%3Aproject%3Aweekly-audit'],
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
  conflict: ['full', `#/editor?path=${encodeURIComponent(alpha)}&project=path_alpha`, async (page) => {
    await page.waitForSelector('.cm-content');
    await page.locator('.cm-line', { hasText: 'Summarize' }).click();
    await page.keyboard.press('End');
    await page.keyboard.type(' Name the authors.');
    full.write(alpha, full.files.get(alpha).replace('under 200 words', 'under 120 words, in English'));
    await page.getByText('while you were editing').waitFor();
    await page.keyboard.press('Control+s');
    await page.waitForSelector('.cm-merge-b');
  }],
  menu: ['full', '#/tasks', async (page) => { await page.getByRole('button', { name: 'Actions for triage-inbox' }).click(); }],
  'delete-dialog': ['full', '#/tasks', async (page) => { await page.getByRole('button', { name: 'Actions for standup-notes' }).click(); await page.getByRole('menuitem', { name: 'Delete' }).click(); }],
  toasts: ['full', '#/tasks', async (page) => {
    await page.getByRole('button', { name: 'Run check-links now' }).click();
    const run = full.runs.findLast((each) => each.taskName === 'check-links');
    full.finish(run, 'succeeded', { persistError: 'The project file is locked by another program (pid 4211).' });
    await page.waitForTimeout(900);
  }],
  combo: ['full', '#/task-form/path_beta/task-changelog-draft', async (page) => { await page.getByLabel('Model').click(); await page.keyboard.press('ArrowDown'); }],
  keys: ['full', '#/tasks', async (page) => { await page.keyboard.press('?'); }],
  paused: ['full', '#/timeline', async (page) => { await page.getByRole('button', { name: 'Pause everything' }).click(); await page.getByRole('menuitem', { name: 'For 1 hour' }).click(); await page.waitForTimeout(400); await page.getByRole('button', { name: 'Resume' }).first().waitFor(); }],
};
const sizes = { wide: { width: 1280, height: 820 }, narrow: { width: 390, height: 780 }, large: { width: 1720, height: 1000 } };
for (const [name, [server, hash, act]] of Object.entries(shots)) {
  if (only.length > 0 && !only.includes(name)) continue;
  for (const scheme of ['light', 'dark']) {
    for (const size of ['wide', 'narrow', ...(process.env.LARGE ? ['large'] : [])]) {
      const page = await browser.newPage();
      page.setDefaultTimeout(4000);
      page.on('pageerror', (error) => console.error(name, 'pageerror', error.message));
      page.on('console', (message) => { if (message.type() === 'error') console.error(name, message.text()); });
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
      await page.setViewportSize(sizes[size]);
      await page.clock.setFixedTime(now);
      await page.goto(urls[server] + '/' + hash);
      await page.evaluate(() => localStorage.clear());
      await page.waitForTimeout(500);
      try {
        if (act) await act(page);
      } catch (error) {
        console.error(name, size, String(error).split('\n')[0]);
      }
      await page.waitForTimeout(250);
      await page.screenshot({ path: `${out}${name}-${scheme}-${size}.png` });
      await page.close();
      full.paused = undefined;
    }
  }
}
for (const fake of [full, calm, empty]) {
  if (fake.violations.length > 0) console.error('policy violations:', [...new Set(fake.violations.map((text) => { const report = JSON.parse(text)['csp-report']; return `${report['effective-directive']} ${report['blocked-uri']} ${report['source-file'] ?? ''}:${report['line-number'] ?? ''}`; }))]);
  await fake.close();
}
await browser.close();
await rm(profile, { recursive: true, force: true });
