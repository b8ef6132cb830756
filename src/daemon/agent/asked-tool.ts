import type { AgentTool } from '../../agent/index.ts';
import { toolNameInWords } from '../../channel/event-stream.ts';

/** The only required argument of a tool, with its path in the arguments. */
export interface Argument {
  /** The last name in its path. */
  name: string;
  path: readonly string[];
  schema: Schema;
}

type Schema = Readonly<Record<string, unknown>>;

/** A tool that a message can ask for by its title. */
interface TitledTool {
  tool: AgentTool;
  title: string;
  /** Null if it needs no argument. */
  argument: Argument | null;
}

export interface AskedTool extends TitledTool {
  /** Null if the message does not contain the argument that the tool needs. */
  args: Record<string, unknown> | null;
}

/** The tool that looks up a user, for which the builtin agent has special rules. It is missing with GET_USER=off. */
export const LOOK_UP = 'get_user';

/**
 * The tools that a message can ask for by their titles: tools that read, and tools that the person must confirm, with
 * at most one required argument. A tool that changes something must have exactly one: otherwise a question that
 * contains the title of the tool could be taken for an order.
 */
export function titledTools(tools: readonly AgentTool[]): TitledTool[] {
  return tools.flatMap((tool) => {
    const isSafe = tool.effect === 'read' || tool.confirm === 'always';
    const argument = findArgument(tool.parameters);
    if (!isSafe || argument === 'several' || tool.name === LOOK_UP) return [];
    if (tool.effect === 'write' && argument === null) return [];
    return [{ tool, title: tool.title ?? toolNameInWords(tool.name), argument }];
  });
}

const ARTICLES = ['a', 'an', 'the'];

/**
 * The tool that the message asks for: the message contains all words of its title, in any order, but needs no article:
 * "Cancel an order" is found in "cancel order 7". If several titles match, the title with the most words wins. The rest
 * of the message is the argument. Null if the message contains no title.
 */
export function askedTool(text: string, tools: readonly AgentTool[]): AskedTool | null {
  const said = splitWords(text);
  const found = titledTools(tools)
    .map((titled) => ({ ...titled, words: splitWords(titled.title).map(({ word }) => word) }))
    .filter(({ words }) => {
      const needed = words.filter((word) => !ARTICLES.includes(word));
      return needed.length > 0 && needed.every((word) => said.some((one) => one.word === word));
    })
    .sort((a, b) => b.words.length - a.words.length)[0];
  if (!found) return null;
  const { words, ...titled } = found;
  if (titled.argument === null) return { ...titled, args: {} };
  const value = listCandidates(text, said, words)
    .map((rest) => valueIn(rest, titled.argument?.schema ?? {}))
    .find((one) => one !== undefined);
  return { ...titled, args: value === undefined ? null : nestArgument(titled.argument.path, value) };
}

interface Word {
  /** The word in lower case. */
  word: string;
  start: number;
  end: number;
}

function splitWords(text: string): Word[] {
  return [...text.matchAll(/[\p{L}\p{N}]+/gu)].map(({ 0: word, index }) => ({
    word: word.toLowerCase(),
    start: index,
    end: index + word.length,
  }));
}

/** The two possible arguments in a message: the words after the title, and all words except the title. */
function listCandidates(text: string, said: readonly Word[], title: readonly string[]): string[] {
  const ofTitle = title.flatMap((word) => said.find((one) => one.word === word) ?? []);
  const last = Math.max(...ofTitle.map(({ end }) => end));
  let besides = '';
  let from = 0;
  for (const { start, end } of ofTitle.toSorted((a, b) => a.start - b.start)) {
    besides += `${text.slice(from, start)} `;
    from = Math.max(from, end);
  }
  return [text.slice(last), besides + text.slice(from)];
}

/** The rest of a message as a value of this schema; undefined if it is not valid. */
function valueIn(rest: string, { type, enum: choices }: Schema): unknown {
  const text = withoutQuotes(
    rest
      .replace(/\s+/g, ' ')
      .replace(/^(?:[\s:;,#]|\p{Pd} )+/u, '')
      // The lookbehind lets a match start only at the first character of a sequence. Otherwise a long sequence in the
      // middle of the text would be scanned again from each of its characters.
      .replace(/(?<![\s.!?,;:])[\s.!?,;:]+$/, '')
      .trim(),
  );
  if (text === '') return undefined;
  if (Array.isArray(choices)) {
    const words = splitWords(text).map(({ word }) => word);
    return choices.find((choice) => words.includes(String(choice).toLowerCase()));
  }
  const types = Array.isArray(type) ? type : [type];
  if (types.includes('string') || type === undefined) return text;
  if (!types.includes('integer') && !types.includes('number')) return undefined;
  const numbers = text.match(types.includes('number') ? /-?\d+(?:\.\d+)?/g : /-?\d+/g) ?? [];
  return numbers.length === 1 ? Number(numbers[0]) : undefined;
}

/** A value that is quoted as a whole. */
const QUOTED = /^(?:"([^"]*)"|'([^']*)'|`([^`]*)`|[“„]([^“”]*)[“”]|«([^«»]*)»|‘([^‘’]*)’)$/;

function withoutQuotes(text: string): string {
  const found = QUOTED.exec(text);
  return found ? (found.slice(1).find((inner) => inner !== undefined) ?? '').trim() : text;
}

/** The one required argument, which may be inside a required object. Null if no argument is required. */
function findArgument(parameters: Schema, path: readonly string[] = []): Argument | null | 'several' {
  const required = Array.isArray(parameters.required) ? (parameters.required as string[]) : [];
  if (required.length > 1) return 'several';
  const [name] = required;
  if (name === undefined) return path.length === 0 ? null : 'several';
  const properties = (parameters.properties ?? {}) as Readonly<Record<string, Schema>>;
  const schema = properties[name] ?? {};
  return schema.type === 'object'
    ? findArgument(schema, [...path, name])
    : { name, path: [...path, name], schema };
}

function nestArgument(path: readonly string[], value: unknown): Record<string, unknown> {
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
}
