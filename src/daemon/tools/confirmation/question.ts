import type { ConfirmableAction, ReplyConfirmation } from '../../../channel/index.ts';
import type { Principal } from '../../identity/identity.ts';
import { valueAt } from '../../syntax/json-path.ts';
import type { LocalTexts } from '../../texts/texts.ts';
import { boundPath } from '../bind-parameters.ts';
import type { JsonSchema } from '../tool.ts';
import { argumentPaths } from './confirm-policy.ts';
import { isolateText, isRightToLeft, shownName, shownValue, visible } from './plain-value.ts';

/** Longest question, in characters. Nothing is shortened, so a call with a longer question is refused. */
export const QUESTION_MAX = 3_000;
/**
 * If the arguments have more characters of JSON than this, the question is too long in any case, so it is not built.
 */
const ARGUMENTS_MAX = 4 * QUESTION_MAX;
/** Shown for an argument that is not given. It has no quotes, so it cannot be mistaken for a value. */
const LEFT_OUT = '–';
/** Maximum depth of values that are shown line by line. Deeper values are shown as JSON. */
const MAX_DEPTH = 16;

/** The properties of a tool that a person is shown. */
export interface ToolInQuestion {
  name: string;
  /** Null: the name, split into words, is shown. */
  title: string | null;
  /** With placeholders such as `{parameter}`. Null: the title is shown. */
  summary: string | null;
  /** The bound arguments that are not shown unless the summary names them, named as in `Tool.bind`. */
  hide: readonly string[];
  /** The schema of the arguments that the model chose. */
  parameters?: JsonSchema;
  /** The verb on the button that confirms the action. */
  confirm_label?: string;
}

type Arguments = Readonly<Record<string, unknown>>;

/** An action that a person is asked to confirm, as plain text. It contains every argument that is not hidden. */
export type Question = Omit<ConfirmableAction, 'number'>;

type Detail = Question['details'][number];

/**
 * The question about a call. Values are on one line, with nothing hidden in them.
 * @param args all arguments that are sent, including those from claims of the person
 * @returns null if the question would be too long
 */
export function buildQuestion(tool: ToolInQuestion, args: Arguments): Question | null {
  if (JSON.stringify(args).length > ARGUMENTS_MAX) return null;
  const plain = writeQuestion(tool, args, { value: shownValue, name: shownName, text: visible });
  const isMixed = isRightToLeft(plainQuestion([plain]));
  const question = isMixed ? writeQuestion(tool, args, ISOLATED) : plain;
  return Array.from(plainQuestion([question])).length > QUESTION_MAX ? null : question;
}

/** How the parts of a question are written. */
interface Writing {
  value(value: unknown): string;
  /** The name of an argument. */
  name(name: string): string;
  /** A part of the summary or the title. */
  text(text: string): string;
}

/** If a part of a question is written from right to left, each part keeps its own direction. */
const ISOLATED: Writing = {
  value: (value) => isolateText(shownValue(value)),
  name: (name) => inOwnDirection(shownName(name)),
  text: (text) => inOwnDirection(visible(text)),
};

function inOwnDirection(text: string): string {
  return isRightToLeft(text) ? isolateText(text) : text;
}

function writeQuestion(tool: ToolInQuestion, args: Arguments, write: Writing): Question {
  const shown = new Set(tool.hide.map((parameter) => JSON.stringify(boundPath(parameter))));
  const fill = (name: string): string => {
    const path = pathIn(args, name);
    if (path === null) return LEFT_OUT;
    shown.add(JSON.stringify(path));
    return write.value(valueAt(args, path));
  };
  const title =
    tool.summary === null
      ? write.text(tool.title ?? splitName(tool.name))
      : tool.summary
          .split(/\{([^{}]+)\}/)
          .map((part, index) => (index % 2 === 0 ? write.text(part) : fill(part)))
          .join('');
  const leaves = listLeaves(args, [], { write, isShown: (path) => shown.has(JSON.stringify(path)) });
  const { confirm_label } = tool;
  return {
    title,
    details: withTitles(leaves, tool, write),
    ...(confirm_label === undefined ? {} : { confirm_label }),
  };
}

/** The actions of a question as plain text. */
export function plainQuestion(questions: readonly Question[]): string {
  return listLines(questions, '', (line) => line).join('\n');
}

/** One line for each action and for each of its further arguments. Several actions are numbered. */
function listLines(
  questions: readonly Question[],
  bullet: string,
  write: (line: string) => string,
): string[] {
  return questions.flatMap(({ title, details }, index) => {
    const number = questions.length === 1 ? '' : `${index + 1}. `;
    const before = `${' '.repeat(number.length)}${bullet}`;
    return [`${number}${write(title)}`, ...details.map((detail) => `${before}${write(detailLine(detail))}`)];
  });
}

export function questionLine({ title, details }: Question): string {
  return details.length === 0 ? title : `${title} (${details.map(detailLine).join(', ')})`;
}

function detailLine({ label, value }: Detail): string {
  return `${label}: ${value}`;
}

/** The actions of a question, with their further arguments as lists, in CommonMark. */
export function markdownLines(questions: readonly Question[]): string[] {
  return listLines(questions, '- ', escapeMarkdown);
}

/** The name of a tool as words: `shop_cancelOrder` is `shop cancel order`. */
export function splitName(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .trim()
    .toLowerCase();
}

type Path = readonly string[];

/** The path to the argument that a name denotes. Null if there is none. */
function pathIn(args: Arguments, name: string): Path | null {
  return argumentPaths(name).find((path) => valueAt(args, path) !== undefined) ?? null;
}

/** Longest title of an argument that is shown, in characters. */
const TITLE_MAX = 60;

/** The details with their titles. A title that two arguments have says nothing about either of them. */
function withTitles(leaves: readonly Leaf[], { parameters }: ToolInQuestion, write: Writing): Detail[] {
  const titles = leaves.map(({ path }) => titleAt(parameters, path));
  return leaves.map(({ label, value }, index) => {
    const title = titles[index];
    const isOwn = title !== undefined && titles.indexOf(title) === titles.lastIndexOf(title);
    return { label, ...(isOwn ? { title: write.text(title) } : {}), value };
  });
}

/** The title of the argument at a path in a schema. Undefined if it has none that can be shown. */
function titleAt(schema: JsonSchema | undefined, path: Path): string | undefined {
  const title = valueAt(schema, [...path.flatMap((name) => ['properties', name]), 'title']);
  if (typeof title !== 'string' || title.trim() === '' || title.length > TITLE_MAX) return undefined;
  return title;
}

/** A detail before its title is known. */
interface Leaf extends Detail {
  readonly path: Path;
}

/** One line for each value; objects and lists are split into their members. */
function listLeaves(
  value: unknown,
  path: Path,
  how: { write: Writing; isShown: (path: Path) => boolean },
  label = '',
): Leaf[] {
  if (how.isShown(path)) return [];
  const isOpen = typeof value === 'object' && value !== null && path.length < MAX_DEPTH;
  const members = isOpen ? Object.entries(value) : [];
  if (members.length === 0) return path.length === 0 ? [] : [{ path, label, value: how.write.value(value) }];
  return members.flatMap(([name, member]) => {
    const dot = label === '' ? '' : '.';
    const part = Array.isArray(value) ? `[${name}]` : `${dot}${how.write.name(name)}`;
    return listLeaves(member, [...path, name], how, `${label}${part}`);
  });
}

/** The words of a question beside its actions. */
type QuestionWords = Pick<ReplyConfirmation, 'heading' | 'confirm' | 'decline' | 'part_line'> & {
  /** Its end: how to answer it in words. Buttons take its place. */
  how: string;
};

/** A question about one action has its own words. One about several also says how to confirm only a part of them. */
export function questionWords(questions: readonly Question[], texts: LocalTexts): QuestionWords {
  const [only] = questions;
  const [[confirm], [decline]] = [texts.words('confirm'), texts.words('decline')];
  if (only !== undefined && questions.length === 1)
    return {
      confirm: only.confirm_label ?? texts.say('confirm_button'),
      decline: texts.say('decline_button'),
      how: texts.say('confirm_how', { confirm, decline }),
    };
  const [[part], [rest]] = [texts.words('confirm_only'), texts.words('confirm_except')];
  const examples = { only: `${part} 1`, except: `${rest} 2` };
  return {
    heading: texts.say('confirm_question_list', { count: String(questions.length) }),
    confirm: texts.say('confirm_all_button'),
    decline: texts.say('decline_all_button'),
    how: texts.say('confirm_how_list', { confirm, decline, ...examples }),
    part_line: texts.say('confirm_part', examples),
  };
}

/**
 * The question as the end of a reply, in CommonMark: each action with its arguments, for whom it would be done, and how
 * to answer.
 * @param as says for whom (`asInWords`); empty if it is for no person
 */
export function questionText(
  questions: readonly Question[],
  { heading, how }: QuestionWords,
  texts: LocalTexts,
  as: string,
): string {
  const lines = markdownLines(questions);
  const lead = heading ?? askForOne(lines.shift() ?? '', texts);
  return [lead, lines.join('\n'), as, how].filter((part) => part !== '').join('\n\n');
}

function askForOne(written: string, texts: LocalTexts): string {
  const action = isRightToLeft(texts.template('confirm_question')) ? isolateText(written) : written;
  return texts.say('confirm_question', { action });
}

/** `_` is markup only at the edge of a word, `&` only in a character reference, `:` only in an address. */
const INLINE =
  /[\\`*~[\]<]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|&(?=#?[A-Za-z0-9]+;)|:(?=\/\/)|(?<=\bwww)\./giu;
/** A heading, a quotation, a list or the line below a heading. */
const LINE_START = /^(\s*)([#>+=-]|\d{1,9}(?=[.)]))/;

/** Escapes a line of text, so that nothing in it is markup in CommonMark with GitHub's extensions. */
export function escapeMarkdown(line: string): string {
  return line
    .replace(INLINE, '\\$&')
    .replace(LINE_START, (_, space: string, sign: string) =>
      /\d/.test(sign) ? `${space}${sign}\\` : `${space}\\${sign}`,
    );
}

/** Longest e-mail address (RFC 5321 §4.5.3.1.3). A longer claim is not shown. */
const EMAIL_MAX = 254;

/**
 * The e-mail address of the person for whom an action would be done, as plain text with nothing hidden in it. Null if
 * there is no person, or if other people can read the question.
 */
export function actingAs(principal: Principal, shared: boolean): string | null {
  if (principal.person === null || shared) return null;
  const shown = visible(principal.claims.email);
  return shown.length > EMAIL_MAX ? null : shown;
}

/** The sentence of a question that says for whom it is, in CommonMark; empty if there is no person. */
export function asInWords(principal: Principal, shared: boolean, texts: LocalTexts): string {
  return sentence(principal, shared, texts, escapeMarkdown) ?? '';
}

/** The same sentence as plain text on one line; null if there is no person. */
export function asInPlainWords(principal: Principal, shared: boolean, texts: LocalTexts): string | null {
  return sentence(principal, shared, texts, (email) => email)?.replace(/\s+/g, ' ') ?? null;
}

function sentence(
  principal: Principal,
  shared: boolean,
  texts: LocalTexts,
  write: (email: string) => string,
): string | null {
  if (principal.person === null) return null;
  const email = actingAs(principal, shared);
  return email === null ? texts.say('confirm_as_you') : texts.say('confirm_as', { email: write(email) });
}
