import { isObject } from '../../../channel/json-object.ts';
import type { UserLookUp } from '../../agent/agent.ts';
import { pick } from '../reduce-result.ts';
import { refuseToSend, type Sent, type Tool, type ToolResponse, type ToolSourceInfo } from '../tool.ts';
import { BUILT_IN } from './own-tools.ts';

const MAX_EMAIL_CHARACTERS = 254;
const EMAIL = /^[^\s@\x00-\x1f\x7f]+@[^\s@\x00-\x1f\x7f]+$/;
/** The names of the members in which APIs return the entries of a collection. */
const COLLECTIONS = ['member', 'hydra:member', 'data', 'items', 'users'] as const;
const MAX_USERS = 10;

type Fields = Record<string, unknown>;

/**
 * The documented user look-up (agentd-api(7), "get_user"). Without `email`, it looks up the user of the token. With
 * neither `email` nor a token, it makes no call, and the answer says that sign-in is needed. Under default credentials,
 * only `publicFields` reach the agent. Without such a field, each answer of the API becomes the same text, except in an
 * outage, so that nobody learns whether such a person exists.
 */
export function createGetUser(source: ToolSourceInfo, publicFields: readonly string[]): Tool {
  return {
    ...BUILT_IN,
    name: 'get_user',
    description:
      'Looks up a user in the business system: profile, and what else the system keeps with it, such as orders. ' +
      'Leave `email` out to look up the person who is signed in. Without sign-in it shows public fields at most.',
    parameters: {
      type: 'object',
      properties: {
        email: {
          type: 'string',
          description: 'E-mail address of the user to look up. Leave it out for the person who is signed in.',
        },
      },
      additionalProperties: false,
    },
    source,
    effect: 'read',
    credentials: 'user-or-default',
    public: publicFields,
    async send(args, { client, person }) {
      const asked = typeof args.email === 'string' ? args.email.trim() : '';
      if (asked !== '' && (asked.length > MAX_EMAIL_CHARACTERS || !EMAIL.test(asked)))
        return refuseToSend('invalid_arguments', 'That is not an e-mail address.');
      const email = asked || (client.credentials === 'user' ? (person?.email ?? '') : '');
      if (email === '')
        return toLookUp({ sign_in_needed: true, message: 'Sign-in is needed to know who is asking.' });
      const answer = await client.request({ method: 'GET', path: '/users', query: [['userEmail', email]] });
      const used = answer.outcome === 'answered' ? answer.credentials : client.credentials;
      return used === 'user' ? asUser(answer, email) : asStranger(answer, email, publicFields);
    },
  };
}

function asUser(answer: ToolResponse, email: string): Sent {
  if (answer.outcome !== 'answered') return failure(answer);
  const { status, body } = answer;
  if (status === 403) return refuseToSend('http_403', 'The business system does not allow this look-up.');
  if (status >= 300 && status !== 404) return failure(answer);
  const users = status === 404 ? [] : selectMatching(readUsers(body), email);
  const [user] = users;
  if (!user) return toLookUp({ found: false, message: 'The business system shows no such user.' });
  return toLookUp(users.length === 1 ? { user } : { users: users.slice(0, MAX_USERS) });
}

/**
 * The result of a look-up under default credentials. If there are no public fields to show, only an outage has a
 * different text, because it reveals nothing about any person.
 */
function asStranger(answer: ToolResponse, email: string, publicFields: readonly string[]): Sent {
  if (isOutage(answer)) return failure(answer);
  const users =
    answer.outcome === 'answered' && answer.status < 300 ? selectMatching(readUsers(answer.body), email) : [];
  // A single entry may still be a different person.
  const [user] =
    users.length === 1 && (users[0]?.email === undefined || hasEmail(users[0], email)) ? users : [];
  const shown = user === undefined ? {} : pick(user, publicFields);
  const message =
    'Personal data needs sign-in. Without it, the answer does not even show whether such a person exists.';
  if (Object.keys(shown).length === 0) return toLookUp({ sign_in_needed: true, message });
  return toLookUp({
    sign_in_needed: true,
    message: 'These are public fields; the rest needs sign-in.',
    user: shown,
  });
}

function isOutage(answer: ToolResponse): boolean {
  if (answer.outcome === 'answered')
    return answer.status >= 500 || answer.status === 401 || answer.status === 429;
  // An answer of an unusual size or form may be unusual only for this person, so it does not count as an outage.
  return (
    answer.outcome === 'failed' && !['too_large', 'not_json', 'redirect_refused'].includes(answer.reason)
  );
}

function failure(answer: ToolResponse): Sent {
  if (answer.outcome !== 'answered') return answer;
  const message =
    answer.status === 401
      ? 'The business system does not accept the credentials of this service.'
      : `The business system cannot answer at the moment (status ${answer.status}).`;
  return refuseToSend(`http_${answer.status}`, message);
}

/** The result of a look-up, which the agent gets instead of the HTTP status. */
function toLookUp(result: UserLookUp): Sent {
  return { outcome: 'answered', status: null, result };
}

/** The users in an answer, which may be one object, a list, or a collection. */
function readUsers(body: unknown): Fields[] {
  if (Array.isArray(body)) return body.filter(isObject);
  if (!isObject(body)) return [];
  // A user may have a member `items`, too, but a collection has no e-mail address.
  const name = 'email' in body ? undefined : COLLECTIONS.find((candidate) => Array.isArray(body[candidate]));
  return name === undefined ? [body] : (body[name] as unknown[]).filter(isObject);
}

/**
 * Only the user with exactly this address, if there is one; otherwise all users. Some APIs ignore the filter or match
 * parts of the address.
 */
function selectMatching(users: Fields[], email: string): Fields[] {
  const exact = users.find((user) => hasEmail(user, email));
  return exact ? [exact] : users;
}

function hasEmail(user: Fields, email: string): boolean {
  return typeof user.email === 'string' && user.email.toLowerCase() === email.toLowerCase();
}
