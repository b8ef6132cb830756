import { decodeToken } from '../identity/decode-token.ts';
import { personKey } from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import type { Settings } from '../settings/settings.ts';
import type { Memory, MemoryStore } from '../store/memories.ts';
import {
  countRecords,
  FilesNotRewritten,
  type PersonRecords,
  type PersonSelector,
  type PersonStore,
} from '../store/persons.ts';
import type { Store } from '../store/store.ts';
import { openAdministratorSeal } from './sealing.ts';
import { withMemoriesOf } from './store.ts';
import { memoryOwnerOf, type Who } from './who.ts';

/** Everything that is stored about one person. */
export type { PersonRecords };
export { countRecords, FilesNotRewritten };

/**
 * Limit for a list of all links, larger than the number of links in any store. All links are listed, because only the
 * unsealed token of a link shows to whom the link belongs.
 */
const LINKS_MAX = 10_000_000;

/** The data and functions that the commands about one person use. */
export interface PersonDesk {
  store: Store;
  settings: Settings;
  seal: Seal;
  persons: PersonStore;
  selector: PersonSelector;
  /** Null if MEMORY_BACKEND is `none`. */
  memories: MemoryStore | null;
}

/** Runs the work with all data about a person. @param persons the part of the store that looks up one person */
export async function withPersonDesk<T>(
  who: Who,
  { store, persons, settings }: Pick<PersonDesk, 'store' | 'persons' | 'settings'>,
  work: (desk: PersonDesk) => Promise<T>,
): Promise<T> {
  const { seal } = await openAdministratorSeal(settings);
  return withMemoriesOf(settings, store, async (memories) =>
    work({ store, settings, seal, persons, selector: await selectorOf(who, store, seal), memories }),
  );
}

/** What is remembered about the person. */
export async function memoriesOf(who: Who, { memories }: PersonDesk): Promise<Memory[]> {
  return (await memories?.list(memoryOwnerOf(who))) ?? [];
}

async function selectorOf(who: Who, { links }: Store, seal: Seal): Promise<PersonSelector> {
  if ('platform' in who) return who;
  const all = await links.list({ limit: LINKS_MAX });
  const isTheirs = (key: string, stored: string) => {
    const token = seal.open(stored, key);
    const claims = token === null ? null : decodeToken(token).claims;
    return claims && personKey(claims) === who.person;
  };
  const link_keys = all.filter(({ key, token }) => isTheirs(key, token)).map(({ key }) => key);
  return { ...who, link_keys };
}
