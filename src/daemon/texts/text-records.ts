import { type ChannelText, findPlaceholders } from '../../channel/index.ts';

/**
 * One text that people read but that no agent wrote. An operator can replace it under `texts:` in the configuration
 * file (agentd-settings(5), "Texts"). The defaults are English.
 */
export type TextRecord = ProseRecord | WordsRecord;

export interface ProseRecord {
  kind: 'text';
  /** Who reads the text, and when. One sentence for operators. */
  sentence: string;
  default: string;
  /** Names in braces that are filled in. A replacement must contain all of them, and no others. */
  placeholders: readonly string[];
  /** `line` is plain text on one line. */
  form: 'markdown' | 'line';
  /** Maximum number of characters. Null if there is no limit. */
  limit: number | null;
}

interface WordsRecord {
  kind: 'words';
  sentence: string;
  /** If people are shown one, it is the first. All of them are accepted. */
  default: readonly string[];
}

/** Maximum length of a button's text on the strictest platform, in characters. */
export const BUTTON_CHARACTERS = 20;

/** Maximum length of a word that is an answer, in characters. */
export const WORD_CHARACTERS = 100;

export const TEXTS = {
  confirm: {
    kind: 'words',
    sentence: 'Answers that confirm a pending action.',
    default: ['yes', 'ok', 'confirm', 'yes please'],
  },
  decline: {
    kind: 'words',
    sentence: 'Answers that decline a pending action.',
    default: ['no', 'cancel', 'stop'],
  },
  confirm_only: {
    kind: 'words',
    sentence: 'Beginnings of an answer that confirms only some of several actions, such as "only 1 and 3".',
    default: ['only', 'just'],
  },
  confirm_except: {
    kind: 'words',
    sentence:
      'Beginnings of an answer that declines some of several actions and confirms the others, such as "not 2".',
    default: ['not', 'all but', 'all except', 'except', 'without'],
  },
  confirm_between: {
    kind: 'words',
    sentence: 'Words that may stand between the numbers of such an answer.',
    default: ['and', 'number', 'numbers', 'please'],
  },
  confirm_button: button('The button that confirms a pending action.', 'Confirm'),
  decline_button: button('The button that declines a pending action.', 'Decline'),
  confirm_all_button: button('The button that confirms all actions of a question.', 'Confirm all'),
  decline_all_button: button('The button that declines all actions of a question.', 'Decline all'),
  confirm_question: prose(
    'Asks a person to confirm an action. The daemon adds the arguments that {action} does not name.',
    'Please confirm: {action}',
    'action',
  ),
  confirm_as: prose(
    'The part of the question that says for whom the action is done: the person with this e-mail address.',
    'I’ll do this as you, {email}.',
    'email',
  ),
  confirm_as_you: prose('The same in a conversation that other people can read.', 'I’ll do this as you.'),
  confirm_how: prose(
    'The end of the question. {confirm} and {decline} are the first words of the lists `confirm` and `decline`.',
    'Answer "{confirm}" to confirm or "{decline}" to decline.',
    'confirm',
    'decline',
  ),
  confirm_question_list: prose(
    'Asks a person to confirm several actions. The daemon adds a numbered list of them.',
    'Please confirm these {count} actions:',
    'count',
  ),
  confirm_how_list: prose(
    'The end of a question about several actions. {confirm} and {decline} are the first words of the lists `confirm` and `decline`; {only} and {except} are examples with the first words of `confirm_only` and `confirm_except`.',
    'Answer "{confirm}" to confirm all of them or "{decline}" to decline all of them. For some of them, answer for example "{only}" or "{except}".',
    'confirm',
    'decline',
    'only',
    'except',
  ),
  confirm_part: line(
    'Beside the buttons of a question about several actions. {only} and {except} are examples with the first words of `confirm_only` and `confirm_except`.',
    'To confirm only some of them, answer for example "{only}" or "{except}".',
    'only',
    'except',
  ),
  confirm_replaced: prose(
    'Says that an open question is withdrawn, because the reply asks another one.',
    'I’ve withdrawn my earlier question, and nothing was done: {action}',
    'action',
  ),
  confirm_withdrawn: prose(
    'Says that an open question is withdrawn, because three messages did not answer it, or its tool has changed.',
    'I’ve withdrawn my question, because it wasn’t answered, and nothing was done: {action}',
    'action',
  ),
  confirm_rest_not_done: prose(
    'Says that a confirmed action was not carried out, because an earlier action of the same question did not succeed, or may not have.',
    '{action} – not done, because an earlier action failed or may have failed',
    'action',
  ),
  confirm_rest_sign_in: prose(
    'Says that a confirmed action was not carried out, because the person was no longer signed in as before, or the conversation had ended.',
    '{action} – not done, because your sign-in has changed',
    'action',
  ),
  confirm_rest_stopped: prose(
    'Says that a confirmed action was not carried out, because the person stopped the answer.',
    '{action} – not done, because you stopped this answer',
    'action',
  ),
  confirm_changed: prose(
    'Says that a confirmed action was not carried out, because the sign-in of the person fills in other arguments than the question showed.',
    'Nothing was done, because your sign-in has changed since this question: {action}',
    'action',
  ),
  confirm_not_done: prose(
    'Says that an action was declined.',
    '{action} – declined, nothing was changed',
    'action',
  ),
  confirm_sign_in: prose(
    'The answer to a confirmation without a usable token. It does not name the action, because the person is not known.',
    'Please sign in, and then answer again.',
  ),
  sign_in_at: prose(
    'The end of a reply on a platform if the person must sign in first. {url} is SIGN_IN_URL.',
    'To continue, please sign in: {url}',
    'url',
  ),
  sign_in_first: prose(
    'The end of a reply on a platform if the person must sign in first, without SIGN_IN_URL, in a group or if the channel has no text of its own that says how. `sign_in_waits` or `sign_in_then_ask` follows.',
    'To continue, please sign in first.',
  ),
  sign_in_waits: prose(
    'Follows `sign_in_at`, `sign_in_first`, or how to sign in on the platform, if the question waits for the sign-in (SIGN_IN_WAIT_SECONDS).',
    'Then I’ll answer your question.',
  ),
  sign_in_in_group: prose(
    'The private message to a person whose question in a group needs sign-in. How to sign in follows.',
    'You asked me something in a group that I can answer only after you sign in.',
  ),
  sign_in_written: prose(
    'Follows `sign_in_first` in a group if the platform took the private message.',
    'I have written to you privately.',
  ),
  sign_in_write: prose(
    'Follows `sign_in_first` in a group if the bot cannot write to the person first.',
    'Please write to me privately.',
  ),
  sign_in_write_at: prose(
    'As `sign_in_write`, if the channel knows the address of a private chat with the bot, which is {url}.',
    'Please write to me privately: {url}',
    'url',
  ),
  answered_privately: prose(
    'Sent to a group when a question from it was answered privately, after sign-in.',
    'I’ve answered the question privately.',
  ),
  sign_in_then_ask: prose(
    'Follows them if the question does not wait for the sign-in.',
    'Then ask me again.',
  ),
  confirm_gone: line(
    'The answer to a button of an action that is no longer pending.',
    'This question is no longer open. Please ask again.',
  ),
  confirm_late: line(
    'The answer to a question that has ended. {time} is a time of day, in the time zone of the person, or else in UTC.',
    'That question ended at {time}. Nothing was done.',
    'time',
  ),
  became_done: line('The answer to a button: what became of the action.', 'This was done.'),
  became_failed: line('The answer to a button: what became of the action.', 'This couldn’t be done.'),
  became_unknown: line(
    'The answer to a button: what became of the action.',
    'It isn’t known whether this was done.',
  ),
  became_running: line('The answer to a button: what became of the action.', 'This is being done.'),
  became_declined: line(
    'The answer to a button: what became of the action.',
    'This was declined, and not done.',
  ),
  became_withdrawn: line(
    'The answer to a button: what became of the action.',
    'This was withdrawn, and not done.',
  ),
  decided_yes: line(
    'Takes the place of the buttons: who confirmed a question, and when ({time}, as in `confirm_late`). What became of it follows.',
    'Confirmed by {who} at {time}.',
    'who',
    'time',
  ),
  decided_no: line(
    'Takes the place of the buttons: who declined a question, and when.',
    'Declined by {who} at {time}. Nothing was done.',
    'who',
    'time',
  ),
  decided_by_you: line('{who} in a private chat.', 'you'),
  decided_by_asked: line(
    '{who} in a group if the platform does not name the person.',
    'the person who was asked',
  ),
  confirm_not_yours: line(
    'Shown to a person who presses another person’s button.',
    'Only the person who was asked can answer this.',
  ),
  receipt_done: prose(
    'A line at the end of a reply: an action was carried out.',
    '{action} – done',
    'action',
  ),
  receipt_failed: prose(
    'A line at the end of a reply: an action was not carried out, and there is no status that says why.',
    '{action} – failed',
    'action',
  ),
  receipt_refused: prose(
    'A line at the end of a reply: the API refused an action. {status} is the status of its answer.',
    '{action} – failed (status {status})',
    'action',
    'status',
  ),
  receipt_unknown: prose(
    'A line at the end of a reply: nobody knows whether an action was carried out.',
    '{action} – unknown: it is not known whether this happened',
    'action',
  ),
  nothing_changed: prose(
    'The end of a reply in which the agent says that it has changed something, although no tool has changed anything in this conversation.',
    'This message changed nothing.',
  ),
  open_page: prose(
    'The end of a reply if an MCP server needs the person to open a page. {service} is the `name` of its entry, {host} the host of the page, and {url} its address.',
    'The service {service} asks you to open this page, at {host}: {url}',
    'service',
    'host',
    'url',
  ),
  link_code_question: prose(
    'Asks the sender of a link code. {email} is shown in quotes, as text.',
    'Connect this chat with {email}? From then on, I act for that account here. Agree only if it’s yours.',
    'email',
  ),
  link_code_how: prose(
    'The end of the question. {confirm} and {decline} are the first words of the lists `confirm` and `decline`.',
    'Answer "{confirm}" to connect or "{decline}" to refuse.',
    'confirm',
    'decline',
  ),
  link_code_on_site: prose(
    'The answer to a sender who agreed before the person has confirmed on the website.',
    'Thank you. Now confirm on the website that this is your chat.',
  ),
  link_code_done: prose(
    'Says that a chat is connected. {email} is shown in quotes, as text; {time} is in the time zone of the person, or else says that it is in UTC.',
    '✅ This chat is connected with {email}, until {time}.',
    'email',
    'time',
  ),
  link_code_declined: prose(
    'The answer to a sender who refused.',
    'This chat was not connected. The code cannot be used any more.',
  ),
  link_code_gone: prose(
    'The answer to a sender who agreed too late.',
    '❌ This code is no longer valid. Please get a new one from the website.',
  ),
  link_code_invalid_token: prose(
    'Says that a chat was not connected, because the sign-in on the website has ended.',
    '❌ This chat was not connected, because the sign-in on the website has ended. Please sign in there and get a new code.',
  ),
  link_code_other_number: prose(
    'Says that a chat was not connected, because the person has another phone number.',
    '❌ This chat was not connected: the account on the website has another phone number.',
  ),
  link_code_held_by_another: prose(
    'Says that a chat was not connected, because the number is linked to another person.',
    '❌ This chat was not connected: this number is connected with another account.',
  ),
  link_ended: prose(
    'Says that the link of a chat was ended from elsewhere, for example on the website.',
    'This chat is no longer connected with your account: the connection was ended elsewhere.',
  ),
  link_sign_in_over: prose(
    'Says that the link of a chat has ended, because the person is no longer signed in on the website.',
    'You are no longer signed in on the website, so this chat is not connected any more. To go on, sign in there and connect this chat again.',
  ),
  link_replaced: prose(
    'Says that the link of a chat was replaced from elsewhere by the link of another person.',
    'This chat is no longer connected with the earlier account: it was connected with another account elsewhere. If that was not you, ask for help.',
  ),
  link_ended_by_operator: prose(
    'Says that an administrator has ended the link of a chat.',
    'The connection of this chat with your account was ended by an administrator. To use your account here again, connect this chat again.',
  ),
  link_replaced_by_operator: prose(
    'Says that an administrator has linked a chat to another person.',
    'An administrator connected this chat with another account, and the earlier connection has ended. If you did not expect that, ask for help.',
  ),
  failure_notice: prose(
    'The answer to a message that failed for good. A group may read it, so it does not say what failed.',
    'Sorry, I couldn’t answer your message. Please try again later.',
  ),
  budget_notice: prose(
    'The answer if a message does not fit into what is left of AGENT_DAILY_TOKENS. {wait} is one of the texts `wait_…`.',
    'I can’t answer now, because I’ve reached my limit for one person in a day. Please try again in about {wait}.',
    'wait',
  ),
  budget_too_long: prose(
    'The answer to a single message that needs more than AGENT_DAILY_TOKENS.',
    'I can’t answer this, because it would exceed my limit for one person in a day.',
  ),
  wait_minute: line('A time to wait.', 'a minute'),
  wait_minutes: prose('A time to wait.', '{count} minutes', 'count'),
  wait_hour: line('A time to wait.', 'an hour'),
  wait_hours: prose('A time to wait.', '{count} hours', 'count'),
  turn_limit_notice: prose(
    'The answer to the first message beyond the limit of a session.',
    'This conversation has reached its message limit ({max}). It can continue after {time} (UTC).',
    'max',
    'time',
  ),
} as const satisfies Record<string, TextRecord>;

export type TextName = keyof typeof TEXTS;
type NameOf<Kind> = {
  [Name in TextName]: (typeof TEXTS)[Name]['kind'] extends Kind ? Name : never;
}[TextName];
/** The name of a text that the daemon sends. */
export type ProseName = NameOf<'text'>;
/** The name of a list of words that people answer with. */
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

/** One line of plain text of at most 200 characters, because some platforms show it in a small window. */
function line<const Names extends string[]>(
  sentence: string,
  text: string,
  ...placeholders: Names
): ProseRecord & { placeholders: Names } {
  return { ...prose(sentence, text, ...placeholders), form: 'line', limit: 200 };
}

function button(sentence: string, text: string): ProseRecord & { placeholders: [] } {
  return { ...line(sentence, text), limit: BUTTON_CHARACTERS };
}

/** All texts, by name: those of the daemon, then those of channels. */
export function textRecords(own: readonly ChannelText[]): Readonly<Record<string, TextRecord>> {
  const ofChannels = own.map(({ name, sentence, default: text }) => [
    name,
    prose(sentence, text, ...findPlaceholders(text)),
  ]);
  return { ...TEXTS, ...Object.fromEntries(ofChannels) };
}
