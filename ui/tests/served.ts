import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { BrowserContext, Page } from 'playwright-core';
import { dist } from './browser';

/** The program that is tested: `LOOPKEEPER`, else the debug build; undefined when there is none. */
export function program(): string | undefined {
  const named = process.env['LOOPKEEPER'] ?? new URL('../../target/debug/loopkeeper', import.meta.url).pathname;
  return existsSync(named) ? named : undefined;
}

/** A real `loopkeeper serve` with a home, a data folder and a project of its own. */
export class Served {
  readonly root: string;
  readonly project: string;
  link = '';
  #child: ChildProcess | undefined;

  private constructor(root: string) {
    this.root = root;
    this.project = join(root, 'project');
  }
  static async make(): Promise<Served> {
    const served = new Served(await mkdtemp(join(tmpdir(), 'loopkeeper-served-')));
    await mkdir(join(served.project, '.git'), { recursive: true });
    await mkdir(join(served.project, '.agents/loops'), { recursive: true });
    await mkdir(join(served.root, 'home'));
    return served;
  }
  loop(name: string): string {
    return join(this.project, '.agents/loops', `${name}.md`);
  }
  /** Writes a loop of the demo agent. */
  async write(name: string, model: string, over: { enabled?: boolean; schedule?: string } = {}): Promise<string> {
    const path = this.loop(name);
    await writeFile(path, `---\nname: ${name} # kept\nschedule: "${over.schedule ?? '0 9 * * *'}"\nenabled: ${over.enabled ?? false}\nmodel: ${model}\n---\nSay hello.\n`);
    return path;
  }
  async start(): Promise<void> {
    const binary = program();
    if (binary === undefined) throw new Error('build loopkeeper first');
    const data = join(this.root, 'data');
    const child = spawn(binary, ['serve', '--port', '0', '--json'], {
      cwd: this.root,
      env: { PATH: process.env['PATH'] ?? '', HOME: join(this.root, 'home'), OPENCHAMBER_DATA_DIR: data, LOOPKEEPER_CONFIG: join(this.root, 'settings.toml'), XDG_RUNTIME_DIR: this.root, TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    let said = '';
    child.stderr.on('data', (part: Buffer) => (said += part.toString()));
    this.link = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        try {
          const row = JSON.parse(line) as { event?: string; link?: string };
          if (row.event === 'listening' && row.link) resolve(row.link);
        } catch {
          // Lines that are not JSON say nothing that is waited for.
        }
      });
      child.on('exit', (code) => reject(new Error(`loopkeeper ended with ${code}: ${said}`)));
    });
  }
  /** Asks as a program with the token does. */
  async ask(path: string, init: RequestInit = {}): Promise<Response> {
    const token = (await readFile(join(this.root, 'data/loopkeeper/token'), 'utf8')).trim();
    return fetch(new URL(path, this.link), { ...init, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' } });
  }
  async stop(): Promise<void> {
    const child = this.#child;
    if (child && child.exitCode === null) {
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    }
    await rm(this.root, { recursive: true, force: true });
  }
}

/** A page of the window on a served folder whose project is registered; `errors` gathers what reaches the console. */
export async function openServed(context: BrowserContext, served: Served): Promise<{ page: Page; base: string; errors: string[] }> {
  await showBuiltPage(context, served);
  const added = await served.ask('/api/projects', { method: 'POST', body: JSON.stringify({ path: served.project }) });
  if (!added.ok) throw new Error(await added.text());
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    // A refused call is one of the things that are tested.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) errors.push(message.text());
  });
  await page.goto(served.link);
  const base = new URL('/', served.link).href;
  await page.goto(base);
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  return { page, base, errors };
}

/** The document without what differs from load to load. */
const plain = (html: string): string => html.replaceAll(/ nonce="[^"]*"/g, '');

/** Whether the program was built after the page, so that it serves the page that is tested. */
export async function servesBuiltPage(served: Served): Promise<boolean> {
  const [html, built] = await Promise.all([served.ask('/').then((answer) => answer.text()), readFile(join(dist, 'index.html'), 'utf8')]);
  return plain(html) === built;
}

/**
 * Shows the page as it was built last, also where the program holds an older one: the document keeps the program's own
 * headers and nonce, so that its policy is tested with it. A program that was built after the page serves it itself.
 */
export async function showBuiltPage(context: BrowserContext, served: Served): Promise<void> {
  if (await servesBuiltPage(served)) return;
  await context.route((url) => !url.pathname.startsWith('/api/') && !url.searchParams.has('code'), async (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname === '/') {
      const answer = await route.fetch();
      const nonce = /'nonce-([^']+)'/.exec(answer.headers()['content-security-policy'] ?? '')?.[1];
      const html = (await readFile(join(dist, 'index.html'), 'utf8')).replaceAll('<style>', `<style nonce="${nonce}">`).replaceAll('<script ', `<script nonce="${nonce}" `);
      await route.fulfill({ response: answer, body: nonce === undefined ? await answer.text() : html });
      return;
    }
    const types: Record<string, string> = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
    const contentType = types[extname(pathname)];
    if (contentType === undefined || !existsSync(join(dist, pathname))) await route.continue();
    else await route.fulfill({ path: join(dist, pathname), contentType });
  });
}
