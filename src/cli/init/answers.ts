import { RESERVED_CHANNEL_NAMES } from '../../../plugins/names.ts';
import { askTerminal } from '../ask-terminal.ts';
import { failed } from '../cli-error.ts';
import type { OptionValues } from '../command.ts';

/** One of the five questions, and the option that answers it. */
interface Question {
  option: string;
  question: string;
  default: string;
}

export const QUESTIONS = [
  { option: 'name', question: 'Name of the service that the agent speaks for', default: 'agentd' },
  {
    option: 'channels',
    question: `Channels (${RESERVED_CHANNEL_NAMES.join(', ')}), separated by commas; empty: the channels of a website`,
    default: '',
  },
  {
    option: 'origins',
    question: 'Origins of the pages with the widget, separated by commas (https://www.example.com)',
    default: '',
  },
  { option: 'api', question: 'Address of the business API; empty: none', default: '' },
  {
    option: 'model',
    question: 'Language model, `provider:model` or a name at the server of AGENT_BASE_URL; empty: none',
    default: '',
  },
] as const satisfies readonly Question[];

export type Answers = Record<(typeof QUESTIONS)[number]['option'], string>;

/** The answers from the options. All other questions are asked on a terminal, unless --yes is given. */
export async function answersTo(options: OptionValues): Promise<Answers> {
  const asks = options.yes !== true && process.stdin.isTTY === true && process.stderr.isTTY === true;
  const answers: Partial<Answers> = {};
  for (const one of QUESTIONS) {
    const given = options[one.option];
    if (typeof given === 'string') answers[one.option] = given.trim();
    else answers[one.option] = asks ? await ask(one) : one.default;
  }
  return answers as Answers;
}

async function ask({ question, default: otherwise }: Question): Promise<string> {
  const shown = otherwise === '' ? question : `${question} [${otherwise}]`;
  const answer = await askTerminal(`${shown}: `, process.stdin, process.stderr);
  if (answer === null) throw failed('nothing was written: the questions were not answered');
  return answer.trim() === '' ? otherwise : answer.trim();
}

/** The entries of an answer that is a list. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}
