import { type ChannelText, placeholdersOf } from '../../channel/index.ts';

/**
 * One text that people read and no agent wrote. An operator can replace it under `texts:` in the configuration file
 * (agentd-settings(5), "Texts"). The defaults are English.
 */
export type TextRecord = ProseRecord | WordsRecord;

export interface ProseRecord {
  kind: 'text';
  /** Who reads it, and when. One sentence for operators. */
  sentence: string;
  default: string;
  /** Names in braces that are filled in. A replacement must contain all of them, and no others. */
  placeholders: readonly string[];
  /** `line`: plain text on one line; else Markdown. */
  form: 'markdown' | 'line';
  /** Most characters; null: no limit. */
  limit: number | null;
}

export interface WordsRecord {
  kind: 'words';
  sentence: string;
  /** The first one is shown, each one counts. */
  default: readonly string[];
}

/** The shortest limit of a platform that has buttons. */
const BUTTON_CHARACTERS = 20;

export const TEXTS = {
  confirm: {
    kind: 'words',
    sentence: 'Answers that confirm a waiting action.',
    default: ['yes', 'ok', 'confirm', 'yes please'],
  },
  decline: {
    kind: 'words',
    sentence: 'Answers that decline a waiting action.',
    default: ['no', 'cancel', 'stop'],
  },
  confirm_button: button('The button that confirms a waiting action.', 'Confirm'),
  decline_button: button('The button that declines a waiting action.', 'Decline'),
  confirm_question: prose(
    'Asks a person to confirm an action. The daemon adds the arguments that {action} does not name.',
    'Please confirm: {action}',
    'action',
  ),
  confirm_how: prose(
    'The end of the question. {confirm} and {decline} are the first of the words.',
    'Answer "{confirm}" to confirm or "{decline}" to decline.',
    'confirm',
    'decline',
  ),
  confirm_not_done: prose('Says that an action was declined.', 'Not done: {action}', 'action'),
  confirm_sign_in: prose(
    'The answer to a confirmation that came without a usable token. It does not name the action, because the person is not known.',
    'Please sign in, and then answer again.',
  ),
  confirm_gone: plain(
    'The answer to a button of an action that no longer waits.',
    'This no longer waits for an answer. Please ask again.',
  ),
  confirm_not_yours: plain(
    'Shown to a person who presses another person’s button.',
    'Only the person who was asked can answer this.',
  ),
  confirm_done: prose(
    'Said if something was done and the agent could not say so.',
    'Done: {action}',
    'action',
  ),
  confirm_failed: prose(
    'Said if something could not be done and the agent could not say so.',
    'This could not be done: {action}',
    'action',
  ),
  write_unknown: prose(
    'The end of a reply if it is not known whether an action of the agent was carried out.',
    'It is not known whether this was done: {action}',
    'action',
  ),
  failure_notice: prose(
    'The answer to a message that failed for good. A group may read it, so it does not say what failed.',
    'Sorry, I could not answer your message. Please try again later.',
  ),
  budget_notice: prose(
    'The answer if a person has used up AGENT_DAILY_TOKENS. {wait} is one of the texts below.',
    'I cannot answer now: what I may use for one person in a day is used up. Please try again in about {wait}.',
    'wait',
  ),
  budget_too_long: prose(
    'The answer to a message that needs more than AGENT_DAILY_TOKENS alone.',
    'I cannot answer this: it takes more than I may use for one person in a day.',
  ),
  wait_minute: plain('A wait.', 'a minute'),
  wait_minutes: prose('A wait.', '{count} minutes', 'count'),
  wait_hour: plain('A wait.', 'an hour'),
  wait_hours: prose('A wait.', '{count} hours', 'count'),
  turn_limit_notice: prose(
    'The answer to the first message beyond the limit of a session.',
    'This conversation has had all of its {max} messages. It goes on after {time} (UTC).',
    'max',
    'time',
  ),
} as const satisfies Record<string, TextRecord>;

export type TextName = keyof typeof TEXTS;
type NameOf<Kind> = {
  [Name in TextName]: (typeof TEXTS)[Name]['kind'] extends Kind ? Name : never;
}[TextName];
/** A text that is said. */
export type ProseName = NameOf<'text'>;
/** A list of words that people say. */
export type WordsName = NameOf<'words'>;

/** The values that fill in a text. */
export type Values<Name extends ProseName> = Readonly<
  Record<(typeof TEXTS)[Name]['placeholders'][number], string>
>;

function prose<const Names extends string[]>(
  sentence: string,
  text: string,
  ...placeholders: Names
): ProseRecord & { placeholders: Names } {
  return { kind: 'text', sentence, default: text, placeholders, form: 'markdown', limit: null };
}

/** On one line of plain text, because some platforms show it in a small window: at most 200 characters. */
function plain(sentence: string, text: string): ProseRecord & { placeholders: [] } {
  return { kind: 'text', sentence, default: text, placeholders: [], form: 'line', limit: 200 };
}

function button(sentence: string, text: string): ProseRecord & { placeholders: [] } {
  return { kind: 'text', sentence, default: text, placeholders: [], form: 'line', limit: BUTTON_CHARACTERS };
}

/** All texts, by name: those of the daemon, then those of channels. */
export function textRecords(own: readonly ChannelText[]): Readonly<Record<string, TextRecord>> {
  const ofChannels = own.map(({ name, sentence, default: text }): [string, ProseRecord] => [
    name,
    {
      kind: 'text',
      sentence,
      default: text,
      placeholders: placeholdersOf(text),
      form: 'markdown',
      limit: null,
    },
  ]);
  return { ...TEXTS, ...Object.fromEntries(ofChannels) };
}
