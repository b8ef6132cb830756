import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AgentRuntime } from '../../agent/index.ts';
import { importFailure, provideContracts } from '../channels/modules/import-module.ts';
import type { Log } from '../process/log.ts';
import { misconfigured } from '../settings/problem.ts';
import type { Settings } from '../settings/settings.ts';
import { createBuiltin } from './builtin.ts';
import { loadInstructions } from './instructions.ts';
import type { LlmSettings } from './llm/llm.ts';

/** The version of the agent port that this daemon supports. */
const API_VERSION = 1;
const RIGHT = '`builtin`, `llm`, or the path of a module whose default export is { apiVersion: 1, run }';

/**
 * The runtime that `AGENT_RUNTIME` names. Without that setting, it is `llm` if `AGENT_MODEL` is set, and `builtin` if
 * not (agentd-settings(5), "The daemon").
 */
export function runtimeName(settings: Pick<Settings, 'AGENT_RUNTIME' | 'AGENT_MODEL'>): string {
  return settings.AGENT_RUNTIME ?? (settings.AGENT_MODEL === undefined ? 'builtin' : 'llm');
}

export type LoadSettings = LlmSettings & Pick<Settings, 'AGENT_RUNTIME'>;

interface LoadedAgent {
  runtime: AgentRuntime;
  /** The text of the instructions; undefined if there are none. */
  instructions: string | undefined;
}

/**
 * Reads the instructions and loads the runtime that the settings name. Rejects with a configuration error that says
 * what to change.
 * @param loaded the runtime, if it is loaded already
 */
export async function loadAgent(
  settings: LoadSettings,
  log: Log,
  loaded?: AgentRuntime,
): Promise<LoadedAgent> {
  const reading = loadInstructions(settings.AGENT_INSTRUCTIONS);
  const loading = loaded ?? loadRuntime(settings, log, reading);
  const [runtime, instructions] = await Promise.all([loading, reading]);
  return { runtime, instructions };
}

/** Loads `builtin`, `llm`, or a module by its path, relative to the working directory. */
async function loadRuntime(
  settings: LoadSettings,
  log: Log,
  instructions: Promise<string | undefined>,
): Promise<AgentRuntime> {
  const wanted = runtimeName(settings);
  if (wanted === 'builtin') return createBuiltin();
  if (wanted === 'llm') {
    // Loaded only if it is used: it is the largest part of the daemon.
    const { createLlm } = await import('./llm/llm.ts');
    return createLlm(settings, log, instructions);
  }
  return loadModule(resolve(wanted));
}

async function loadModule(path: string): Promise<AgentRuntime> {
  const refused = (why: string, cause?: unknown) =>
    misconfigured('AGENT_RUNTIME', `names ${path}, ${why}`, RIGHT, cause);
  provideContracts();
  let loaded: { default?: unknown };
  try {
    loaded = (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (cause) {
    throw refused(`which cannot be loaded: ${await importFailure(cause, path)}`, cause);
  }
  const runtime = loaded.default;
  if (typeof runtime !== 'object' || runtime === null)
    throw refused('which has no default export that is an object');
  const { apiVersion, run, stop } = runtime as { apiVersion?: unknown; run?: unknown; stop?: unknown };
  if (apiVersion !== API_VERSION) {
    const came = apiVersion === undefined ? 'none' : JSON.stringify(apiVersion);
    throw refused(`which has apiVersion ${came}, expected ${API_VERSION}`);
  }
  if (typeof run !== 'function') throw refused('which has no function `run`');
  if (stop !== undefined && typeof stop !== 'function') throw refused('whose `stop` is not a function');
  return runtime as AgentRuntime;
}
