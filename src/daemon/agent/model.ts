import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { LanguageModel } from 'ai';
import type { Settings } from '../settings/settings.ts';
import { misconfigured } from './misconfigured.ts';

/** A model object; never a bare name, which the SDK would look up at a hosted service. */
export type Model = Exclude<LanguageModel, string>;

export type ModelSettings = Pick<Settings, 'AGENT_MODEL' | 'AGENT_BASE_URL' | 'AGENT_API_KEY'>;

/**
 * The model that the settings name: on the OpenAI-compatible server at `AGENT_BASE_URL`, where the name may
 * hold a colon (`llama3:8b`); else `provider:model`, of the installed package `@ai-sdk/<provider>`.
 * Throws a configuration error that says what to set or install.
 */
export async function loadModel(settings: ModelSettings): Promise<Model> {
  const name = settings.AGENT_MODEL;
  if (name === undefined)
    throw misconfigured('AGENT_MODEL', 'is not set', 'the name of a model, or provider:model');
  if (settings.AGENT_BASE_URL !== undefined) return compatible(name, settings.AGENT_BASE_URL, settings);
  const [, provider, model] = /^([a-z][a-z0-9-]*):(.+)$/.exec(name) ?? [];
  if (provider === undefined || model === undefined) {
    throw misconfigured(
      'AGENT_MODEL',
      `is \`${name}\`, which names no provider`,
      'provider:model, or AGENT_BASE_URL set as well',
    );
  }
  return fromPackage(provider, model, settings);
}

async function compatible(name: string, baseURL: string, { AGENT_API_KEY }: ModelSettings): Promise<Model> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const server = createOpenAICompatible({
    name: 'server',
    baseURL: baseURL.replace(/\/+$/, ''),
    // The key goes to the configured server only.
    fetch: (input, init) => fetch(input, { ...init, redirect: 'error' }),
    ...(AGENT_API_KEY ? { apiKey: AGENT_API_KEY.reveal() } : {}),
  });
  return server.chatModel(name);
}

type CreateProvider = (options: { apiKey?: string }) => (model: string) => Model;

async function fromPackage(
  provider: string,
  model: string,
  { AGENT_API_KEY }: ModelSettings,
): Promise<Model> {
  const name = `@ai-sdk/${provider}`;
  const exports = await importInstalled(name, provider);
  // Every provider package exports one `create<Provider>`, in a casing of its own (`createOpenAI`).
  const wanted = `create${provider.replaceAll('-', '')}`.toLowerCase();
  const create =
    Object.entries(exports).find(([key]) => key.toLowerCase() === wanted)?.[1] ?? onlyCreate(exports);
  if (typeof create !== 'function') {
    throw misconfigured(
      'AGENT_MODEL',
      `names the package ${name}, which offers no provider`,
      'a provider package of the AI SDK',
    );
  }
  try {
    return (create as CreateProvider)(AGENT_API_KEY ? { apiKey: AGENT_API_KEY.reveal() } : {})(model);
  } catch (cause) {
    throw misconfigured(
      'AGENT_MODEL',
      `names \`${model}\`, which ${name} does not take`,
      'a model that the provider has',
      cause,
    );
  }
}

function onlyCreate(exports: Record<string, unknown>): unknown {
  const creates = Object.keys(exports).filter((key) => /^create[A-Z]/.test(key));
  return creates.length === 1 && creates[0] !== undefined ? exports[creates[0]] : undefined;
}

/** Looked for beside the daemon, then in the working directory, where an operator may have installed it. */
async function importInstalled(name: string, provider: string): Promise<Record<string, unknown>> {
  for (const from of [import.meta.url, pathToFileURL(resolve('package.json')).href]) {
    let path: string;
    try {
      path = createRequire(from).resolve(name);
    } catch {
      // Not installed there; the last place decides.
      continue;
    }
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  }
  throw misconfigured(
    'AGENT_MODEL',
    `names the provider \`${provider}\`, which is not installed`,
    `run \`npm install ${name}\`, or set AGENT_BASE_URL to an OpenAI-compatible server`,
  );
}
