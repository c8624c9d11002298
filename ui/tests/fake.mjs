// `npm run fake`: the routes and the built page from memory, on the port that `npm run dev` asks.
import { runnerImport } from 'vite';

const { module } = await runnerImport(new URL('./fake/server.ts', import.meta.url).pathname);
const fake = new module.Fake({ dist: new URL('../dist', import.meta.url).pathname, now: Date.now(), many: Number(process.env.MANY ?? 0), empty: process.env.EMPTY === '1', calm: process.env.CALM === '1' });
console.log(await fake.listen(Number(process.env.PORT ?? 4117)));
