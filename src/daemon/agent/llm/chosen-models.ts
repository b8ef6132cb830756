import { ConfigurationError } from '../../settings/problem.ts';
import type { Secret } from '../../settings/secret.ts';
import type { Settings } from '../../settings/settings.ts';
import { loadModel, type Model, type ModelChoice } from './model.ts';

/** The value of AGENT_FALLBACK_MODEL that means the builtin runtime instead of a model. */
export const BUILTIN = 'builtin';

export type ModelSettings = Pick<
  Settings,
  | 'AGENT_MODEL'
  | 'AGENT_BASE_URL'
  | 'AGENT_API_KEY'
  | 'AGENT_FALLBACK_MODEL'
  | 'AGENT_FALLBACK_BASE_URL'
  | 'AGENT_FALLBACK_API_KEY'
>;

export interface ChosenModels {
  first: Model;
  /** Null if there is no fallback, or if it is `builtin`. */
  fallback: Model | null;
  /** The API keys of the models. They are never shown, even if a server's answer contains them. */
  keys: readonly Secret[];
}

/** The models that the settings name. Rejects with a configuration error that says what to set or install. */
export async function loadModels(settings: ModelSettings): Promise<ChosenModels> {
  const first: ModelChoice = {
    settings: { model: 'AGENT_MODEL', base_url: 'AGENT_BASE_URL', key: 'AGENT_API_KEY' },
    inherits_base_url: false,
    model: settings.AGENT_MODEL,
    base_url: settings.AGENT_BASE_URL,
    key: settings.AGENT_API_KEY,
  };
  const fallback: ModelChoice = {
    settings: {
      model: 'AGENT_FALLBACK_MODEL',
      base_url: 'AGENT_FALLBACK_BASE_URL',
      key: 'AGENT_FALLBACK_API_KEY',
    },
    inherits_base_url: settings.AGENT_FALLBACK_BASE_URL === undefined,
    model: settings.AGENT_FALLBACK_MODEL,
    base_url: settings.AGENT_FALLBACK_BASE_URL ?? first.base_url,
    key: settings.AGENT_FALLBACK_API_KEY ?? first.key,
  };
  const hasFallback = fallback.model !== undefined && fallback.model !== BUILTIN;
  const loading = [loadModel(first), hasFallback ? loadModel(fallback) : null] as const;
  expectNoProblems(await Promise.allSettled(loading));
  return {
    first: await loading[0],
    fallback: await loading[1],
    keys: [first.key, fallback.key].filter((key) => key !== undefined),
  };
}

/** @throws the problems of all models together, if they are problems of the configuration. */
function expectNoProblems(loaded: readonly PromiseSettledResult<unknown>[]): void {
  const reasons = loaded.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  const other = reasons.find((reason) => !(reason instanceof ConfigurationError));
  if (other !== undefined) throw other;
  const problems = reasons.flatMap((reason) => (reason as ConfigurationError).problems);
  if (problems.length > 0) throw new ConfigurationError(problems, { cause: reasons[0] });
}
