import type { JsonObject } from '../../src/channel/index.ts';
import { type Fields, idOf, objectsOf, stringOf, wordsOf } from './content.ts';

/** Digits of a number (`wa_id`), without a plus. */
const DIGITS = /^\d{5,20}$/;
/** Business-scoped user id (BSUID): a country, a period, and up to 128 letters and digits; `ENT` marks a parent id. */
const BSUID = /^[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}$/;
/** Ids of groups are base64. */
const GROUP_ID = /^[A-Za-z0-9+/=_-]{1,200}$/;
const NAME_MAX = 256;

/** The sender of a message, verified by the platform. */
export interface Who {
  /** `+number`. If the person hides the number, the business-scoped user id. */
  user_id: string;
  /** The business-scoped user id that arrived with the number. */
  alias_id?: string;
  /** The recipient of an answer. The Cloud API accepts a message with a BSUID in `to`, but never delivers it. */
  address: { to: string } | { recipient: string };
  /** The name that the person chose. */
  name?: string;
}

/**
 * The sender of a message. The ids come from `from` and `from_user_id`. Other data, and an id that is missing there,
 * come from the contact with one of these ids. If the message has no ids, and there is only one contact, the contact is
 * the sender. Undefined if the webhook names nobody.
 */
export function whoWrote(message: Fields, value: Fields): Who | undefined {
  const contact = contactOf(message, value);
  const number = digitsIn(message.from) ?? digitsIn(contact?.wa_id);
  const bsuid =
    bsuidIn(message.from_user_id) ??
    bsuidIn(message.from) ??
    bsuidIn(contact?.user_id) ??
    bsuidIn(contact?.wa_id);
  const name = wordsOf(objectsOf([contact?.profile])[0]?.name)
    ?.slice(0, NAME_MAX)
    .toWellFormed();
  const named = name === undefined ? {} : { name };
  if (number !== undefined) {
    const to = digitsIn(contact?.wa_id) ?? number;
    return {
      user_id: `+${number}`,
      ...(bsuid === undefined ? {} : { alias_id: bsuid }),
      address: { to },
      ...named,
    };
  }
  return bsuid === undefined ? undefined : { user_id: bsuid, address: { recipient: bsuid }, ...named };
}

/** The id of the message's group. Null if it is not in a group; undefined if the id is malformed. */
export function groupOf({ group_id }: Fields): string | null | undefined {
  if (group_id === undefined || group_id === null) return null;
  const id = stringOf(group_id);
  return id !== undefined && GROUP_ID.test(id) ? id : undefined;
}

/** The data that `send` needs for an answer. It is the same for all messages of a conversation. */
export function placeOf(number_id: string, who: Who, group: string | null): JsonObject {
  return { number_id, ...(group === null ? who.address : { group }) };
}

export function isBusinessScopedId(id: string): boolean {
  return BSUID.test(id);
}

/** Contacts are matched by id, not by position: a delivery may contain messages of several people. */
function contactOf(message: Fields, value: Fields): Fields | undefined {
  const contacts = objectsOf(value.contacts);
  const ids = [idOf(message.from), stringOf(message.from_user_id)].filter((id) => id !== undefined);
  if (ids.length === 0) return contacts.length === 1 ? contacts[0] : undefined;
  return contacts.find(({ wa_id, user_id }) => ids.some((id) => id === idOf(wa_id) || id === user_id));
}

function digitsIn(value: unknown): string | undefined {
  const text = idOf(value)?.replace(/^\+/, '');
  return text !== undefined && DIGITS.test(text) ? text : undefined;
}

function bsuidIn(value: unknown): string | undefined {
  const text = stringOf(value);
  return text !== undefined && BSUID.test(text) ? text : undefined;
}
