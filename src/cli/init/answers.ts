import { namesMeant, RESERVED_CHANNEL_NAMES } from '../../../plugins/names.ts';
import type { ChannelPlugin } from '../../channel/index.ts';
import { checkValues } from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { usageError } from '../cli-error.ts';

/** A question, and the option that answers it. */
interface Question {
  option: string;
  question: string;
  default: string;
}

/**
 * The questions, in order. If the answers of a group do not fit together, all questions of the group are asked again.
 */
const GROUPS = [
  [{ option: 'name', question: 'Name of the service that the agent speaks for', default: 'agentd' }],
  [
    {
      option: 'channels',
      question: `Channels (${RESERVED_CHANNEL_NAMES.join(', ')}), separated by commas; empty: the channels of a website`,
      default: '',
    },
  ],
  [
    {
      option: 'origins',
      question: 'Origins of the pages with the widget, separated by commas (https://www.example.com)',
      default: '',
    },
  ],
  [{ option: 'api', question: 'Address of the business API; empty: none', default: '' }],
  [
    {
      option: 'model',
      question:
        'Language model: `provider:model`, or the name of a model on the server at AGENT_BASE_URL; empty: none',
      default: '',
    },
    {
      option: 'server',
      question: 'AGENT_BASE_URL, the address of an OpenAI-compatible server that has the model',
      default: '',
    },
  ],
] as const satisfies readonly (readonly Question[])[];

const ADD_SERVER =
  'Add --server with the address of an OpenAI-compatible server, or write the model as provider:model.';

const QUESTIONS = GROUPS.flat();

export type Answers = Record<(typeof QUESTIONS)[number]['option'], string>;

export const QUESTION_OPTIONS = Object.fromEntries(
  QUESTIONS.map((one) => [
    `--${one.option} <value>`,
    `${one.question}${one.default === '' ? '' : ` (default: ${one.default})`}`,
  ]),
) as Readonly<Record<`--${keyof Answers} <value>`, string>>;

/** Asks the person at the terminal. */
export interface Interviewer {
  /** The answer; rejects if the person leaves. */
  ask(question: string): Promise<string>;
  note(text: string): void;
}

/**
 * The answers from the options and, for all other questions, from the person.
 *
 * @param interviewer null if nobody can be asked: the other questions get their defaults
 * @throws CliError (2) if an option has a wrong value. A person with a wrong answer is asked again.
 */
export async function answersTo(
  options: Partial<Answers>,
  plugins: readonly ChannelPlugin[],
  interviewer: Interviewer | null,
): Promise<Answers> {
  const answers = Object.fromEntries(QUESTIONS.map((one) => [one.option, one.default])) as Answers;
  for (const group of GROUPS) {
    for (;;) {
      let asked = false;
      for (const one of group) {
        const given = options[one.option];
        if (given !== undefined) answers[one.option] = given.trim();
        else if (interviewer !== null && (one.option !== 'server' || (await lacksServer(answers, plugins)))) {
          answers[one.option] = await ask(one, interviewer);
          asked = true;
        }
      }
      const problem = await findProblem(answers, plugins);
      if (problem === null) break;
      if (!asked || interviewer === null) {
        const needsServer = answers.server === '' && (await lacksServer(answers, plugins));
        throw usageError(problem.what, needsServer ? ADD_SERVER : problem.right);
      }
      interviewer.note(`${problem.what}\n${problem.right}`);
    }
  }
  return answers;
}

async function ask({ question, default: otherwise }: Question, interviewer: Interviewer): Promise<string> {
  const shown = otherwise === '' ? question : `${question} [${otherwise}]`;
  return (await interviewer.ask(`${shown}: `)).trim() || otherwise;
}

/** Whether the model needs the address of its server. */
async function lacksServer(answers: Answers, plugins: readonly ChannelPlugin[]): Promise<boolean> {
  return answers.model !== '' && (await findProblem({ ...answers, server: '' }, plugins)) !== null;
}

/** The first problem of the answers so far. */
async function findProblem(
  answers: Answers,
  plugins: readonly ChannelPlugin[],
): Promise<{ what: string; right: string } | null> {
  const channels = listChannels(answers, plugins);
  const unknown = channels.find((name) => !plugins.some((plugin) => plugin.name === name));
  if (unknown !== undefined) {
    const known = plugins.map(({ name }) => name).join(', ');
    return { what: `there is no channel '${printable(unknown)}'`, right: `The channels are ${known}.` };
  }
  const active = plugins.filter(({ name }) => channels.includes(name));
  const [problem] = await checkValues(toSettings(answers), active);
  if (problem === undefined) return null;
  const head = `${problem.setting}=${printable(problem.value ?? '')}`;
  return { what: `${head} ${problem.problem}`, right: `Right: ${problem.right}.` };
}

/** The names of the channels that were chosen. Default: the channels of a website. */
export function listChannels({ channels }: Answers, plugins: readonly ChannelPlugin[]): string[] {
  if (channels !== '')
    return [...new Set(splitList(channels).map((word) => namesMeant(word, plugins)[0] ?? word))];
  return plugins.filter(({ delivery }) => delivery !== 'push').map(({ name }) => name);
}

/** The settings that result from the answers, without those that keep their defaults. */
export function toSettings({ name, origins, api, model, server }: Answers): Map<string, unknown> {
  const values = new Map<string, unknown>();
  if (name !== 'agentd') values.set('APP_NAME', name);
  if (origins !== '') values.set('WEBCHAT_ALLOWED_ORIGINS', splitList(origins));
  if (api !== '') values.set('API_BASE_URL', api);
  if (model !== '') values.set('AGENT_MODEL', model);
  if (server !== '') values.set('AGENT_BASE_URL', server);
  return values;
}

/** The entries of an answer that is a list. */
function splitList(text: string): string[] {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}
