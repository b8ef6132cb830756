import type { Secret } from '../secret.ts';
import type { Settings } from '../settings/settings.ts';
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
    settings: { model: 'AGENT_MODEL', base_url: 'AGENT_BASE_URL' },
    model: settings.AGENT_MODEL,
    base_url: settings.AGENT_BASE_URL,
    key: settings.AGENT_API_KEY,
  };
  const fallback: ModelChoice = {
    settings: { model: 'AGENT_FALLBACK_MODEL', base_url: 'AGENT_FALLBACK_BASE_URL' },
    model: settings.AGENT_FALLBACK_MODEL,
    base_url: settings.AGENT_FALLBACK_BASE_URL ?? first.base_url,
    key: settings.AGENT_FALLBACK_API_KEY ?? first.key,
  };
  const hasFallback = fallback.model !== undefined && fallback.model !== BUILTIN;
  return {
    first: await loadModel(first),
    fallback: hasFallback ? await loadModel(fallback) : null,
    keys: [first.key, fallback.key].filter((key) => key !== undefined),
  };
}
