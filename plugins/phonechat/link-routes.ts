import {
  type ChannelRequest,
  type ChannelResponse,
  type ChannelScope,
  type Fields,
  formatMinute,
  type Route,
} from '../../src/channel/index.ts';
import { asString } from './content.ts';
import { listSpellings, mayNameNumber, namesNumber } from './phone-number.ts';

const PATH = '/phonechat/link';

type Linking = Pick<ChannelScope, 'links' | 'readToken' | 'tokens'>;

/**
 * The routes that link a phone number to the person of a token, and remove the link (agentd-phonechat(7)). Every
 * response has the documented shape, even if the daemon itself raised the error.
 */
export function linkRoutes(scope: Linking): readonly Route[] {
  const route = {
    path: PATH,
    contentType: 'application/json',
    cors: true,
    token: (request: ChannelRequest) => scope.readToken(request, ['header']),
    refusal: ({ detail }: { detail: string }) => ({ success: false, message: detail }),
  };
  return [
    { ...route, method: 'POST', limited: true, handle: (request) => link(request, scope) },
    { ...route, method: 'DELETE', handle: (request) => unlink(request, scope) },
  ];
}

async function link(request: ChannelRequest, scope: Linking): Promise<ChannelResponse> {
  const token = scope.readToken(request, ['header']);
  if (!token) return noToken();
  const verdict = await scope.tokens.validate(token, request);
  if (!verdict.valid) return badToken(verdict.reason);
  const number = numberIn(request.json());
  if (number === undefined) return badNumber();

  const claim = verdict.phone?.trim() ?? '';
  if (claim !== '' && !mayNameNumber(claim, number))
    return answer(403, 'The token belongs to a person with another phone number.');
  const outcome = await scope.links.link(number, token, {
    replace: namesNumber(claim, number),
    request,
  });
  if (outcome.linked) {
    const until = formatMinute(outcome.expires_at, outcome.timezone);
    return answer(200, `${number} is linked to ${outcome.email} until ${until}.`);
  }
  if (outcome.held) return answer(403, 'The number is linked to another person.');
  return badToken(outcome.reason);
}

async function unlink(request: ChannelRequest, scope: Linking): Promise<ChannelResponse> {
  const token = scope.readToken(request, ['header']);
  if (!token) return noToken();
  const verdict = await scope.tokens.validate(token, request);
  if (!verdict.valid) return badToken(verdict.reason);
  const number = numberIn(request.body.length > 0 ? request.json() : {}) ?? numberInQuery(request.query);
  if (number === undefined) return badNumber();

  const outcome = await scope.links.unlinkPerson(number, token, request);
  switch (outcome.outcome) {
    case 'removed':
      return answer(200, `${number} is no longer linked.`);
    case 'invalid':
      return badToken(outcome.reason);
    case 'none':
      return answer(404, 'The number is not linked to you.');
  }
}

/** `phone_number` is the documented field; `phone` is an alias. */
function numberIn({ phone_number, phone }: Fields): string | undefined {
  return listSpellings(asString(phone_number ?? phone) ?? '')[0];
}

/**
 * In a query, a plus that was not encoded is read as a space.
 */
function numberInQuery(query: URLSearchParams): string | undefined {
  return listSpellings((query.get('phone_number') ?? query.get('phone') ?? '').replace(/^ /, '+'))[0];
}

function noToken(): ChannelResponse {
  return { ...answer(401, 'Send your token as Authorization: Bearer.'), headers: CHALLENGE };
}

function badToken(reason: string): ChannelResponse {
  return { ...answer(401, `The token is invalid: ${reason}.`), headers: CHALLENGE };
}

function badNumber(): ChannelResponse {
  return answer(
    400,
    'phone_number must be a phone number in international format, with + or 00, such as +16505551234.',
  );
}

function answer(status: number, message: string): ChannelResponse {
  return { status, body: { success: status < 400, message } };
}

const CHALLENGE = { 'WWW-Authenticate': 'Bearer' };
