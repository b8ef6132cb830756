import { runtimeName } from '../../daemon/agent/load.ts';
import { providerWords } from '../../daemon/agent/provider-words.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import { type Asking, textOf, whyNot } from './ask.ts';
import type { Finding } from './finding.ts';

const CHECK = 'model';
const REACH = 'Is AGENT_BASE_URL right, and does this machine reach it? It ends in /v1 or the like.';

/** Does the model server answer, does it take the key, and has it the model? It is asked for its list of models. */
export async function checkModel(settings: Settings, asking: Asking): Promise<Finding[]> {
  const { AGENT_BASE_URL, AGENT_MODEL, AGENT_API_KEY } = settings;
  const runtime = runtimeName(settings);
  if (runtime !== 'llm')
    return [skipped(`the runtime ${runtime} asks no model server that is known here; ${seenIn(settings)}`)];
  if (AGENT_BASE_URL === undefined)
    return [skipped(`${AGENT_MODEL} is asked through the package of its provider, which is installed`)];
  const base = AGENT_BASE_URL.replace(/\/+$/, '');
  const { host } = new URL(base);
  try {
    const response = await asking.fetchFor('the model server')(`${base}/models`, {
      // The key goes to the configured server only.
      redirect: 'manual',
      headers: {
        Accept: 'application/json',
        ...(AGENT_API_KEY ? { Authorization: `Bearer ${AGENT_API_KEY.reveal()}` } : {}),
      },
    });
    const text = await textOf(response);
    const { status } = response;
    if (status === 401 || status === 403) {
      const said = providerWords(text, { key: AGENT_API_KEY });
      return [refused(host, `${status}${said === null ? '' : `: ${said}`}`, AGENT_API_KEY !== undefined)];
    }
    return [judge(status, modelsIn(text), host, AGENT_MODEL ?? '')];
  } catch (error) {
    return [{ check: CHECK, outcome: 'failed', detail: `${host}: ${whyNot(error)}`, advice: REACH }];
  }
}

function refused(host: string, answer: string, hasKey: boolean): Finding {
  const detail = hasKey
    ? `${host} refuses the key (${answer})`
    : `${host} asks for a key (${answer}), and AGENT_API_KEY is not set here`;
  const advice = hasKey
    ? 'Set AGENT_API_KEY to a key of that server.'
    : 'Run doctor with the AGENT_API_KEY that the daemon was started with: `serve --dev` does not copy secrets.';
  return { check: CHECK, outcome: 'failed', detail, advice };
}

function judge(status: number, models: readonly string[] | null, host: string, model: string): Finding {
  if (status >= 500 || (status >= 300 && status < 400))
    return { check: CHECK, outcome: 'failed', detail: `${host} answers ${status}`, advice: REACH };
  if (status !== 200 || models === null) {
    // Not every server of this kind has such a list.
    const detail = `${host} answers, and does not tell which models it has (${status})`;
    return {
      check: CHECK,
      outcome: 'warning',
      detail,
      advice: 'Try it with `agentd chat`; see AGENT_BASE_URL if it fails.',
    };
  }
  if (models.includes(model))
    return { check: CHECK, outcome: 'ok', detail: `${host} answers, and has ${model}` };
  return {
    check: CHECK,
    outcome: 'warning',
    detail: `${host} answers, and does not list ${model}`,
    advice: `Set AGENT_MODEL to one that it has: ${models.slice(0, 10).join(', ') || 'it lists none'}.`,
  };
}

/** Ids of `{"data": [{"id": …}]}`; null where it is nothing of the kind. */
function modelsIn(text: string | null): string[] | null {
  try {
    const { data } = (JSON.parse(text ?? '') ?? {}) as { data?: unknown };
    if (!Array.isArray(data)) return null;
    return data.flatMap((entry: { id?: unknown } | null) =>
      typeof entry?.id === 'string' ? [entry.id] : [],
    );
  } catch {
    // No JSON: it is told as an answer that lists nothing.
    return null;
  }
}

/** A daemon that was started with other values has another agent: the operator must be able to tell. */
function seenIn({ AGENT_RUNTIME, AGENT_MODEL }: Settings): string {
  const seen = Object.entries({ AGENT_RUNTIME, AGENT_MODEL });
  return seen
    .map(([name, value]) => (value === undefined ? `${name} is not set` : `${name}=${value}`))
    .join(', ');
}

function skipped(detail: string): Finding {
  return { check: CHECK, outcome: 'skipped', detail };
}
