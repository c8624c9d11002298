// A second implementation of the plain protocol, with no care: exclusive create, judge, unlink.
// usage: node plain_worker.mjs counter|cs PROJECTS_DIR PROJECT_ID JSON_OPTS
import fs from 'node:fs';
import path from 'node:path';

const [mode, dir, project, json] = process.argv.slice(2);
const opts = JSON.parse(json);
const file = path.join(dir, `${project}.json`);
const lock = `${file}.lock`;
const nap = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.max(ms, 0));

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}

function stale() {
  try {
    const text = fs.readFileSync(lock, 'utf8');
    if (text === '') return Date.now() - fs.statSync(lock).mtimeMs > 60_000;
    const { pid, at } = JSON.parse(text);
    return !alive(Number(pid)) || Date.now() - at > 60_000;
  } catch {
    return false;
  }
}

function locked(work) {
  const deadline = Date.now() + 10_000;
  for (;;) {
    try {
      fs.writeFileSync(lock, JSON.stringify({ pid: process.pid, at: Date.now() }), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (stale()) fs.rmSync(lock, { force: true });
    else if (Date.now() > deadline) throw new Error('timeout');
    else nap(5 + Math.random() * 20);
  }
  try {
    return work();
  } finally {
    try {
      if (JSON.parse(fs.readFileSync(lock, 'utf8')).pid === process.pid) fs.unlinkSync(lock);
    } catch {
      // Somebody took it.
    }
  }
}

function count() {
  const config = JSON.parse(fs.readFileSync(file, 'utf8'));
  const task = config.scheduledTasks.find(({ id }) => id === opts.task);
  task.state.lastDurationMs = (task.state.lastDurationMs ?? 0) + 1;
  const temporary = `${file}.${process.pid}.tmp`;
  fs.writeFileSync(temporary, JSON.stringify(config, null, 2));
  fs.renameSync(temporary, file);
}

function section() {
  const start = process.hrtime.bigint();
  nap(opts.csMs);
  fs.appendFileSync(opts.log, `${process.pid} ${start} ${process.hrtime.bigint()}\n`);
}

nap((opts.startAt ?? 0) - Date.now());
let ok = 0;
const errors = [];
for (let k = 0; k < opts.n; k++) {
  try {
    locked(mode === 'cs' ? section : count);
    ok += 1;
  } catch (error) {
    errors.push(String(error));
  }
}
console.log(JSON.stringify({ pid: process.pid, ok, entered: ok, errors }));
