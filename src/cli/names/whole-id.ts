import { type IdKind, type Store, shortened } from '../../daemon/admin/store.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { failed } from '../cli-error.ts';
import type { OptionValues } from '../command.ts';
import type { Output } from '../output.ts';
import { channelNamed } from './channel-words.ts';

/** How many candidates the error names. */
const NAMED_MAX = 5;

/** What an id names, and whether it is known as it is given. */
interface WantedId {
  kinds: readonly IdKind[];
  given: string;
  options: OptionValues;
  /** Whether something has exactly this id. */
  isKnown(id: string): Promise<boolean>;
}

/**
 * The id that a person means: what they wrote if that is an id, otherwise the only id that begins with it. Before a
 * colon, the title of a channel stands for its name (`channelNamed`). What is no beginning of an id is returned as it
 * is, so that the command says that nothing is found.
 * @throws CliError (1) with the candidates if several records have ids that begin so
 */
export async function wholeId(
  { ids }: Pick<Store, 'ids'>,
  { kinds, given, options, isKnown }: WantedId,
): Promise<string> {
  for (const text of await spellings(given, options)) {
    if (text === '') continue;
    if (await isKnown(text)) return text;
    const found = await ids.beginningWith(kinds, text, NAMED_MAX + 1);
    const records = new Map(found.map(({ id, of }) => [of, id]));
    const [only] = records.values();
    if (records.size === 1 && only !== undefined) return only;
    if (records.size > 1) throw ambiguous(given, [...records.values()]);
  }
  return given;
}

/** The texts with which the id may begin: what was written, and that with the name of a channel instead of its title. */
export async function spellings(given: string, options: OptionValues): Promise<string[]> {
  const [, word, rest] = /^([a-z][a-z0-9-]*):(.*)$/s.exec(given) ?? [];
  const named = word === undefined ? given : `${await channelNamed(word, options)}:${rest}`;
  return [...new Set([given, named])];
}

/**
 * The id in a list that a person means: the id itself, otherwise the only one that begins with the text; null if none
 * does.
 * @throws CliError (1) with the candidates if several begin so
 */
export function idIn(ids: readonly string[], text: string): string | null {
  if (ids.includes(text)) return text;
  const found = ids.filter((id) => id.startsWith(text));
  if (found.length > 1) throw ambiguous(text, found);
  return found[0] ?? null;
}

/** Memories with the beginnings of their ids that are unique among all of them. */
export function withShortIds<T extends { memory_id: string }>(
  all: readonly T[],
): (T & { short_id: string | undefined })[] {
  const ids = all.map(({ memory_id }) => memory_id);
  const short = shortened(ids, ids);
  return all.map((one) => ({ ...one, short_id: short.get(one.memory_id) }));
}

/** How a table shows these ids: on a terminal, by a beginning that is unique in the store; otherwise as they are. */
export async function shownIds(
  { ids: store }: Pick<Store, 'ids'>,
  { json, width }: Pick<Output, 'json' | 'width'>,
  kind: 'session' | 'message' | 'feedback',
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (json || !Number.isFinite(width)) return new Map();
  return store.shorten(kind, ids);
}

function ambiguous(given: string, ids: readonly string[]): Error {
  const shown = ids.slice(0, NAMED_MAX).map(printable);
  return failed(
    `several ids begin with '${printable(given)}'`,
    ['Write more of it:', ...shown, ...(ids.length > shown.length ? ['…'] : [])].join('\n  '),
  );
}

/** The id of a session, also of one that has the id as its id from before sign-in. */
export function wholeSessionId(
  store: Pick<Store, 'ids' | 'sessions'>,
  given: string,
  options: OptionValues,
): Promise<string> {
  const isKnown = async (id: string) => (await store.sessions.find(id)) !== null;
  return wholeId(store, { kinds: ['session'], given, options, isKnown });
}
