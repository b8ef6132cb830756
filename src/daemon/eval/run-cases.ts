import { AgentFailure } from '../agent/agent.ts';
import { checkRun, type EvalFailure } from './check-run.ts';
import type { Judge } from './judge.ts';
import type { EvalCase } from './read-cases.ts';
import { type CaseRun, type EvalParts, runCase } from './run-case.ts';

/** The outcome of a case, as `agentd eval --json` prints it. */
export interface CaseResult extends Pick<EvalCase, 'file' | 'line' | 'name' | 'repeat'> {
  passed: boolean;
  /** How many of `repeat` runs have passed. */
  passed_runs: number;
  /** Of all runs together. */
  calls: number;
  tokens: number;
  took_ms: number;
  failures: (EvalFailure & { run: number })[];
  /** The conversation of the first run that failed, or of the last run. */
  turns: { say: string; reply: string; calls: { tool: string; args: unknown; ok: boolean }[] }[];
}

export interface RunOptions {
  /** How many cases run at the same time. */
  concurrency: number;
  /** Null if no case has a rubric. */
  judge: Judge | null;
  ended(result: CaseResult): void;
}

/** Runs cases, several at a time. The results are in the order of the cases. */
export async function runCases(
  cases: readonly EvalCase[],
  parts: EvalParts,
  options: RunOptions,
): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  const waiting = cases.entries();
  const work = async () => {
    for (const [index, one] of waiting) {
      const result = await runRepeatedly(one, parts, options.judge);
      results[index] = result;
      options.ended(result);
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.concurrency, cases.length) }, work));
  return results;
}

async function runRepeatedly(one: EvalCase, parts: EvalParts, judge: Judge | null): Promise<CaseResult> {
  const { file, line, name, repeat } = one;
  const result: CaseResult = {
    file,
    line,
    name,
    passed: true,
    passed_runs: 0,
    repeat,
    calls: 0,
    tokens: 0,
    took_ms: 0,
    failures: [],
    turns: [],
  };
  for (let run = 1; run <= repeat; run++) {
    const { ended, failures } = await once(one, parts, judge);
    const hadFailed = !result.passed;
    result.took_ms += ended.took_ms;
    for (const { calls, tokens } of ended.turns) {
      result.calls += calls.length;
      result.tokens += tokens;
    }
    result.failures.push(...failures.map((failure) => ({ run, ...failure })));
    if (failures.length === 0) result.passed_runs++;
    else result.passed = false;
    if (!hadFailed)
      result.turns = ended.turns.map(({ said, reply, calls }) => ({ say: said, reply, calls: [...calls] }));
  }
  return result;
}

/** A rubric never overrules the rest: it is judged only if everything else has passed. */
async function once(
  one: EvalCase,
  parts: EvalParts,
  judge: Judge | null,
): Promise<{ ended: CaseRun; failures: EvalFailure[] }> {
  const ended = await runCase(one, parts);
  const failures = checkRun(one, ended);
  if (failures.length > 0 || judge === null) return { ended, failures };
  for (const criterion of one.rubric) {
    const failure = await judge(criterion, ended).catch((error: unknown): EvalFailure => {
      parts.log.debug({ err: error }, 'a rubric could not be judged');
      const reason = error instanceof AgentFailure ? error.reason : 'the judge failed';
      return { turn: null, what: 'rubric', detail: `${criterion}: could not be judged: ${reason}` };
    });
    if (failure !== null) failures.push(failure);
  }
  return { ended, failures };
}
