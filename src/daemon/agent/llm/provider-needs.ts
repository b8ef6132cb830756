import { createProblem, type SettingProblem } from '../../settings/problem.ts';

/** Stands for the API key in the settings of agentd, which can replace the provider's own variable. */
const KEY = 'key';

/** Begins the name of an option in AGENT_PROVIDER_OPTIONS. */
const OPTION = 'option ';
const option = (name: string) => `${OPTION}${name}`;

/** Each entry is one need. It has alternatives; all variables of one of them must be set. */
type Needs = readonly (readonly (readonly string[])[])[];

const keyIn = (name: string): Needs => [[[KEY], [name]]];

/**
 * What the known provider packages (`@ai-sdk/…`) need. They read these variables only when they are first called, so
 * without this table the first message would fail. Packages that are not listed are not checked.
 */
const NEEDS: Readonly<Record<string, Needs>> = {
  'amazon-bedrock': [
    [['AWS_REGION'], [option('region')]],
    [[KEY], ['AWS_BEARER_TOKEN_BEDROCK'], ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']],
  ],
  anthropic: keyIn('ANTHROPIC_API_KEY'),
  azure: [
    [['AZURE_RESOURCE_NAME'], [option('resourceName')], [option('baseURL')]],
    [[KEY], ['AZURE_API_KEY']],
  ],
  cerebras: keyIn('CEREBRAS_API_KEY'),
  cohere: keyIn('COHERE_API_KEY'),
  deepinfra: keyIn('DEEPINFRA_API_KEY'),
  deepseek: keyIn('DEEPSEEK_API_KEY'),
  fireworks: keyIn('FIREWORKS_API_KEY'),
  google: keyIn('GOOGLE_GENERATIVE_AI_API_KEY'),
  'google-vertex': [
    [
      [KEY],
      ['GOOGLE_VERTEX_API_KEY'],
      ['GOOGLE_VERTEX_PROJECT', 'GOOGLE_VERTEX_LOCATION'],
      [option('project'), option('location')],
    ],
  ],
  groq: keyIn('GROQ_API_KEY'),
  mistral: keyIn('MISTRAL_API_KEY'),
  openai: keyIn('OPENAI_API_KEY'),
  perplexity: keyIn('PERPLEXITY_API_KEY'),
  togetherai: [[[KEY], ['TOGETHER_API_KEY'], ['TOGETHER_AI_API_KEY']]],
  xai: keyIn('XAI_API_KEY'),
};

/** Providers that are also the name of a model of local servers: `mistral:7b`. */
const ALSO_MODELS: readonly string[] = ['mistral'];

/** Whether `name:…` can only mean a provider, and not a model of the server at AGENT_BASE_URL. */
export function isOnlyProvider(name: string): boolean {
  return Object.hasOwn(NEEDS, name) && !ALSO_MODELS.includes(name);
}

/**
 * The settings that a provider needs and that are not set.
 * @param model the model as the setting names it
 * @param key the setting that has the API key, whether it is set, and the names in AGENT_PROVIDER_OPTIONS
 */
export function unmetNeeds(
  provider: string,
  model: string,
  key: { setting: string; isSet: boolean; options: readonly string[] },
): SettingProblem[] {
  const needs = Object.hasOwn(NEEDS, provider) ? NEEDS[provider] : undefined;
  const isSet = (name: string) => {
    if (name === KEY) return key.isSet;
    if (name.startsWith(OPTION)) return key.options.includes(name.slice(OPTION.length));
    return (process.env[name] ?? '').trim() !== '';
  };
  return (needs ?? [])
    .filter((alternatives) => !alternatives.some((names) => names.every(isSet)))
    .map(([[first = KEY] = [], ...others]) => {
      const setting = first === KEY ? key.setting : first;
      const right = first === KEY ? 'a key of the provider' : 'set it in the environment of the daemon';
      const rest = others.map(describePlace);
      return createProblem(setting, `is not set, but \`${model}\` needs it`, [right, ...rest].join('; or '));
    });
}

function describePlace(names: readonly string[]): string {
  const isOption = names[0]?.startsWith(OPTION) === true;
  const said = names.map((name) => (isOption ? name.slice(OPTION.length) : name)).join(' and ');
  return isOption ? `${said} in AGENT_PROVIDER_OPTIONS` : `${said} in the environment of the daemon`;
}
