import type { SettingRecord } from '../../../channel/index.ts';

/** What the record of a setting of the daemon says beyond the record of a channel's setting. */
interface OwnDetails {
  /**
   * All daemons on one store must have the same value, since it decides about identities, permissions, limits or
   * lifetimes.
   */
  shared?: boolean;
  /** The value is JSON; in a configuration file it may be an object. */
  json?: boolean;
  /** A daemon takes a new value over while it runs (src/daemon/reload). Any other setting needs a restart. */
  reload?: boolean;
  /** What commands need it for, although they do not need all settings. */
  needed_for?: readonly Need[];
  /** It names a file or folder that agentd makes. The value is made absolute, and `~` is the home directory. */
  made?: boolean;
  /** An address that may have a query, because it is used unchanged. */
  query?: boolean;
  /** An address that may have a fragment, because people open it. */
  fragment?: boolean;
  /** Other words for choices, in upper case: names of other loggers, and former names. */
  synonyms?: Readonly<Record<string, string>>;
}

export type Need = 'address' | 'store' | 'log' | 'tokens' | 'seals' | 'memory';

/** A record of the daemon or of a channel. */
export type KnownRecord = SettingRecord & OwnDetails;

type Kind = SettingRecord['kind'];
type Details<K extends Kind> = Omit<Extract<SettingRecord, { kind: K }>, 'name' | 'kind' | 'sentence'> &
  OwnDetails;
type Made<K extends Kind, D> = { readonly kind: K; readonly sentence: string } & D;

/** Makes records of one kind, from details and the sentence for operators. The name is the key of the record. */
function maker<K extends Kind>(kind: K) {
  function make(sentence: string): Made<K, object>;
  function make<const D extends Details<K>>(details: D, sentence: string): Made<K, D>;
  function make(details: object | string, sentence?: string) {
    return sentence === undefined ? { kind, sentence: details } : { kind, sentence, ...(details as object) };
  }
  return make;
}

export const text = maker('string');
export const integer = maker('integer');
/** May have decimals. */
export const decimal = maker('number');
export const flag = maker('boolean');
export const choice = maker('choice');
export const list = maker('list');
export const url = maker('url');
