/**
 * `npm run simulate -- --seeds N --from S`: runs the message path on two daemons, with random events and faults, once
 * for each seed. The exit code is 0 if all runs are correct. It is 1 if a run fails, and its trace is printed.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { elapsed, secondsSince } from '../support/elapsed.ts';
import { rewriteSources } from '../support/rewrite-sources.ts';
import { BUGS } from './bugs.ts';
import type { SimulatedRun } from './simulate.ts';

const HELP = `npm run simulate -- [options]

  --seeds N    number of seeds to run (default 2000)
  --from S,…   the first seed (default 1); with several, N seeds from each
  --seed S     run only this seed, and print its trace
  --trace      print the trace of each seed
  --brief      print one line for the first seed that fails, and no trace
  --go-on      do not stop at a failure: print one line for each seed that fails
  --stats      print how messages ended, and which faults occurred
  --bug NAME   insert a bug into the sources first: ${Object.keys(BUGS).join(', ')}
  --bugs       insert each bug, one at a time, and print the first seed that finds it
`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    brief: { type: 'boolean', default: false },
    'go-on': { type: 'boolean', default: false },
    stats: { type: 'boolean', default: false },
    bug: { type: 'string' },
    bugs: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const from = (values.seed ?? values.from).split(',').map(Number);
const count = values.seed === undefined ? Number(values.seeds) : 1;
/** The number of seeds after which progress is printed. */
const PROGRESS = 10_000;

process.exitCode = await main();

async function main(): Promise<number> {
  if (values.help || ![...from, count].every(Number.isSafeInteger)) {
    process.stdout.write(HELP);
    return values.help ? 0 : 2;
  }
  return values.bugs ? findBugs() : runSeeds();
}

async function runSeeds(): Promise<number> {
  if (values.bug !== undefined) {
    const bug = BUGS[values.bug];
    if (!bug) throw new Error(`unknown bug ${values.bug}; known bugs: ${Object.keys(BUGS).join(', ')}`);
    rewriteSources(bug.changes);
  }
  // Imported only now, because a bug is inserted into the sources while they are loaded.
  const { simulate } = await import('./simulate.ts');
  const { importSimulatedKeys } = await import('./world.ts');
  const keys = await importSimulatedKeys();
  const isTraced = values.trace || values.seed !== undefined;
  const began = performance.now();
  const stats = new Map<string, number>();
  let wrong = 0;
  const seeds = from.flatMap((first) => Array.from({ length: count }, (_, n) => first + n));
  for (const [done, seed] of seeds.entries()) {
    const run = await simulate(seed, keys, isTraced);
    if (values.stats) addStats(stats, run);
    if (isTraced) print(run.trace);
    if ((done + 1) % PROGRESS === 0) printError(`${done + 1} seeds, ${secondsSince(began)} s`);
    if (run.violations.length === 0) continue;
    wrong++;
    if (values.brief || values['go-on']) print([`${seed} ${run.violations[0]}`]);
    else {
      if (!isTraced) print((await simulate(seed, keys, true)).trace);
      printViolations(run);
    }
    if (!values['go-on']) return 1;
  }
  print([...stats].sort().map(([word, times]) => `${String(times).padStart(8)} ${word}`));
  printError(elapsed(began));
  print([wrong === 0 ? `${seeds.length} seeds passed` : `${wrong} of ${seeds.length} seeds failed`]);
  return wrong === 0 ? 0 : 1;
}

/** @returns 1 if a bug is not found. */
function findBugs(): number {
  const seeds = ['--seeds', values.seeds, '--from', values.from, '--brief'];
  const missed = Object.entries(BUGS).filter(([name, { shows }]) => {
    const options = [import.meta.filename, '--bug', name, ...seeds];
    const { status, stdout, stderr } = spawnSync(process.execPath, options, { encoding: 'utf8' });
    const [line = ''] = (stdout || stderr).split('\n');
    const isFound = status === 1 && shows.test(line);
    print([`${isFound ? 'found' : 'MISSED'} ${name.padEnd(28)} ${line}`]);
    return !isFound;
  });
  return missed.length === 0 ? 0 : 1;
}

function printViolations({ seed, violations }: SimulatedRun): void {
  const bug = values.bug === undefined ? '' : `--bug ${values.bug} `;
  print(['', `seed ${seed} (to repeat: npm run simulate -- ${bug}--seed ${seed}):`]);
  print(violations.map((violation) => `  ${violation}`));
}

function addStats(stats: Map<string, number>, { fates, struck, steps, took_ms }: SimulatedRun): void {
  const add = (word: string, times: number) => stats.set(word, (stats.get(word) ?? 0) + times);
  for (const word of [...fates, ...struck]) add(word, 1);
  if (struck.length === 0) add('undisturbed', 1);
  add('steps', steps);
  add('virtual seconds', Math.round(took_ms / 1000));
}

function print(lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
}

function printError(line: string): void {
  process.stderr.write(`${line}\n`);
}
