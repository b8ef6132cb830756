import type { ChannelText } from '../../../channel/index.ts';
import { normalizeWord } from '../../texts/fold-text.ts';
import {
  type ProseRecord,
  TEXTS,
  type TextRecord,
  textRecords,
  WORD_CHARACTERS,
  type WordsName,
} from '../../texts/text-records.ts';
import type { Replacements } from '../../texts/texts.ts';
import { nearest } from '../nearest.ts';
import type { SettingProblem } from '../problem.ts';
import { SERVER_RECORDS } from '../records/server-records.ts';
import type { StructuredValue } from '../sources.ts';
import { ConfigNode } from './config-node.ts';

const { DEFAULT_LOCALE } = SERVER_RECORDS;
const TEXT_CHARACTERS = 1_000;
const RIGHT_WORDS = `a list of one or more words in quotes, each of at most ${WORD_CHARACTERS} characters`;

interface CheckedTexts {
  /** The replacements by language tag, in lower case and with `-` between its parts. */
  replaced: ReadonlyMap<string, Replacements>;
  problems: readonly SettingProblem[];
}

/**
 * Reads `texts` of the configuration file: by language, then by name (agentd-settings(5), "Texts"). Every unknown name
 * and every wrong placeholder is a problem.
 * @param own the texts of the channels.
 */
export function checkTexts(
  given: StructuredValue | undefined,
  own: readonly ChannelText[] = [],
): CheckedTexts {
  const records = textRecords(own);
  const problems: SettingProblem[] = [];
  const replaced = new Map<string, Replacements>();
  if (given === undefined || given.value === null) return { replaced, problems };
  const languages = ConfigNode.of(given, problems).members('language tags, each with names and texts');
  for (const [language, node] of languages) {
    const tag = language.toLowerCase().replaceAll('_', '-');
    if (!DEFAULT_LOCALE.pattern.test(language))
      node.refuse('is not a language tag', 'a tag such as `de` or `pt-BR`');
    else if (replaced.has(tag)) node.refuse('occurs twice', 'one entry for each language');
    else replaced.set(tag, checkLanguage(node, records));
  }
  return { replaced, problems };
}

type Records = Readonly<Record<string, TextRecord>>;

function checkLanguage(language: ConfigNode, records: Records): Replacements {
  const checked: Record<string, string | readonly string[]> = {};
  for (const [name, node] of language.members('names of texts, each with its text')) {
    const record = Object.hasOwn(records, name) ? records[name] : undefined;
    if (record === undefined) node.refuse('is not the name of a text', rightName(name, records));
    else {
      const text = record.kind === 'words' ? checkedWords(node) : checkedText(node, record);
      if (text !== undefined) checked[name] = text;
    }
  }
  refuseInBoth(language, checked, ['confirm', 'decline'], 'words that only decline');
  refuseInBoth(language, checked, ['confirm_only', 'confirm_except'], 'words that only leave actions out');
  return checked;
}

function rightName(name: string, records: Records): string {
  const meant = nearest(name, Object.keys(records), Math.max(2, Math.floor(name.length / 3)))?.name;
  return meant === undefined ? 'a name that `agentd config reference` lists' : `${meant}, perhaps`;
}

function checkedWords(node: ConfigNode): readonly string[] | undefined {
  if (typeof node.value === 'string') return [node.value.trim()].filter((word) => isWord(node, word));
  const items = node.items(RIGHT_WORDS);
  if (Array.isArray(node.value) && items.length === 0) return node.refuse('is empty', RIGHT_WORDS);
  const words = items.map((item) => item.text(RIGHT_WORDS));
  return words.every((word, index) => word !== undefined && isWord(items[index] ?? node, word))
    ? (words as string[])
    : undefined;
}

function isWord(node: ConfigNode, word: string): boolean {
  if (normalizeWord(word) === '') node.refuse('has no letter or digit', RIGHT_WORDS);
  else if (word.length > WORD_CHARACTERS) node.refuse('is too long', RIGHT_WORDS);
  else return true;
  return false;
}

function checkedText(node: ConfigNode, record: ProseRecord): string | undefined {
  const right = rightText(record);
  const text = node.text(right);
  if (text === undefined) return undefined;
  const given = Array.from(text.matchAll(/\{(\w+)\}/g), ([, name = '']) => name);
  const unknown = given.find((name) => !record.placeholders.includes(name));
  if (unknown !== undefined) return node.refuse(`has the unknown placeholder {${unknown}}`, right);
  const missing = record.placeholders.find((name) => !given.includes(name));
  if (missing !== undefined) return node.refuse(`lacks the placeholder {${missing}}`, right);
  if (text.length > (record.limit ?? TEXT_CHARACTERS)) return node.refuse('is too long', right);
  if (record.form === 'line' && /[\p{Cc}\u2028\u2029]/u.test(text))
    return node.refuse('has more than one line', right);
  return text;
}

function rightText({ placeholders, limit, form }: ProseRecord): string {
  const names = placeholders.map((name) => `{${name}}`).join(' and ');
  const holds = names === '' ? 'without placeholders' : `that contains ${names}, and no other placeholder`;
  const line = form === 'line' ? ' on one line,' : '';
  return `a text of at most ${limit ?? TEXT_CHARACTERS} characters,${line} ${holds}`;
}

/** Refuses a word that would both confirm and decline. */
function refuseInBoth(
  language: ConfigNode,
  checked: Replacements,
  [confirms, declines]: readonly [WordsName, WordsName],
  right: string,
): void {
  const listWords = (name: WordsName) => [checked[name] ?? TEXTS[name].default].flat();
  const confirming = new Set(listWords(confirms).map(normalizeWord));
  const both = listWords(declines).find((word) => confirming.has(normalizeWord(word)));
  if (both !== undefined)
    language.child(declines).refuse(`has \`${both}\`, which is also a word that confirms`, right);
}
