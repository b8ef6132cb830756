/**
 * `npm run hostile -- --runs N --seed S` plays a model that follows the worst possible prompt, on all channels of a
 * daemon. It exits with 0 if no rule was broken. Otherwise it prints violations, with the commands to play their
 * conversations again, and exits with 1.
 */
import { parseArgs } from 'node:util';
import { elapsed } from '../support/elapsed.ts';
import { DEFECTS } from './defects.ts';
import { play, type Wanted } from './play.ts';
import { reportOf } from './report.ts';

const HELP = `npm run hostile -- [options]

  --runs N        minimum number of agent runs (default 1000)
  --seed S        seed of the random choices (default 1): the same seed makes the same conversations
  --only I        play only the conversation with this index, and print it
  --crowd N       play N persons, each in several conversations at once, with a model that is not hostile
  --defect NAME   insert a defect into the daemon first: ${Object.keys(DEFECTS).join(', ')}, or all
`;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    crowd: { type: 'string' },
    defect: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

process.exitCode = values.help ? help() : await run();

function help(): number {
  process.stdout.write(HELP);
  return 0;
}

async function run(): Promise<number> {
  const [runs, seed] = [Number(values.runs), Number(values.seed)];
  const only = values.only === undefined ? undefined : Number(values.only);
  const crowd = values.crowd === undefined ? undefined : Number(values.crowd);
  if (![runs, seed, only ?? 0, crowd ?? 1].every(Number.isSafeInteger)) throw new Error(HELP);
  const { defect } = values;
  const began = performance.now();
  const played = await play({
    runs,
    seed,
    ...(only === undefined ? {} : { only, tell: (line: string) => process.stdout.write(`${line}\n`) }),
    ...(crowd === undefined ? {} : { crowd }),
    ...(defect === undefined ? {} : brokenDaemon(defect)),
  });
  const cpu = `${elapsed(began)} in the test, ${played.cpu.toFixed(1)} s in the daemon`;
  process.stdout.write(`${reportOf(played, seed)}\n${cpu}\n`);
  return played.violations.length === 0 ? 0 : 1;
}

function brokenDaemon(defect: string): Pick<Wanted, 'bin' | 'env' | 'until'> {
  const until = DEFECTS[defect]?.breaks;
  if (defect !== 'all' && until === undefined) throw new Error(HELP);
  return {
    bin: `${import.meta.dirname}/broken-agentd.ts`,
    env: { HOSTILE_DEFECT: defect },
    ...(until === undefined ? {} : { until: [until] }),
  };
}
