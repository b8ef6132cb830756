import type { Stats } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type CaseResult,
  type EvalCase,
  evaluate,
  judgeProvider,
  readCases,
} from '../../daemon/admin/eval.ts';
import { operatorLog } from '../../daemon/admin/operator-call.ts';
import { type Configuration, pluginsAt, readConfiguration } from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { EXIT, misconfigured, usageError } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';
import { casesAsJUnit } from '../eval/junit.ts';
import { CASE_COLUMNS, failuresInWords, locationOf, summarize } from '../eval/report.ts';
import { namedAgent } from '../names/named-agent.ts';
import { wholeNumber } from '../names/typed-values.ts';
import { askAboutProvider } from './replay.ts';

export const command = defineCommand({
  description: [
    'Runs conversations as tests: each case of the files, with the agent, the tools and the policies of the settings, through the steps of the daemon, on an empty store in memory. The daemon need not run. A directory stands for all `.yaml` and `.yml` files in it.',
    'If the configuration lists several agents, each turn is answered by the first one that fits the channel and the person of the case. An agent with a share of persons (`canary`) answers only if --agent names it; so `--agent next --compare base.json` shows whether it is better.',
    'Tools answer with the stubs or the recorded results of the case. Otherwise a call that reads is answered `not recorded`, or is made as nobody if the case says `tools: live`; a call that writes is held.',
    'A case passes if all of its runs pass. Prints a table; the calls, tokens and times are of all runs together. Exit code 0 if all cases passed, 1 if one failed, 2 if a file cannot be used. `agentd config schema eval` prints the JSON Schema of the files. agentd-evaluation(7) shows how to make a case of a complaint.',
  ].join('\n\n'),
  args: { '<paths...>': { sentence: 'files of cases, or directories', values: 'file' } },
  options: {
    '--agent <name>': 'this agent answers all cases, also if it has a `when` or a share of persons',
    '--only <text>': 'only cases whose name contains this text',
    '--concurrency <n>': { sentence: 'how many cases run at the same time, 1 to 64', default: 4 },
    '--compare <file>': {
      sentence: 'show which cases passed in this earlier output of --json',
      values: 'file',
    },
    '--junit <file>': { sentence: 'also write the results as JUnit XML into this file', values: 'file' },
    '--yes': 'do not ask before AGENT_EVAL_MODEL of another provider gets conversations',
  },
  examples: {
    'agentd eval config/eval': 'Runs all cases of a directory.',
    'agentd eval orders.yaml --only stranger --json > base.json': 'Keeps the results of some cases.',
    'agentd eval orders.yaml --compare base.json --junit results.xml':
      'Shows what has changed, and writes a report for a build server.',
  },
  json: true,
  async run({ args, options, out }) {
    const concurrency = wholeNumber('--concurrency', options.concurrency, { min: 1, max: 64 });
    const { only = '', compare, junit } = options;
    const before = compare === undefined ? null : await readBase(compare);
    const cases = (await readAll(args)).filter(({ name }) => contains(name, only));
    if (cases.length === 0)
      throw usageError(
        only === '' ? 'the files have no cases' : `no case has '${printable(only)}' in its name`,
        'Pass files of cases, or directories with such files.',
      );
    const location = configLocation(options);
    const configuration = await readConfiguration(location);
    const agent =
      options.agent === undefined ? null : namedAgent(configuration, options.agent, '--agent names');
    const plugins = (await pluginsAt(location)).plugins.map(({ plugin }) => plugin);
    await expectJudge(cases, configuration, options.yes === true);
    const showsProgress = process.stderr.isTTY === true && !out.json;
    let count = 0;
    const { problems, results } = await evaluate(cases, configuration, plugins, {
      agent,
      concurrency,
      log: operatorLog(out.note),
      ended: ({ name, passed }) => {
        count++;
        if (showsProgress) out.note(`${count}/${cases.length} ${passed ? 'passed' : 'FAILED'}: ${name}`);
      },
    });
    if (problems.length > 0)
      throw refuseFiles(
        problems.map(({ problem, ...at }) => ({ location: locationOf(at), problem })),
        'Check the name, the configuration file, and that the source of the tool can be reached.',
      );
    const judged = results.map((result) => ({ ...result, before: before?.get(result.name) ?? null }));
    if (junit !== undefined) await write(junit, casesAsJUnit(results));
    const { passed, failed, line } = summarize(judged, before);
    out.data({ passed, failed, cases: judged }, () => {
      const table = out.table(before === null ? CASE_COLUMNS.slice(0, -1) : CASE_COLUMNS, judged);
      return `${table}${[...failuresInWords(judged), line].join('\n')}`;
    });
    return failed === 0 ? EXIT.ok : EXIT.no;
  },
});

function contains(name: string, only: string): boolean {
  return name.toLowerCase().includes(only.toLowerCase());
}

async function readAll(paths: readonly string[]): Promise<EvalCase[]> {
  const cases: EvalCase[] = [];
  const problems: Problem[] = [];
  for (const file of await caseFiles(paths)) {
    const found = await readCases(file, await readFile(file, 'utf8'));
    cases.push(...found.cases);
    problems.push(...found.problems);
  }
  const names = new Map<string, EvalCase>();
  for (const one of cases) {
    const other = names.get(one.name);
    if (other)
      problems.push({ location: locationOf(one), problem: `has the name of another case: \`${one.name}\`` });
    names.set(one.name, one);
  }
  if (problems.length > 0) throw refuseFiles(problems, 'See `agentd config schema eval`.');
  return cases;
}

/** The files of cases at these paths: each file itself, and the YAML files of each directory, in order. */
async function caseFiles(paths: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const found = await statFile(path);
    if (!found.isDirectory()) {
      files.push(path);
      continue;
    }
    const names = await readdir(path, { recursive: true });
    files.push(
      ...names
        .filter((name) => /\.ya?ml$/.test(name))
        .sort()
        .map((name) => join(path, name)),
    );
  }
  return [...new Set(files)];
}

async function statFile(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (cause) {
    const message = `there is no file or directory ${printable(path)}`;
    throw usageError(message, 'Pass files of cases, or directories.', { cause });
  }
}

interface Problem {
  location: string;
  problem: string;
}

function refuseFiles(problems: readonly Problem[], advice: string): Error {
  const lines = problems.map(({ location, problem }) => printable(`${location}: ${problem}`));
  return usageError(
    lines.length === 1 ? (lines[0] ?? '') : `${lines.length} problems:\n${lines.join('\n')}`,
    advice,
  );
}

/** Which cases passed in an earlier output. */
async function readBase(file: string): Promise<Map<string, boolean>> {
  try {
    const { cases } = JSON.parse(await readFile(file, 'utf8')) as { cases: CaseResult[] };
    return new Map(cases.map(({ name, passed }) => [String(name), passed === true]));
  } catch (cause) {
    throw usageError(
      `${printable(file)} is not an output of \`agentd eval --json\``,
      'Make one with `agentd eval PATH --json > base.json`.',
      { cause },
    );
  }
}

async function write(file: string, content: string): Promise<void> {
  try {
    await writeFile(file, content);
  } catch (cause) {
    throw usageError(
      `${printable(file)} cannot be written: ${(cause as Error).message}`,
      'Pass another path to --junit.',
      { cause },
    );
  }
}

async function expectJudge(
  cases: readonly EvalCase[],
  configuration: Configuration,
  yes: boolean,
): Promise<void> {
  const judged = cases.find(({ rubric }) => rubric.length > 0);
  if (judged === undefined) return;
  if (configuration.settings.AGENT_EVAL_MODEL === undefined)
    throw misconfigured(
      `the case \`${printable(judged.name)}\` has a rubric, but AGENT_EVAL_MODEL is not set`,
      'Set it to the model that judges rubrics.',
    );
  await askAboutProvider(judgeProvider(configuration), yes, {
    what: 'the conversations of the cases',
    unlike: 'which the agent does not use',
  });
}
