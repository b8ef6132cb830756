import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  defaultSettingsMiddleware,
  extractReasoningMiddleware,
  type LanguageModel,
  wrapLanguageModel,
} from 'ai';
import { ConfigurationError, misconfigured } from '../../settings/problem.ts';
import { revealAll, type Secret } from '../../settings/secret.ts';
import { chooseModels, type ModelChoice, type ModelSettings, splitModelName } from '../model-servers.ts';
import { NO_PROVIDER_SETTINGS, type ProviderSettings, readProviderSettings } from '../provider-settings.ts';
import { streamOfCompletion } from './completion-stream.ts';
import { isOnlyProvider, unmetNeeds } from './provider-needs.ts';

/** A model object; never a bare name, which the SDK would look up at a hosted service. */
export type Model = Exclude<LanguageModel, string>;

/** A model in the version of the SDK's model interface to which the SDK converts models of all other versions. */
export type CallableModel = ReturnType<typeof wrapLanguageModel>;

/** The provider of models on the server at AGENT_BASE_URL. */
export const COMPATIBLE_SERVER = 'server';

export interface ChosenModels {
  first: Model;
  /** Null if there is no fallback, or if it is `builtin`. */
  fallback: Model | null;
  /** The API keys and headers of the models. They are never shown, even if a server's answer contains them. */
  keys: readonly Secret[];
}

/** The models that the settings name. Rejects with a configuration error that says what to set or install. */
export async function loadModels(settings: ModelSettings): Promise<ChosenModels> {
  const { first, fallback } = chooseModels(settings);
  const provider = readProviderSettings(settings);
  const loading = [
    loadModel(first, provider),
    fallback && loadModel(fallback, fallback.is_same_server ? provider : NO_PROVIDER_SETTINGS),
  ] as const;
  const loaded = await Promise.allSettled(loading);
  const reasons = loaded.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  const other = reasons.find((reason) => !(reason instanceof ConfigurationError));
  if (other !== undefined) throw other;
  // The problems of all models are reported together.
  const problems = reasons.flatMap((reason) => (reason as ConfigurationError).problems);
  if (problems.length > 0) throw new ConfigurationError(problems, { cause: reasons[0] });
  const keys = [
    settings.AGENT_API_KEY,
    settings.AGENT_FALLBACK_API_KEY,
    ...Object.values(provider.headers),
  ].filter((key) => key !== undefined);
  return { first: await loading[0], fallback: await loading[1], keys };
}

/**
 * The model that the settings name. If there is a `base_url`, it is a model of the OpenAI-compatible server at that
 * address, and its name may contain a colon (`llama3:8b`). Otherwise the name is `provider:model`, and the package
 * `@ai-sdk/<provider>` must be installed; `@scope/package:model` names another package. Throws a configuration error that
 * says what to set or install.
 */
async function loadModel(choice: ModelChoice, settings: ProviderSettings): Promise<Model> {
  const { model: name, base_url, names } = choice;
  if (name === undefined)
    throw misconfigured(names.model, 'is not set', 'the name of a model, or provider:model');
  const named = splitModelName(name);
  if (base_url !== undefined) {
    if (named !== null && isOnlyProvider(named.provider))
      throw providerAtAddress(name, named.provider, choice);
    return complete(await compatible(name, base_url, choice, settings), settings);
  }
  if (named === null) {
    throw misconfigured(
      names.model,
      `is \`${name}\`, which names no provider`,
      `provider:model, or ${names.base_url} set as well`,
    );
  }
  return complete(await fromPackage(named.provider, named.model, choice, settings), settings);
}

/** Adds what every model gets: the options of each call, and the removal of its reasoning. */
function complete(model: Model, { call }: ProviderSettings): Model {
  const hidden = hideReasoning(model);
  if (call === undefined) return hidden;
  const settings = { providerOptions: call as NonNullable<DefaultSettings['providerOptions']> };
  return wrapLanguageModel({ model: hidden, middleware: defaultSettingsMiddleware({ settings }) });
}

type DefaultSettings = Parameters<typeof defaultSettingsMiddleware>[0]['settings'];

/**
 * Maximum size of one answer of a model server, bytes. The longest answers that models give, with their reasoning and
 * the JSON around each token, are about this long. The SDK collects an answer without any limit.
 */
const ANSWER_MAX_BYTES = 32 * 1024 * 1024;

/** A model server sent more than any answer of a model. */
class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/** Only the configured server gets the key: a redirect is an error. So is an answer that would fill the memory. */
const askServer: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: 'error' });
  let bytes = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > ANSWER_MAX_BYTES) throw new AnswerTooLarge();
      controller.enqueue(chunk);
    },
  });
  return response.body === null ? response : new Response(response.body.pipeThrough(limit), response);
};

async function compatible(
  name: string,
  baseURL: string,
  { key }: ModelChoice,
  { headers }: ProviderSettings,
): Promise<Model> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const server = createOpenAICompatible({
    name: COMPATIBLE_SERVER,
    baseURL: baseURL.replace(/\/+$/, ''),
    headers: revealAll(headers),
    fetch: async (input, init) => streamOfCompletion(await askServer(input, init), init?.body),
    // Without this, a streamed answer does not say how many tokens it used.
    includeUsage: true,
    ...(key ? { apiKey: key.reveal() } : {}),
  });
  return server.chatModel(name);
}

type CreateProvider = (options: object) => (model: string) => Model;

/** The error for a model of a provider together with the address of a server, which would be asked instead. */
function providerAtAddress(name: string, provider: string, { names, inherits_base_url }: ModelChoice): Error {
  const address = inherits_base_url ? 'AGENT_BASE_URL' : names.base_url;
  const instead = inherits_base_url
    ? `set ${names.base_url} and ${names.key} to an OpenAI-compatible server of the provider`
    : `unset ${names.base_url}`;
  return misconfigured(
    names.model,
    `names the provider \`${provider}\`, but ${address} is set, so the server there would be asked for a model \`${name}\``,
    `the name of a model of that server; or ${instead}`,
  );
}

async function fromPackage(
  provider: string,
  model: string,
  { key, names }: ModelChoice,
  { options, headers }: ProviderSettings,
): Promise<Model> {
  const name = provider.startsWith('@') ? provider : `@ai-sdk/${provider}`;
  const unmet = unmetNeeds(provider, `${provider}:${model}`, {
    setting: names.key,
    isSet: key !== undefined,
    options: Object.keys(options),
  });
  const exports = await importInstalled(name, provider, names).catch((error: unknown) => {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ConfigurationError([...error.problems, ...unmet], { cause: error });
  });
  if (unmet.length > 0) throw new ConfigurationError(unmet);
  // Every provider package exports one `create<Provider>`, each with its own casing (`createOpenAI`).
  const wanted = `create${provider.replaceAll(/[^a-z0-9]/g, '')}`;
  const create =
    Object.entries(exports).find(([one]) => one.toLowerCase() === wanted)?.[1] ?? onlyCreate(exports);
  if (typeof create !== 'function') {
    throw misconfigured(
      names.model,
      `names the package ${name}, which offers no provider`,
      'a provider package of the AI SDK',
    );
  }
  try {
    return (create as CreateProvider)({
      ...options,
      ...(Object.keys(headers).length === 0 ? {} : { headers: revealAll(headers) }),
      ...(key ? { apiKey: key.reveal() } : {}),
      fetch: askServer,
    })(model);
  } catch (cause) {
    throw misconfigured(
      names.model,
      `names \`${model}\`, which ${name} does not accept`,
      'a model that the provider has',
      cause,
    );
  }
}

function onlyCreate(exports: Record<string, unknown>): unknown {
  const creates = Object.keys(exports).filter((key) => /^create[A-Z]/.test(key));
  return creates.length === 1 && creates[0] !== undefined ? exports[creates[0]] : undefined;
}

/**
 * Imports a package that is installed next to the daemon, or else in the working directory, where an operator may have
 * installed it.
 */
async function importInstalled(
  name: string,
  provider: string,
  names: ModelChoice['names'],
): Promise<Record<string, unknown>> {
  for (const from of [import.meta.url, pathToFileURL(resolve('package.json')).href]) {
    let path: string;
    try {
      path = createRequire(from).resolve(name);
    } catch {
      // The package is not installed there, so the next place is tried.
      continue;
    }
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  }
  throw misconfigured(
    names.model,
    `names the provider \`${provider}\`, which is not installed`,
    `run \`npm install ${name}\`, or set ${names.base_url} to an OpenAI-compatible server`,
  );
}

/** The tags in which models write their reasoning if their server does not separate it from the answer. */
const TAGS = ['think', 'thinking'];

/**
 * Separates the reasoning that a model writes into its text from its answer, so that it reaches neither people nor
 * summaries. It ends with its tag or, if the tag is missing, with the text: a lost answer is better than one that shows
 * the reasoning.
 */
function hideReasoning(model: Model): Model {
  return wrapLanguageModel({
    model,
    middleware: TAGS.map((tagName) => extractReasoningMiddleware({ tagName })),
  });
}
