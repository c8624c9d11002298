/**
 * A server that answers the routes from memory, with a day full of everything that the window has to show.
 * For working on the window, and for tests of what a real server cannot be brought to quickly.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { extname, join, normalize } from 'node:path';
import type { Event, EventKind } from '../../src/api/types';
import type { FakeOptions } from './model';
import { answer } from './routes';
import { fill } from './sample';
import { World } from './world';

export { TUESDAY, type FakeOptions } from './model';

export class Fake extends World {
  /** What was asked, for tests. */
  calls: { method: string; path: string; body: unknown }[] = [];
  /** Policy violations that the page reported. */
  violations: string[] = [];
  #streams = new Set<ServerResponse>();
  #event = 0;
  #server: Server | undefined;

  constructor(options: FakeOptions = {}) {
    super(options);
    if (options.bare) this.project('path_new', 'new-project');
    else if (!options.empty) fill(this);
  }
  emit(kind: EventKind, over: Partial<Event> = {}): void {
    const event: Event = { id: (this.#event += 1), at: this.now(), kind, ...over };
    for (const stream of this.#streams) stream.write(`id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  /** Cuts every event stream, as a restart would. */
  cut(): void {
    for (const stream of this.#streams) stream.destroy();
    this.#streams.clear();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (url.pathname === '/csp-report') {
      let text = '';
      for await (const part of request) text += String(part);
      this.violations.push(text);
      response.writeHead(204).end();
      return;
    }
    if (url.pathname === '/api/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.write(': ready\n\n');
      this.#streams.add(response);
      const beat = setInterval(() => response.write('event: ping\ndata: {}\n\n'), 15_000);
      response.on('close', () => {
        clearInterval(beat);
        this.#streams.delete(response);
      });
      return;
    }
    if (url.pathname.startsWith('/api/')) {
      let text = '';
      for await (const part of request) text += String(part);
      const body: unknown = text === '' ? {} : JSON.parse(text);
      this.calls.push({ method: request.method ?? 'GET', path: url.pathname, body });
      const said = answer(this, { method: request.method ?? 'GET', path: url.pathname, query: url.searchParams, body: body as Record<string, unknown>, headers: request.headers });
      response.writeHead(said.status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(said.body === undefined ? undefined : JSON.stringify(said.body));
      return;
    }
    if (!this.options.dist) {
      response.writeHead(404).end();
      return;
    }
    const wanted = url.pathname === '/' ? '/index.html' : normalize(url.pathname);
    try {
      const types: Record<string, string> = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2' };
      let content: Buffer | string = await readFile(join(this.options.dist, wanted));
      const headers: Record<string, string> = { 'content-type': types[extname(wanted)] ?? 'application/octet-stream' };
      if (wanted === '/index.html') {
        const nonce = randomBytes(16).toString('base64');
        content = content.toString().replaceAll('<style>', `<style nonce="${nonce}">`);
        headers['content-security-policy'] = `default-src 'self'; connect-src 'self'; img-src 'self' data:; style-src 'self' 'nonce-${nonce}'; script-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'; report-uri /csp-report`;
      }
      response.writeHead(200, headers).end(content);
    } catch {
      response.writeHead(404).end('not found');
    }
  }
  async listen(port = 0): Promise<string> {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.writeHead(500, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: String(error), code: 'internal' }));
      });
    });
    await new Promise<void>((resolve) => this.#server?.listen(port, '127.0.0.1', resolve));
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    return `http://127.0.0.1:${address.port}`;
  }
  async close(): Promise<void> {
    this.cut();
    const server = this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }
}
