import { namesMeant } from '../../../plugins/names.ts';
import type { ChannelPlugin } from '../../channel/index.ts';
import type { AgentEntry } from '../agents/agent-entry.ts';
import type { EvalCase } from '../eval/read-cases.ts';
import type { CaseResult, RunOptions } from '../eval/run-cases.ts';
import type { Log } from '../process/log.ts';
import type { Configuration } from '../settings/configure/configure.ts';
import { knownSecrets } from '../settings/known-secrets.ts';
import { lazy } from './lazy.ts';
import { providerChange, replaySettings } from './replay.ts';
import { withRegistry } from './tools.ts';

/** Conversations that are run as tests (agentd-eval(1)). */
export type { CaseResult, EvalCase };
/** Makes a case of a recording. The caller must not keep it if values are left. */
export const makeCase = lazy(() => import('../eval/case-of-recording.ts'), 'caseOfRecording');
export const readCases = lazy(() => import('../eval/read-cases.ts'), 'readCases');

/**
 * The provider to which AGENT_EVAL_MODEL sends conversations, if it is another one than that of the agent. Null if there
 * is none.
 */
export function judgeProvider({ settings }: Pick<Configuration, 'settings'>): string | null {
  return providerChange(settings, settings.AGENT_EVAL_MODEL);
}

/**
 * What the settings do not have, for each case: the channel, and the tools that it answers for. Empty if it can run.
 */
export interface EvalOutcome {
  problems: { file: string; line: number | null; name: string; problem: string }[];
  results: CaseResult[];
}

interface EvaluateOptions extends Omit<RunOptions, 'judge'> {
  /** The agent that answers all cases. Null: the one that fits the case, without those that answer only a share. */
  agent: AgentEntry | null;
  log: Log;
}

/** Runs the cases with the agents and the tools of the daemon. Runs none if one of them cannot run. */
export async function evaluate(
  written: readonly EvalCase[],
  configuration: Configuration,
  plugins: readonly ChannelPlugin[],
  { agent, ...options }: EvaluateOptions,
): Promise<EvalOutcome> {
  const cases = written.map((one) => {
    const [channel = one.channel, another] = namesMeant(one.channel, plugins);
    return another === undefined ? { ...one, channel } : one;
  });
  const [{ default: pino }, { loadAgents }, { unknownTools }, { runCases }] = await Promise.all([
    import('pino'),
    import('../agents/load-agents.ts'),
    import('../eval/eval-tools.ts'),
    import('../eval/run-cases.ts'),
  ]);
  const { settings, texts, channels, effective } = configuration;
  const { log } = options;
  return withRegistry(
    configuration,
    async (registry) => {
      const problems = cases.flatMap((one) => {
        const { file, line, name, channel } = one;
        const missing = plugins.some((plugin) => plugin.name === channel) ? [] : [`channel ${channel}`];
        const all = [...missing, ...unknownTools(registry, one).map((tool) => `tool ${tool}`)];
        return all.map((what) => ({ file, line, name, problem: `there is no ${what}` }));
      });
      if (problems.length > 0) return { problems, results: [] };
      const entries =
        agent === null ? configuration.agents.filter((one) => one.canary_percent === null) : [agent];
      const agents = await loadAgents(entries, settings, log);
      const judge = cases.some(({ rubric }) => rubric.length > 0) ? await loadJudge(configuration) : null;
      try {
        const parts = {
          settings,
          texts,
          agents,
          registry,
          plugins,
          // What goes wrong in a case is in its result.
          log: pino({ enabled: false }),
          channelNames: channels.map(({ plugin }) => plugin.name),
          secrets: knownSecrets(effective.map(({ value }) => value)),
        };
        return { problems, results: await runCases(cases, parts, { ...options, judge }) };
      } finally {
        const runtimes = new Set(agents.map(({ runtime }) => runtime));
        await Promise.all([...runtimes].map((runtime) => runtime.stop?.()));
      }
    },
    { log },
  );
}

async function loadJudge({ settings }: Pick<Configuration, 'settings'>) {
  const { createJudge } = await import('../eval/judge.ts');
  return createJudge(replaySettings(settings, { model: settings.AGENT_EVAL_MODEL }));
}
