/**
 * `npm run simulate -- --seeds N --from S`: runs the message path with two daemons, chance and faults, seed by seed.
 * Exit code 0: all runs are right; 1: one is not, and its trace is printed.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { rewriteSources } from '../support/rewrite-sources.ts';
import { BUGS } from './bugs.ts';

const HELP = `npm run simulate -- [options]

  --seeds N    how many seeds are run (default 2000)
  --from S     the first seed (default 1)
  --seed S     run this one alone, and print its trace
  --bug NAME   put a bug into the sources first: ${Object.keys(BUGS).join(', ')}
  --bugs       put in each bug, one at a time, and print the first seed that finds it
  --go-on      print what is wrong with each seed in one line, and go on
  --brief      print one line of the first seed that is wrong, and no trace
  --stats      print how the messages of all runs ended
`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    bug: { type: 'string' },
    bugs: { type: 'boolean', default: false },
    'go-on': { type: 'boolean', default: false },
    brief: { type: 'boolean', default: false },
    stats: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

process.exitCode = values.help ? help() : values.bugs ? findBugs() : await run();

function help(): number {
  process.stdout.write(HELP);
  return 0;
}

/** @returns 1 if a bug is not found. */
function findBugs(): number {
  let isEachFound = true;
  for (const name of Object.keys(BUGS)) {
    const options = [
      import.meta.filename,
      '--bug',
      name,
      '--seeds',
      values.seeds,
      '--from',
      values.from,
      '--brief',
    ];
    const { status, stdout, stderr } = spawnSync(process.execPath, options, { encoding: 'utf8' });
    isEachFound &&= status === 1 && stderr === '';
    process.stdout.write(`${name.padEnd(28)} ${(stdout + stderr).trim().split('\n')[0]}\n`);
  }
  return isEachFound ? 0 : 1;
}

async function run(): Promise<number> {
  if (values.bug !== undefined) {
    const bug = BUGS[values.bug];
    if (!bug) throw new Error(`there is no bug ${values.bug}; there are: ${Object.keys(BUGS).join(', ')}`);
    rewriteSources(bug.changes);
  }
  // Loaded only now: a bug is put into the sources as they are loaded.
  const { simulate } = await import('./simulate.ts');
  const { importSimulatedKeys } = await import('./world.ts');
  const keys = await importSimulatedKeys();
  const from = Number(values.seed ?? values.from);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  if (![from, count].every(Number.isSafeInteger)) throw new Error(HELP);

  const began = performance.now();
  let wrong = 0;
  const stats = new Map<string, number>();
  for (let seed = from; seed < from + count; seed++) {
    const found = await simulate(seed, keys, values.seed !== undefined);
    const words = [...found.fates, ...found.struck, ...(found.struck.length === 0 ? ['undisturbed'] : [])];
    for (const word of words) stats.set(word, (stats.get(word) ?? 0) + 1);
    stats.set('steps', (stats.get('steps') ?? 0) + found.steps);
    stats.set('virtual s', (stats.get('virtual s') ?? 0) + Math.round(found.took_ms / 1000));
    if (values.seed === undefined && found.violations.length === 0) {
      if ((seed - from + 1) % 10_000 === 0)
        process.stderr.write(`${seed - from + 1} seeds, ${secondsSince(began)} s\n`);
      continue;
    }
    if (values['go-on'] || values.brief) {
      wrong++;
      process.stdout.write(`${seed} ${found.violations[0]}\n`);
      if (values.brief) return 1;
      continue;
    }
    const { trace, violations } = values.seed === undefined ? await simulate(seed, keys, true) : found;
    process.stdout.write(`${trace.join('\n')}\n`);
    if (violations.length === 0) continue;
    process.stdout.write(`\nseed ${seed} (again: npm run simulate -- --seed ${seed}):\n`);
    for (const violation of violations) process.stdout.write(`  ${violation}\n`);
    return 1;
  }
  if (values.stats)
    for (const [word, times] of [...stats].sort(([a], [b]) => a.localeCompare(b)))
      process.stdout.write(`${String(times).padStart(8)} ${word}\n`);
  const { user, system } = process.cpuUsage();
  if (wrong > 0) {
    process.stdout.write(`${wrong} of ${count} seeds are wrong\n`);
    return 1;
  }
  process.stdout.write(
    `${count} seeds are right (${secondsSince(began)} s, ${((user + system) / 1e6).toFixed(1)} s of CPU)\n`,
  );
  return 0;
}

function secondsSince(began: number): string {
  return ((performance.now() - began) / 1000).toFixed(1);
}
