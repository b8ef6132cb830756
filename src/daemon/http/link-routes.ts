import { CHANNEL_TITLES } from '../../../plugins/names.ts';
import type { ChannelRequest, ChannelResponse, PushChannel, Route } from '../../channel/index.ts';
import { plainValue } from '../../channel/plain-value.ts';
import { readToken } from '../../channel/read-message.ts';
import { AgentdError } from '../errors.ts';
import type { TokenVerdict } from '../identity/identity.ts';
import { sendBoundNotice, sendEndedNotice } from '../inbox/link-notices.ts';
import type { InboxParts } from '../inbox/work.ts';
import { bindCode } from '../linking/bind-code.ts';
import { createCode } from '../linking/create-code.ts';
import { listLinks, type PersonsLink } from '../linking/find-link.ts';
import { codeRecord } from '../linking/link-ids.ts';
import { removePersonsLink } from '../linking/links.ts';
import { forRequest, type Services } from '../message/services.ts';
import type { LinkCode } from '../store/links/link-codes.ts';
import { settledWithin } from '../time/time-limit.ts';
import { checkMediaType } from './body.ts';
import { validateOnce } from './received-request.ts';
import type { ActiveChannel } from './routes.ts';

/** How long the platforms may take to report the address of a channel, ms. */
const ADDRESS_MS = 2000;

interface LinkRouteParts extends InboxParts {
  channels: readonly ActiveChannel[];
}

type Valid = Extract<TokenVerdict, { valid: true }>;

/**
 * The routes with which the website of a signed-in person connects chats (agentd-identity(7), "Link codes"). The token is
 * in the header or the body only: a browser sends a cookie, and a link contains a query, without the person's intention.
 */
export function linkRoutes(parts: LinkRouteParts): Route[] {
  const { worker, channels } = parts;
  const route = (
    method: Route['method'],
    path: string,
    handle: (verdict: Valid, request: ChannelRequest, services: Services) => Promise<ChannelResponse>,
  ): Route => ({
    method,
    path,
    cors: true,
    token: tokenIn,
    handle: async (request) => {
      const services = forRequest(parts.services, request.id);
      return handle(await validToken(request, services), request, services);
    },
  });

  return [
    route('POST', '/link/codes', async ({ person, user }, _request, services) => {
      services.store.expectRoom();
      const lifetime_ms = services.settings.LINK_CODE_SECONDS * 1000;
      const made = await createCode(services, { person, token: user.token.reveal(), lifetime_ms });
      services.log.info({ sub: user.user_id }, 'link code made');
      const expires_at = new Date(made.expires_at).toISOString();
      return {
        status: 201,
        body: { ...made, expires_at, channels: await addresses(channels, made.code, services.log) },
      };
    }),
    route('GET', '/link/codes/:id', async (verdict, { params }, services) => {
      return { body: toView(await ownCode(verdict, params.id, services)) };
    }),
    route('DELETE', '/link/codes/:id', async (verdict, { params }, services) => {
      const { code_id, person } = await ownCode(verdict, params.id, services);
      await services.store.linkCodes.end(code_id, person);
      return { status: 204 };
    }),
    route('POST', '/link/codes/:id/confirm', async ({ person, user, claims }, { params }, services) => {
      const { id = '' } = params;
      const token = services.seal.close(user.token.reveal(), codeRecord(id));
      const confirmed = await services.store.linkCodes.confirm(id, person, token, claims);
      if (confirmed.outcome === 'unknown') throw noSuchCode();
      if (confirmed.outcome === 'not_claimed')
        throw new AgentdError('code_not_claimed', 'No chat has sent this code yet.');
      if (confirmed.outcome === 'gone') {
        if (confirmed.state !== 'used') throw codeGone();
        return { body: toView(await ownCode({ person }, id, services)) };
      }
      const { platform = '' } = confirmed.code.claimant ?? {};
      const channel = channels.find(({ plugin }) => plugin.name === platform)?.plugin;
      if (!channel) throw new AgentdError('unavailable', 'The channel is not active.', { retryAfter: 30 });
      const bound = await bindCode(services, channel, id);
      if (bound.outcome !== 'gone') await sendBoundNotice({ services, worker }, platform, bound, id, null);
      if (bound.outcome === 'refused') {
        if (bound.reason === 'invalid_token') throw codeGone();
        throw new AgentdError(
          'forbidden',
          bound.reason === 'other_number'
            ? 'The token belongs to a person with another phone number.'
            : 'The number is linked to another person.',
        );
      }
      return { body: toView(await ownCode({ person }, id, services)) };
    }),
    route('GET', '/links', async ({ person }, _request, services) => {
      const links = await listLinks(services, person);
      const taking = linkable(channels).map(({ plugin }) => plugin.name);
      return { body: { links: links.map(linkView), channels: taking, titles: titlesOf(channels) } };
    }),
    route('DELETE', '/links/:id', async ({ person }, { params }, services) => {
      const link = (await listLinks(services, person)).find(({ id }) => id === params.id);
      if (!link) throw new AgentdError('not_found', 'You have no such link.');
      const channel = channels.find(({ plugin }) => plugin.name === link.platform)?.plugin;
      const removed = await removePersonsLink(services, channel ?? { name: link.platform }, link);
      if (removed) await sendEndedNotice({ services, worker }, link, link.claims, 'link_ended');
      return { status: 204 };
    }),
  ];
}

/** A body is optional, because the token may be in the header. @throws like a route with a JSON body, if there is one */
function tokenIn(request: ChannelRequest): string | null | undefined {
  if (request.body.length === 0) return readToken(request, ['header']);
  checkMediaType(request.headers['content-type'], undefined, 'application/json');
  const { jwt_token = null } = request.json();
  if (jwt_token === null || typeof jwt_token === 'string') return readToken(request, ['header', 'body']);
  const errors = [{ field: 'jwt_token', message: 'must be a string or null' }];
  throw new AgentdError('invalid_request', 'The request has fields that are not valid.', { errors });
}

async function validToken(request: ChannelRequest, { tokens }: Services): Promise<Valid> {
  const token = tokenIn(request);
  if (!token)
    throw new AgentdError('token_missing', 'Send your token as Authorization: Bearer, or as jwt_token.');
  const verdict = await validateOnce(tokens, request).validate(token);
  if (!verdict.valid) throw new AgentdError('token_invalid', `The token is invalid: ${verdict.reason}.`);
  return verdict;
}

/** The code with this id. The code of another person counts as unknown. @throws `not_found` */
async function ownCode(
  { person }: Pick<Valid, 'person'>,
  id: string | undefined,
  { store }: Services,
): Promise<LinkCode> {
  const code = await store.linkCodes.find(id ?? '');
  if (code?.person !== person) throw noSuchCode();
  return code;
}

function toView({ code_id, state, expires_at, claimant }: LinkCode) {
  return {
    id: code_id,
    state,
    expires_at: new Date(expires_at).toISOString(),
    ...(claimant === null
      ? {}
      : { channel: claimant.platform, masked_id: maskId(claimant.user_id), name: claimant.name }),
  };
}

function linkView({ id, platform, user_id, name, made_at, expires_at }: PersonsLink) {
  return {
    id,
    channel: platform,
    masked_id: maskId(user_id),
    name,
    since: made_at === null ? null : new Date(made_at).toISOString(),
    until: new Date(expires_at).toISOString(),
  };
}

/**
 * For each channel to which a person can send the code, the address that opens the platform with the code, or else a
 * private chat with the bot. A channel that does not know its own name in time has none. The page shows the code.
 */
async function addresses(
  channels: readonly ActiveChannel[],
  code: string,
  log: Services['log'],
): Promise<Record<string, { url?: string }>> {
  const taking = linkable(channels);
  const found: Record<string, { url?: string }> = Object.fromEntries(
    taking.map(({ plugin }) => [plugin.name, {}]),
  );
  const asked = taking.map(async ({ plugin, channel }) => {
    try {
      const push = channel as PushChannel;
      const url = (await push.codeUrl?.(code)) ?? plainValue(push.chatUrl?.(), 'chatUrl');
      if (typeof url === 'string') found[plugin.name] = { url };
    } catch (error) {
      log.warn({ channel: plugin.name, err: error }, 'a channel could not report its address');
    }
  });
  await settledWithin(asked, ADDRESS_MS);
  return { ...found };
}

/** What people call the channels, by name. A link may belong to a bundled channel that is not active. */
function titlesOf(channels: readonly ActiveChannel[]): Readonly<Record<string, string>> {
  const active = channels.map(({ plugin: { name, title = name } }) => [name, title]);
  return { ...CHANNEL_TITLES, ...Object.fromEntries(active) };
}

/** The channels to which a person can send a code. */
function linkable(channels: readonly ActiveChannel[]): readonly ActiveChannel[] {
  return channels.filter(({ plugin }) => plugin.delivery === 'push' && plugin.linking !== undefined);
}

function noSuchCode(): AgentdError {
  return new AgentdError('not_found', 'You have no such link code.');
}

function codeGone(): AgentdError {
  return new AgentdError('code_gone', 'This link code is no longer open. Make another one.');
}

/** Maximum number of characters of an id that are shown. */
const SHOWN = 4;

/** The end of a platform's id, by which its person recognizes it: `…0123`. At least half of the id is hidden. */
function maskId(user_id: string): string {
  const characters = Array.from(user_id);
  const shown = Math.min(SHOWN, Math.floor(characters.length / 2));
  return `…${characters.slice(characters.length - shown).join('')}`;
}
