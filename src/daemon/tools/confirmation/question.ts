import type { ConfirmableAction } from '../../../channel/index.ts';
import type { Principal } from '../../identity/identity.ts';
import { valueAt } from '../../syntax/json-path.ts';
import type { LocalTexts } from '../../texts/texts.ts';
import { boundPath } from '../bind-parameters.ts';
import type { JsonSchema } from '../tool.ts';
import { isolated, isRightToLeft, shownName, shownValue, visible } from './plain-value.ts';

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
export interface AskedTool {
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

/** The action that a person is asked to confirm, as plain text. It contains every argument that is not hidden. */
export type Question = Omit<ConfirmableAction, 'number'>;

type Detail = Question['details'][number];

/**
 * The question about a call. Values are on one line, with nothing hidden in them.
 * @param args all arguments that are sent, including those from claims of the person
 * @returns null if the question would be too long
 */
export function buildQuestion(tool: AskedTool, args: Arguments): Question | null {
  if (JSON.stringify(args).length > ARGUMENTS_MAX) return null;
  const plain = writeQuestion(tool, args, { value: shownValue, name: shownName, text: visible });
  const isMixed = isRightToLeft(plainQuestion(plain));
  const question = isMixed ? writeQuestion(tool, args, ISOLATED) : plain;
  return Array.from(plainQuestion(question)).length > QUESTION_MAX ? null : question;
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
  value: (value) => isolated(shownValue(value)),
  name: (name) => inOwnDirection(shownName(name)),
  text: (text) => inOwnDirection(visible(text)),
};

function inOwnDirection(text: string): string {
  return isRightToLeft(text) ? isolated(text) : text;
}

function writeQuestion(tool: AskedTool, args: Arguments, write: Writing): Question {
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

/** The whole question as plain text: the action, and one line for each further argument. */
export function plainQuestion({ title, details }: Question): string {
  return [title, ...details.map(detailLine)].join('\n');
}

/** The actions of one question as plain text. If there are several, they are numbered. */
export function plainQuestions(questions: readonly Question[]): string {
  const [only] = questions;
  if (only !== undefined && questions.length === 1) return plainQuestion(only);
  return questions
    .map(({ title, details }, index) =>
      [`${index + 1}. ${title}`, ...details.map((detail) => `   ${detailLine(detail)}`)].join('\n'),
    )
    .join('\n');
}

export function questionLine({ title, details }: Question): string {
  return details.length === 0 ? title : `${title} (${details.map(detailLine).join(', ')})`;
}

function detailLine({ label, value }: Detail): string {
  return `${label}: ${value}`;
}

/** The action, and the further arguments as a list, in CommonMark. */
export function markdownQuestion({ title, details }: Question): { action: string; list: string } {
  return { action: escapeMarkdown(title), list: renderList(details) };
}

function renderList(details: readonly Detail[], indent = ''): string {
  return details.map((detail) => `${indent}- ${escapeMarkdown(detailLine(detail))}`).join('\n');
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

/**
 * The path to the argument with this name, or else to the nested member that a dotted name denotes. Null if there is
 * none.
 */
function pathIn(args: Arguments, name: string): Path | null {
  const paths = [[name], name.split('.')];
  return paths.find((path) => valueAt(args, path) !== undefined) ?? null;
}

/** Longest title of an argument that is shown, in characters. */
const TITLE_MAX = 60;

/** The details with their titles. A title that two arguments have says nothing about either of them. */
function withTitles(leaves: readonly Leaf[], { parameters }: AskedTool, write: Writing): Detail[] {
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

/**
 * The question as the end of a reply, in CommonMark: each action with its arguments, for whom it would be done, and how
 * to answer. Several actions are numbered.
 * @param as says for whom (`asInWords`); empty if it is for no person
 */
export function questionText(questions: readonly Question[], texts: LocalTexts, as: string): string {
  const [only] = questions;
  const isOne = only !== undefined && questions.length === 1;
  const [lead, list] = isOne ? leadOfOne(only, texts) : leadOfSeveral(questions, texts);
  return [lead, list, as, howToAnswer(questions, texts)].filter((part) => part !== '').join('\n\n');
}

function leadOfOne(question: Question, texts: LocalTexts): [lead: string, list: string] {
  const { action: written, list } = markdownQuestion(question);
  const action = isRightToLeft(texts.template('confirm_question')) ? isolated(written) : written;
  return [texts.say('confirm_question', { action }), list];
}

function leadOfSeveral(questions: readonly Question[], texts: LocalTexts): [lead: string, list: string] {
  const actions = questions.map(({ title, details }, index) => {
    const number = `${index + 1}. `;
    const list = renderList(details, ' '.repeat(number.length));
    return `${number}${escapeMarkdown(title)}${list === '' ? '' : `\n${list}`}`;
  });
  return [texts.say('confirm_question_list', { count: String(questions.length) }), actions.join('\n')];
}

/** The end of a question: how to answer it in words. Buttons take its place. */
export function howToAnswer(questions: readonly Question[], texts: LocalTexts): string {
  const [confirm] = texts.words('confirm');
  const [decline] = texts.words('decline');
  return questions.length === 1
    ? texts.say('confirm_how', { confirm, decline })
    : texts.say('confirm_how_list', { confirm, decline, ...partExamples(texts) });
}

/** Beside buttons: how to confirm only some actions. Null if there is only one. Plain text on one line. */
export function howToConfirmPart(questions: readonly Question[], texts: LocalTexts): string | null {
  return questions.length === 1 ? null : texts.say('confirm_part', partExamples(texts));
}

function partExamples(texts: LocalTexts): { only: string; except: string } {
  const [only] = texts.words('confirm_only');
  const [except] = texts.words('confirm_except');
  return { only: `${only} 1`, except: `${except} 2` };
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
