import { isLonger } from '../../channel/characters.ts';
import type { ChannelRequest, FieldError, Route, TokenSource } from '../../channel/index.ts';
import { readToken } from '../../channel/read-message.ts';
import { AgentdError } from '../errors.ts';
import { COMMENT_MAX, type GivenRating, rateAnswer } from '../feedback/rate-answer.ts';
import { ReceivedRequest } from './received-request.ts';

/** Token sources, in the order of their priority. */
const TOKEN_SOURCES: readonly TokenSource[] = ['header', 'body'];

/** Longest id, characters. */
const ID_MAX = 512;

/**
 * `POST /feedback`: what the person thinks of an answer (agentd-service(7), "POST /feedback"). A rating that is not
 * taken is always answered with the same `not_found`, so that nobody learns whose an answer is.
 * @param namespaces the namespaces of the channels for web clients
 */
export function feedbackRoute(
  services: Parameters<typeof rateAnswer>[0],
  namespaces: readonly string[],
): Route {
  return {
    method: 'POST',
    path: '/feedback',
    contentType: 'application/json',
    cors: true,
    limited: true,
    token: (request) => readToken(request, TOKEN_SOURCES),
    async handle(request) {
      const given = readRating(request);
      const verdict = ReceivedRequest.of(request)?.validated?.verdict;
      const person = verdict?.valid ? verdict.person : null;
      const isTaken = await rateAnswer(services, given, { kind: 'client', person, namespaces });
      if (!isTaken) throw new AgentdError('not_found', 'There is no such answer that you may rate.');
      return { body: { message_id: given.message_id, rating: given.rating } };
    },
  };
}

/** @throws `malformed_json`, or `invalid_request` with all wrong fields */
function readRating(request: ChannelRequest): GivenRating {
  const { session_id, message_id, rating, comment = null } = request.json();
  const errors: FieldError[] = [];
  const idIn = (field: string, value: unknown): string => {
    if (typeof value === 'string' && value !== '' && !isLonger(value, ID_MAX)) return value;
    errors.push({ field, message: `must be a string of 1 to ${ID_MAX} characters` });
    return '';
  };
  const ids = { session_id: idIn('session_id', session_id), message_id: idIn('message_id', message_id) };
  if (rating !== 1 && rating !== -1) errors.push({ field: 'rating', message: 'must be 1 or -1' });
  if (comment !== null && (typeof comment !== 'string' || isLonger(comment, COMMENT_MAX)))
    errors.push({ field: 'comment', message: `must be a string of at most ${COMMENT_MAX} characters` });
  if (errors.length > 0)
    throw new AgentdError('invalid_request', 'The request has fields that are not valid.', { errors });
  return { ...ids, rating: rating as GivenRating['rating'], comment: comment as string | null };
}
