import { jsonObject } from '../../channel/json-object.ts';
import {
  askDefaultToken,
  askKeySet,
  isSampleApi,
  type ModelServer,
  modelServers,
  providerWords,
  runtimeName,
} from '../../daemon/admin/probes.ts';
import type { Configuration, Settings } from '../../daemon/admin/settings.ts';
import { type SourceEntry, type SourceState, toolWarnings, withRegistry } from '../../daemon/admin/tools.ts';
import { adviceFor } from '../advice/advice.ts';
import { causesInWords } from '../cli-error.ts';
import { createFindings, describeFailure, type Finding, type ProbeClient, readText } from './finding.ts';

/** Checks whether the issuer's key set can be fetched, and has a key. Without one, no token is valid. */
export async function checkKeySet(settings: Settings, client: ProbeClient): Promise<Finding[]> {
  const { ok, failed } = createFindings('key set');
  try {
    const keys = await askKeySet(settings, client.fetchFor('the issuer of tokens'));
    if (keys === null) return [];
    if (keys > 0) return [ok(`keys at JWT_JWKS_URL that can check tokens: ${keys}`)];
    return [
      failed(
        'no key at JWT_JWKS_URL can check tokens',
        'The issuer must publish an RSA key of 2048 bits or more.',
      ),
    ];
  } catch (error) {
    return [
      failed(
        causesInWords(error),
        'Check JWT_JWKS_URL, and that this machine can reach it: try curl from here.',
      ),
    ];
  }
}

const WHOSE = 'the business API';

/** Checks whether the business API answers, and whether the default credentials get a token. */
export async function checkBusinessApi(settings: Settings, client: ProbeClient): Promise<Finding[]> {
  const { API_BASE_URL } = settings;
  if (API_BASE_URL === undefined)
    return [createFindings('business API').skipped('API_BASE_URL is not set, so tools call no API')];
  const findings = await Promise.all([reachable(API_BASE_URL, client), defaultToken(settings, API_BASE_URL)]);
  return isSampleApi(settings) && !client.answered.has(WHOSE) ? findings.map(skipStopped) : findings;
}

/** The sample API stops when `serve --dev` stops. That is not a failure of the operator's own API. */
function skipStopped({ check }: Finding): Finding {
  return createFindings(check).skipped(
    'this is the sample API of `serve --dev`, which runs only as long as that command',
  );
}

async function reachable(address: string, client: ProbeClient): Promise<Finding> {
  const { ok, failed } = createFindings('business API');
  const { answers, detail } = await probe(address, client.fetchFor(WHOSE));
  if (answers) return ok(detail);
  return failed(detail, 'Check API_BASE_URL, and that this machine can reach it: try curl from here.');
}

/**
 * Whether an address answers, and what it answers. Any answer below 500 is fine. A proxy in front of an API answers 5xx
 * if the API is down.
 */
async function probe(
  address: string,
  send: typeof fetch,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ answers: boolean; detail: string }> {
  const { origin } = new URL(address);
  try {
    const { status } = await send(address, { method: 'HEAD', redirect: 'manual', headers });
    if (status < 500) return { answers: true, detail: `${origin} answers` };
    return { answers: false, detail: `${origin} answers ${status}` };
  } catch (error) {
    return { answers: false, detail: `${origin}: ${describeFailure(error)}` };
  }
}

async function defaultToken(settings: Settings, baseUrl: string): Promise<Finding> {
  const { ok, failed, skipped } = createFindings('default credentials');
  const { API_EMAIL: email, API_PASSWORD: password } = settings;
  if (email === undefined || password === undefined)
    return skipped(
      'API_EMAIL and API_PASSWORD are not set, so people who are not signed in get no data of the business API, except from tools with `credentials: none`',
    );
  const failure = await askDefaultToken(settings, baseUrl, { email, password });
  if (failure === null) return ok(`the API issued a token to ${email}`);
  const { happened, todo } = adviceFor(failure.reason) ?? { happened: failure.message };
  return failed(happened, todo);
}

/**
 * Checks whether the tools of each source can be used, and whether its address answers. MCP servers are asked for their
 * tools; no tool is called.
 */
export async function checkTools(
  { settings, tools: entries }: Pick<Configuration, 'settings' | 'tools'>,
  client: ProbeClient,
): Promise<Finding[]> {
  if (entries.length === 0) return [];
  return withRegistry({ settings, tools: entries }, async (registry) => {
    const tools = registry.tools();
    const sources = registry.sources.filter(({ info }) => info.kind !== 'built-in');
    const findings = await Promise.all(
      sources.map(async (source, index) => {
        const names = tools.filter((tool) => tool.source === source.info).map(({ name }) => name);
        const entry = entries[index];
        const found = ofState(source.info.name, source.state(), names);
        return entry ? ofAddress(entry, found, settings, client) : found;
      }),
    );
    const { warning } = createFindings('tools');
    return [...findings, ...toolWarnings(tools).map((text) => warning(text))];
  });
}

function ofState(
  name: string,
  { detail, advice, withheld }: SourceState,
  offers: readonly string[],
): Finding {
  const { ok, warning } = createFindings(`tools of ${name}`);
  const offered = offers.length === 0 ? 'no tools' : offers.join(', ');
  if (detail !== null) return warning(detail, advice ?? 'Check that the server of this source runs.');
  if (withheld.length === 0) return ok(offered);
  const reasons = withheld.map(({ name: tool, because }) => `${tool}: ${because}`).join('; ');
  return warning(`${offered}; not offered: ${reasons}`, 'Run `agentd tools list`.');
}

/**
 * The finding about an OpenAPI source, with what its address answers. API_BASE_URL has a check of its own.
 * @param found the finding about its tools
 */
async function ofAddress(
  entry: SourceEntry,
  found: Finding,
  settings: Settings,
  client: ProbeClient,
): Promise<Finding> {
  if (entry.kind !== 'openapi' || entry.base_url === settings.API_BASE_URL) return found;
  const { base_url, name, headers } = entry;
  const whose = `the system of ${name}`;
  const { answers, detail } = await probe(base_url, client.fetchFor(whose), headers);
  if (answers) return { ...found, detail: `${detail}; ${found.detail}` };
  const isSample = isSampleApi(settings) && settings.API_BASE_URL?.startsWith(new URL(base_url).origin);
  if (isSample && !client.answered.has(whose)) return skipStopped(found);
  return createFindings(found.check).failed(
    detail,
    `Check \`base_url\` of the entry ${name} under \`tools\`, and that this machine can reach it: try curl from here.`,
  );
}

const modelCheck = createFindings('model');

/** Checks whether the model servers answer, accept the key, and have the models. Reads their lists of models. */
export async function checkModel(settings: Settings, client: ProbeClient): Promise<Finding[]> {
  const { AGENT_BASE_URL, AGENT_MODEL } = settings;
  const runtime = runtimeName(settings);
  if (runtime !== 'llm')
    return [
      modelCheck.skipped(
        `there is no model server to ask: the runtime is ${runtime}; ${formatValues(settings)}`,
      ),
    ];
  const first =
    AGENT_BASE_URL === undefined
      ? [
          modelCheck.skipped(
            `${AGENT_MODEL} is called through the package of its provider, which is installed`,
          ),
        ]
      : [];
  return [...first, ...(await Promise.all(modelServers(settings).map((one) => checkServer(one, client))))];
}

async function checkServer(server: ModelServer, client: ProbeClient): Promise<Finding> {
  const base = server.base_url.replace(/\/+$/, '');
  const { host } = new URL(base);
  try {
    const response = await client.fetchFor('the model server')(`${base}/models`, {
      // The key is sent to the configured server only.
      redirect: 'manual',
      headers: {
        Accept: 'application/json',
        ...(server.key ? { Authorization: `Bearer ${server.key.reveal()}` } : {}),
      },
    });
    const text = await readText(response);
    const { status } = response;
    if (status === 401 || status === 403) {
      const words = providerWords(text, { keys: server.key ? [server.key] : [] });
      return describeRefusal(server, host, `${status}${words === null ? '' : `: ${words}`}`);
    }
    return judge(server, status, modelsIn(text), host);
  } catch (error) {
    return modelCheck.failed(`${host}: ${describeFailure(error)}`, reach(server));
  }
}

function reach({ names }: ModelServer): string {
  return `Check ${names.base_url}, which usually ends in /v1, and that this machine can reach it.`;
}

function describeRefusal({ key, names }: ModelServer, host: string, answer: string): Finding {
  return key
    ? modelCheck.failed(`${host} refuses the key (${answer})`, `Set ${names.key} to a key of that server.`)
    : modelCheck.failed(
        `${host} requires a key (${answer}), and ${names.key} is not set here`,
        `Set ${names.key} for this command, too: \`serve --dev\` does not pass on secrets from its environment to other commands.`,
      );
}

function judge(server: ModelServer, status: number, models: readonly string[] | null, host: string): Finding {
  const { model, names } = server;
  if (status >= 500 || (status >= 300 && status < 400))
    return modelCheck.failed(`${host} answers ${status}`, reach(server));
  if (status !== 200 || models === null) {
    // Not every server has a list of models.
    return modelCheck.warning(
      `${host} answers, but has no list of its models (${status})`,
      `Try it with \`agentd chat\`. If that fails, check ${names.base_url}.`,
    );
  }
  if (models.includes(model)) return modelCheck.ok(`${host} answers, and has ${model}`);
  return modelCheck.warning(
    `${host} answers, but does not list ${model}`,
    models.length === 0
      ? `The server lists no models. Check ${names.base_url}, and that the server has a model.`
      : `Set ${names.model} to one of its models: ${models.slice(0, 10).join(', ')}.`,
  );
}

/** The ids in `{"data": [{"id": …}]}`; null if the text has another form. */
function modelsIn(text: string | null): string[] | null {
  const { data } = jsonObject(text ?? '');
  if (!Array.isArray(data)) return null;
  return data.flatMap((entry: { id?: unknown } | null) => (typeof entry?.id === 'string' ? [entry.id] : []));
}

/** Lets the operator see whether the daemon was started with other values, and so has a different agent. */
function formatValues({ AGENT_RUNTIME, AGENT_MODEL }: Settings): string {
  return Object.entries({ AGENT_RUNTIME, AGENT_MODEL })
    .map(([name, value]) => (value === undefined ? `${name} is not set` : `${name}=${value}`))
    .join(', ');
}
