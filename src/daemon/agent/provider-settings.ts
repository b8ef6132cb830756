import { isObject } from '../../channel/json-object.ts';
import { isSecureAddress } from '../settings/addresses.ts';
import { ConfigurationError, createProblem, type SettingProblem } from '../settings/problem.ts';
import { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';

/** What the server of a model gets beyond its key: AGENT_PROVIDER_OPTIONS and AGENT_PROVIDER_HEADERS. */
export interface ProviderSettings {
  /** For the function that creates the provider: `baseURL`, `region`, … */
  readonly options: Readonly<Record<string, unknown>>;
  /** For each call, by the name that the provider has in the SDK; undefined if there are none. */
  readonly call: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined;
  /** Headers of each request. */
  readonly headers: Readonly<Record<string, Secret>>;
}

export const NO_PROVIDER_SETTINGS: ProviderSettings = { options: {}, call: undefined, headers: {} };

const OPTIONS = 'AGENT_PROVIDER_OPTIONS';
const HEADERS = 'AGENT_PROVIDER_HEADERS';
/** The member of the options that each call gets. */
const CALL = 'providerOptions';
const RIGHT_OPTIONS = `a JSON object, such as {"baseURL": "https://…", "${CALL}": {"anthropic": {…}}}`;
const RIGHT_HEADERS = 'a JSON object of names and values, such as {"X-Team": "shop"}';

/** Options that are secrets. The setting is shown, so they have other places. */
const SECRETS = /api_?key|secret|password|auth_?token|session_?token|credential/i;
/** A header name (RFC 9110, section 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Headers that belong to the connection. */
const OF_CONNECTION = [
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
];

/** @throws ConfigurationError with all problems; it quotes no value of a header */
export function readProviderSettings(
  settings: Pick<Settings, typeof OPTIONS | typeof HEADERS>,
): ProviderSettings {
  const problems: SettingProblem[] = [];
  const { [CALL]: call, ...options } = readOptions(settings[OPTIONS], problems);
  const headers = readHeaders(settings[HEADERS], problems);
  if (call !== undefined && !(isObject(call) && Object.values(call).every(isObject)))
    problems.push(createProblem(OPTIONS, `has a ${CALL} that is not an object of objects`, RIGHT_OPTIONS));
  if (problems.length > 0) throw new ConfigurationError(problems);
  return { options, call: call as ProviderSettings['call'], headers };
}

function readOptions(text: string | undefined, problems: SettingProblem[]): Record<string, unknown> {
  const options = parseObject(text);
  for (const [name, value] of Object.entries(options)) {
    if (name === 'headers')
      problems.push(createProblem(OPTIONS, 'contains headers', `put them into ${HEADERS}`));
    else if (SECRETS.test(name))
      problems.push(
        createProblem(
          OPTIONS,
          `contains \`${name}\`, a secret`,
          `AGENT_API_KEY, ${HEADERS}, or the variable that the package of the provider reads`,
        ),
      );
    // The server gets the key.
    else if (name === 'baseURL' && (typeof value !== 'string' || !isSecureAddress(value)))
      problems.push(
        createProblem(OPTIONS, 'has an unsafe `baseURL`', 'an https address, or http on this machine'),
      );
  }
  return options;
}

function readHeaders(secret: Secret | undefined, problems: SettingProblem[]): Record<string, Secret> {
  const headers = Object.entries(parseObject(secret?.reveal()));
  for (const [name, value] of headers) {
    if (!TOKEN.test(name) || OF_CONNECTION.includes(name.toLowerCase()))
      problems.push(createProblem(HEADERS, 'has a name that a header cannot have', RIGHT_HEADERS));
    else if (typeof value !== 'string' || !/^[\t\x20-\x7e]*$/.test(value))
      problems.push(
        createProblem(HEADERS, `has a value of ${name} that a header cannot have`, RIGHT_HEADERS),
      );
  }
  return Object.fromEntries(headers.map(([name, value]) => [name, new Secret(String(value))]));
}

/** A setting that is a JSON object, if it is set. */
function parseObject(text = '{}'): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}
