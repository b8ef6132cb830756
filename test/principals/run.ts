/**
 * `npm run principals -- --histories N --seed S` lets an attacker and a victim play random histories against the
 * service. It exits with 0 if all histories obey the rules. Otherwise it prints a history that breaks them,
 * in its shortest form, or the histories that a starved machine did not let it judge, and exits with 1.
 */
import { parseArgs } from 'node:util';
import { elapsed, secondsSince } from '../support/elapsed.ts';
import { DEFECTS } from './defects.ts';
import { putBack } from './put-back.ts';

const HELP = `npm run principals -- [options]

  --histories N   number of histories to play (default 20000)
  --seed S        seed of the random choices (default 1): the same seed makes the same histories
  --from I,…      index of the first history (default 0); with several, N histories from each
  --only I        play only this history
  --theme NAME    web, chats or deeds: play only histories of this theme
  --defect NAME   insert a defect first: ${Object.keys(DEFECTS).join(', ')}
`;

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
    only: { type: 'string' },
    theme: { type: 'string' },
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
  if (values.defect !== undefined) putBack(values.defect);
  // Imported only now, because a defect is inserted into the sources while they are loaded.
  const [{ checkHistories }, { makeHistory, THEMES }, { report }] = await Promise.all([
    import('./check-histories.ts'),
    import('./histories.ts'),
    import('./report.ts'),
  ]);
  const seed = Number(values.seed);
  const from = (values.only ?? values.from).split(',').map(Number);
  const count = values.only === undefined ? Number(values.histories) : 1;
  if (![seed, count, ...from].every(Number.isSafeInteger)) throw new Error(HELP);

  const theme = THEMES.find((one) => one === values.theme) ?? null;
  if (values.theme !== undefined && theme === null) throw new Error(HELP);
  const began = performance.now();
  const { found, unjudged } = await checkHistories(
    (function* () {
      for (const first of from)
        for (let index = first; index < first + count; index++) yield makeHistory(seed, index, theme);
    })(),
    (played) => {
      if (played % 20_000 === 0) process.stderr.write(`${played} histories, ${secondsSince(began)} s\n`);
    },
  );
  if (found !== null) {
    process.stdout.write(`${report(found.shortest, found.original)}\n`);
    return 1;
  }
  const judged = count * from.length - unjudged.length;
  process.stdout.write(`${judged} histories of seed ${seed} obey the rules (${elapsed(began)})\n`);
  if (unjudged.length === 0) return 0;
  const list = unjudged.map(({ index, why }) => `${index} (${why})`).join(', ');
  process.stdout.write(`${unjudged.length} histories were not judged: ${list}\n`);
  return 1;
}
