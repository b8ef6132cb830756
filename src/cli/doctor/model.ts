import { jsonObject } from '../../channel/json-object.ts';
import { type ModelServer, modelServers, providerWords, runtimeName } from '../../daemon/admin/probes.ts';
import type { Settings } from '../../daemon/admin/settings.ts';
import { type Finding, findingsOf } from './finding.ts';
import { describeFailure, type ProbeClient, textOf } from './probe-client.ts';

const { ok, warning, failed, skipped } = findingsOf('model');

/** Checks whether the model servers answer, accept the key, and have the models. Reads their lists of models. */
export async function checkModel(settings: Settings, client: ProbeClient): Promise<Finding[]> {
  const { AGENT_BASE_URL, AGENT_MODEL } = settings;
  const runtime = runtimeName(settings);
  if (runtime !== 'llm')
    return [skipped(`there is no model server to ask: the runtime is ${runtime}; ${valuesOf(settings)}`)];
  const first =
    AGENT_BASE_URL === undefined
      ? [skipped(`${AGENT_MODEL} is called through the package of its provider, which is installed`)]
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
    const text = await textOf(response);
    const { status } = response;
    if (status === 401 || status === 403) {
      const words = providerWords(text, { keys: server.key ? [server.key] : [] });
      return refused(server, host, `${status}${words === null ? '' : `: ${words}`}`);
    }
    return judge(server, status, modelsIn(text), host);
  } catch (error) {
    return failed(`${host}: ${describeFailure(error)}`, reach(server));
  }
}

function reach({ names }: ModelServer): string {
  return `Check ${names.base_url}, which usually ends in /v1, and that this machine can reach it.`;
}

function refused({ key, names }: ModelServer, host: string, answer: string): Finding {
  return key
    ? failed(`${host} refuses the key (${answer})`, `Set ${names.key} to a key of that server.`)
    : failed(
        `${host} requires a key (${answer}), and ${names.key} is not set here`,
        `Set ${names.key} for this command, too: \`serve --dev\` does not pass on secrets from its environment to other commands.`,
      );
}

function judge(server: ModelServer, status: number, models: readonly string[] | null, host: string): Finding {
  const { model, names } = server;
  if (status >= 500 || (status >= 300 && status < 400))
    return failed(`${host} answers ${status}`, reach(server));
  if (status !== 200 || models === null) {
    // Not every server has a list of models.
    return warning(
      `${host} answers, but has no list of its models (${status})`,
      `Try it with \`agentd chat\`. If that fails, check ${names.base_url}.`,
    );
  }
  if (models.includes(model)) return ok(`${host} answers, and has ${model}`);
  return warning(
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
function valuesOf({ AGENT_RUNTIME, AGENT_MODEL }: Settings): string {
  return Object.entries({ AGENT_RUNTIME, AGENT_MODEL })
    .map(([name, value]) => (value === undefined ? `${name} is not set` : `${name}=${value}`))
    .join(', ');
}
