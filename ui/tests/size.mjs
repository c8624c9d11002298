// `npm run size`: what the built page weighs, compressed; fails above the limit. Bytes are the same on every machine.
import { readdir, readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';

/** Of all that is not the editor, in bytes after gzip. */
const LIMIT = 250_000;
/** Of what is fetched before the first content. */
const OPENING_LIMIT = 120_000;
/** How the editor's part is called; it is loaded when a file is first opened. */
const EDITOR = /^assets\/codemirror-/;

const dist = new URL('../dist/', import.meta.url);
const sizes = new Map();
for (const name of await readdir(dist, { recursive: true })) {
  if (/\.(html|js|css)$/.test(name)) sizes.set(name, gzipSync(await readFile(new URL(name, dist))).length);
}
const sum = (names) => names.reduce((all, name) => all + (sizes.get(name) ?? 0), 0);
const all = [...sizes.keys()].filter((name) => !EDITOR.test(name));
const html = await readFile(new URL('index.html', dist), 'utf8');
const opening = ['index.html', ...[...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((match) => match[1])];
const editor = [...sizes.keys()].filter((name) => EDITOR.test(name));
const kb = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;
console.log(`page without the editor: ${kb(sum(all))} of at most ${kb(LIMIT)}; to open it: ${kb(sum(opening))} of at most ${kb(OPENING_LIMIT)}; the editor: ${kb(sum(editor))}`);
if (editor.length !== 1 || opening.some((name) => EDITOR.test(name))) {
  console.error('the editor has to be a part of its own, that the page does not load by itself');
  process.exit(1);
}
if (sum(all) > LIMIT || sum(opening) > OPENING_LIMIT) {
  console.error('the page is too heavy: see what grew with `npm run build`, and load it when it is first needed');
  process.exit(1);
}
