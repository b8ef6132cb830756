import { jsonObject } from '../../channel/json-object.ts';
import { runtimeName } from '../../daemon/agent/load.ts';
import { providerWords } from '../../daemon/agent/provider-words.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import { type Finding, findingsOf } from './finding.ts';
import { describeFailure, type ProbeClient, textOf } from './probe-client.ts';

const { ok, warning, failed, skipped } = findingsOf('model');
const REACH = 'Check AGENT_BASE_URL, which usually ends in /v1, and that this machine can reach it.';

/** Does the model server answer, accept the key, and have the model? Reads its list of models. */
export async function checkModel(settings: Settings, client: ProbeClient): Promise<Finding[]> {
  const { AGENT_BASE_URL, AGENT_MODEL, AGENT_API_KEY } = settings;
  const runtime = runtimeName(settings);
  if (runtime !== 'llm')
    return [
      skipped(`the runtime ${runtime} uses no model server that the doctor knows; ${valuesOf(settings)}`),
    ];
  if (AGENT_BASE_URL === undefined)
    return [skipped(`${AGENT_MODEL} is called through the package of its provider, which is installed`)];
  const base = AGENT_BASE_URL.replace(/\/+$/, '');
  const { host } = new URL(base);
  try {
    const response = await client.fetchFor('the model server')(`${base}/models`, {
      // The key is sent to the configured server only.
      redirect: 'manual',
      headers: {
        Accept: 'application/json',
        ...(AGENT_API_KEY ? { Authorization: `Bearer ${AGENT_API_KEY.reveal()}` } : {}),
      },
    });
    const text = await textOf(response);
    const { status } = response;
    if (status === 401 || status === 403) {
      const words = providerWords(text, { keys: AGENT_API_KEY ? [AGENT_API_KEY] : [] });
      return [refused(host, `${status}${words === null ? '' : `: ${words}`}`, AGENT_API_KEY !== undefined)];
    }
    return [judge(status, modelsIn(text), host, AGENT_MODEL ?? '')];
  } catch (error) {
    return [failed(`${host}: ${describeFailure(error)}`, REACH)];
  }
}

function refused(host: string, answer: string, hasKey: boolean): Finding {
  return hasKey
    ? failed(`${host} refuses the key (${answer})`, 'Set AGENT_API_KEY to a key of that server.')
    : failed(
        `${host} requires a key (${answer}), and AGENT_API_KEY is not set here`,
        'Run the doctor with the AGENT_API_KEY of the daemon: `serve --dev` does not copy secrets.',
      );
}

function judge(status: number, models: readonly string[] | null, host: string, model: string): Finding {
  if (status >= 500 || (status >= 300 && status < 400)) return failed(`${host} answers ${status}`, REACH);
  if (status !== 200 || models === null) {
    // Not every server has a list of models.
    return warning(
      `${host} answers, but has no list of its models (${status})`,
      'Try it with `agentd chat`. If that fails, check AGENT_BASE_URL.',
    );
  }
  if (models.includes(model)) return ok(`${host} answers, and has ${model}`);
  return warning(
    `${host} answers, but does not list ${model}`,
    `Set AGENT_MODEL to one of its models: ${models.slice(0, 10).join(', ') || 'it lists none'}.`,
  );
}

/** The ids in `{"data": [{"id": …}]}`; null if the text has another form. */
function modelsIn(text: string | null): string[] | null {
  const { data } = jsonObject(text ?? '');
  if (!Array.isArray(data)) return null;
  return data.flatMap((entry: { id?: unknown } | null) => (typeof entry?.id === 'string' ? [entry.id] : []));
}

/** Shows the operator if the daemon was started with other values, and so has another agent. */
function valuesOf({ AGENT_RUNTIME, AGENT_MODEL }: Settings): string {
  return Object.entries({ AGENT_RUNTIME, AGENT_MODEL })
    .map(([name, value]) => (value === undefined ? `${name} is not set` : `${name}=${value}`))
    .join(', ');
}
