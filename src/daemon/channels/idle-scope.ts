import {
  type ChannelPlugin,
  type ChannelScope,
  type ChannelSettings,
  fillIn,
  type PushScope,
  type StreamScope,
} from '../../channel/index.ts';
import { readMessage, readToken } from '../../channel/read-message.ts';
import { AgentdError } from '../errors.ts';
import { DeliveryFailed } from '../message/delivery-failed.ts';

/**
 * The scope of a channel that is created only to be checked (`Channel.check`), without a daemon. The channel can call
 * its platform, but it can neither receive nor send messages. Nothing is logged: the caller reports the result.
 */
export function idleScope(
  { name }: ChannelPlugin,
  settings: ChannelSettings,
  call: typeof fetch,
  now: () => number,
): PushScope & StreamScope {
  const refuse = () => Promise.reject(new Error(`the channel ${name} is only being checked`));
  const problem: ChannelScope['problem'] = (code, detail, errors) =>
    new AgentdError(code, detail, errors ? { errors } : {});
  const silent = () => {};
  return {
    settings,
    simulated: false,
    log: { debug: silent, info: silent, warn: silent, error: silent },
    fetch: call,
    now,
    // biome-ignore lint/correctness/useYield: it refuses before there is anything to yield
    async *converse() {
      await refuse();
    },
    readMessage: (request, sources) => readMessage(name, request, sources, problem),
    readToken,
    streams: { start: refuse, open: refuse, stop: refuse },
    enqueue: refuse,
    press: refuse,
    edit: refuse,
    notify: refuse,
    say: (text, values = {}) => fillIn(text.default, values),
    translations: () => ({ languages: {}, default_locale: 'en' }),
    sendParts: refuse,
    links: { link: refuse, unlink: refuse, unlinkPerson: refuse },
    tokens: { validate: refuse },
    problem,
    deliveryFailed: (reason, options) => new DeliveryFailed(reason, options),
  };
}
