import type { ChannelPlugin, ChannelScope, ChannelSettings, TokenAnswer } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { House } from '../house.ts';
import { converse } from '../message/converse.ts';

/** Time-out of a channel's own calls, ms. */
const FETCH_TIMEOUT_MS = 10_000;

/** What one plugin is handed: its own settings and doors, and nothing of another's. */
export function createScope(plugin: ChannelPlugin, settings: ChannelSettings, house: House): ChannelScope {
  return {
    settings,
    log: house.log.child({ channel: plugin.name }),
    fetch: (input, init) => fetch(input, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS), ...init }),
    now: () => house.clock.now(),
    converse: (message, request) => converse(plugin, house, message, request),
    tokens: { validate: (token) => answerOf(token, house) },
    ...notAnsweringLater,
    problem: (code, detail, errors) => new AgentdError(code, detail, errors ? { errors } : {}),
  };
}

/** The doors of channels that answer later: this daemon has no inbox, and says so. */
const notAnsweringLater: Pick<ChannelScope, 'accept' | 'say' | 'links' | 'deliveryFailed'> = {
  accept: () => Promise.reject(new Error('this daemon has no inbox')),
  say: () => Promise.reject(new Error('this daemon has no inbox')),
  links: {
    link: () => Promise.reject(new Error('this daemon keeps no links')),
    unlink: () => Promise.reject(new Error('this daemon keeps no links')),
  },
  deliveryFailed: (reason) => new Error(reason),
};

/** A channel learns whose token it is, never gets more of it than it had. */
async function answerOf(token: string, house: House): Promise<TokenAnswer> {
  const verdict = await house.tokens.validate(token);
  if (!verdict.valid) return verdict;
  const { user_id, email } = verdict.user;
  return { valid: true, user_id, email, expires_at: verdict.expires_at };
}
