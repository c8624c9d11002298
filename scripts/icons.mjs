// Draws the PNG, ICO and ICNS files of `icons/` from its SVG files, with the Tauri tool of `ui/`.
// Run `node scripts/icons.mjs` after a change to an SVG, and commit what it wrote.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const icons = fileURLToPath(new URL('../icons/', import.meta.url));
const ui = fileURLToPath(new URL('../ui/', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'loopkeeper-icons-'));

/** What the bundles of the three systems need. */
const application = ['32x32.png', '128x128.png', '128x128@2x.png', 'icon.icns', 'icon.ico', 'icon.png'];
const states = ['armed', 'running', 'attention', 'paused'];
/** The line's colour by the file's ending. Nobody can ask a panel for its own colour, so the usual
 *  one is as far from white as from black; macOS colours its templates itself. */
const colours = { '': '#1b7fb5', '-template': '#000000' };
/** 24 px at double density; the panel scales it down. */
const traySize = '48';

function render(svg, out, ...more) {
  const tauri = join(ui, 'node_modules/@tauri-apps/cli/tauri.js');
  execFileSync(process.execPath, [tauri, 'icon', svg, '-o', out, ...more], { cwd: ui, stdio: ['ignore', 'ignore', 'inherit'] });
}

try {
  render(join(icons, 'icon.svg'), work);
  for (const name of application) copyFileSync(join(work, name), join(icons, name));
  copyFileSync(join(icons, 'icon.svg'), join(ui, 'public/icon.svg'));

  for (const state of states) {
    const drawing = readFileSync(join(icons, `tray/${state}.svg`), 'utf8');
    for (const [ending, colour] of Object.entries(colours)) {
      const svg = join(work, `${state}${ending}.svg`);
      writeFileSync(svg, drawing.replaceAll('currentColor', colour));
      render(svg, work, '-p', traySize);
      copyFileSync(join(work, `${traySize}x${traySize}.png`), join(icons, `tray/${state}${ending}.png`));
    }
  }
} finally {
  rmSync(work, { recursive: true });
}
