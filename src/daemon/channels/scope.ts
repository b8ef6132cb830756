import type {
  Channel,
  ChannelPlugin,
  ChannelRequest,
  ChannelScope,
  ChannelSettings,
  LinkAnswer,
  PushPlugin,
  PushScope,
  ResponseScope,
  StreamPlugin,
  StreamScope,
  TokenAnswer,
} from '../../channel/index.ts';
import { readMessage, readToken } from '../../channel/read-message.ts';
import { ReplyParts } from '../../channel/reply-parts.ts';
import { AgentdError } from '../errors.ts';
import { rateSentAnswer } from '../feedback/rate-answer.ts';
import { ReceivedRequest, validateOnce } from '../http/received-request.ts';
import type { TokenVerdict } from '../identity/identity.ts';
import { edit, enqueue } from '../inbox/enqueue.ts';
import { sendEndedNotice } from '../inbox/link-notices.ts';
import { notify, Throttle } from '../inbox/notify.ts';
import { DeliveryFailed } from '../inbox/outcome.ts';
import { createPartsMemory } from '../inbox/outgoing.ts';
import { press } from '../inbox/press.ts';
import { takeLinkCodes } from '../inbox/take-link-codes.ts';
import type { InboxParts } from '../inbox/work.ts';
import { linkKeys } from '../linking/link-ids.ts';
import { type LinkOutcome, link, unlink, unlinkPerson } from '../linking/links.ts';
import { runOnce } from '../linking/run-once.ts';
import { acceptMessage, type Origin } from '../message/arrival.ts';
import { converse } from '../message/converse.ts';
import { forRequest, type Services } from '../message/services.ts';
import type { Log } from '../process/log.ts';
import { openStream } from '../stream/open-stream.ts';
import { startStream } from '../stream/start-stream.ts';
import { stopStream } from '../stream/stop-stream.ts';
import type { StreamServices } from '../stream/stream-services.ts';
import { timeOrderedId } from '../time/clock.ts';
import { platformFetch } from './platform-fetch.ts';

/** `Retry-After` if a channel answers `unavailable`, seconds. No channel knows when a retry will succeed. */
const AGAIN_SECONDS = 5;

/** The services of the daemon that a scope hands over. */
interface Doors extends InboxParts {
  services: StreamServices;
  /** Whether `agentd simulate` stands in for the platform. */
  isSimulated?: boolean;
}

/** Creates a channel in the scope of its delivery. Nothing of other plugins is in it. */
export function createChannel(plugin: ChannelPlugin, settings: ChannelSettings, doors: Doors): Channel {
  switch (plugin.delivery) {
    case 'response':
      return plugin.create(createResponseScope(plugin, settings, doors));
    case 'stream':
      return plugin.create(createStreamScope(plugin, settings, doors));
    case 'push':
      return plugin.create(createPushScope(plugin, settings, doors));
  }
}

function commonScope(plugin: ChannelPlugin, settings: ChannelSettings, doors: Doors): ChannelScope {
  const { services, isSimulated = false } = doors;
  return {
    settings,
    sign_in_url: services.settings.SIGN_IN_URL ?? null,
    simulated: isSimulated,
    log: services.log.child({ channel: plugin.name }),
    fetch: platformFetch,
    now: () => services.clock.now(),
    readToken,
    say: (text, values = {}, locale) => services.texts.in(locale).sayOwn(text, values),
    translations: (texts) => services.texts.translations(texts.map(({ name }) => name)),
    links: createLinks(plugin, doors),
    tokens: {
      validate: async (token, request) =>
        toTokenAnswer(await validateOnce(services.tokens, request).validate(token)),
    },
    problem,
  };
}

const problem: ChannelScope['problem'] = (code, detail, errors) =>
  new AgentdError(code, detail, {
    ...(errors ? { errors } : {}),
    ...(code === 'unavailable' ? { retryAfter: AGAIN_SECONDS } : {}),
  });

export function createResponseScope(
  plugin: ChannelPlugin,
  settings: ChannelSettings,
  doors: Doors,
): ResponseScope {
  const { services } = doors;
  return {
    ...commonScope(plugin, settings, doors),
    converse: (message, request) => converse(plugin, services, message, toOrigin(request, services)),
    readMessage: (request, sources) =>
      readMessage(plugin.name, request, sources, problem, (bytes) =>
        services.log.info(
          { request_id: request.id, channel: plugin.name, bytes },
          'metadata of the client was dropped: apart from the known keys, it has more than 4096 bytes',
        ),
      ),
  };
}

export function createStreamScope(
  plugin: StreamPlugin,
  settings: ChannelSettings,
  doors: Doors,
): StreamScope {
  const { services } = doors;
  return {
    ...createResponseScope(plugin, settings, doors),
    streams: {
      start: (message, request, options) =>
        startStream(plugin, services, message, toOrigin(request, services), options),
      open: (stream_id, request, options) => openStream(plugin, services, stream_id, request, options),
      stop: (stream_id, request, { tokens }) => stopStream(services, stream_id, request, tokens),
    },
  };
}

export function createPushScope(plugin: PushPlugin, settings: ChannelSettings, doors: Doors): PushScope {
  const { services, worker } = doors;
  const throttle = new Throttle(() => services.clock.now());
  const notifier = { plugin, services, worker, throttle };
  const replyParts = new ReplyParts(createPartsMemory(services.store.inbox));
  const log = services.log.child({ channel: plugin.name });
  return {
    ...commonScope(plugin, settings, doors),
    enqueue: (messages, request) =>
      reportingMisfits(log, request, enqueue(plugin, services, worker, messages, request)),
    press: (message, request) =>
      reportingMisfits(log, request, press(plugin, services, worker, message, request)),
    edit: (edited, request) =>
      reportingMisfits(log, request, edit(plugin, servicesFor(services, request), edited)),
    forget: ({ message_id, user_id }) =>
      services.store.waitingQuestions.forget(linkKeys(plugin, user_id), {
        platform: plugin.name,
        message_id,
      }),
    notify: (reply_to, text, options) =>
      reportingMisfits(log, undefined, notify(notifier, reply_to, text, options)),
    sendParts: (id, parts, sendPart) =>
      replyParts.send(id, parts, async (part, index) => {
        const sent_id = await sendPart(part, index);
        if (typeof sent_id === 'string') worker.sentIds.note(id, sent_id);
      }),
    rate: (reaction) => rateSentAnswer(services, plugin.name, reaction),
    deliveryFailed: (reason, options) => new DeliveryFailed(reason, options),
  };
}

/**
 * Logs why a message was refused. Only the platform gets the refusal, and the message is lost: the channel has made it
 * in a form that does not fit the contract.
 */
async function reportingMisfits<T>(
  log: Log,
  request: ChannelRequest | undefined,
  work: Promise<T>,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AgentdError && error.code === 'invalid_request')
      log.warn(
        { ...(request ? { request_id: request.id } : {}), detail: error.message, errors: error.errors },
        'the channel made a message that does not fit the contract; the message was refused',
      );
    throw error;
  }
}

/** The daemon's data about a request that a channel passes back. */
function toOrigin(request: ChannelRequest, { observer }: Services): Origin {
  const { validated = null, ticket = null } = ReceivedRequest.of(request) ?? {};
  const parent_span = observer.readParent(request.headers.traceparent) ?? undefined;
  return { request_id: request.id, address: request.address, validated, ticket, parent_span };
}

function createLinks(plugin: ChannelPlugin, doors: Doors): ChannelScope['links'] {
  const { services, worker } = doors;
  return {
    link(user_id, token, { replace = true, message_id, request } = {}) {
      const own = servicesFor(services, request);
      return runOnce(own, { platform: plugin.name, user_id, message_id, what: 'link' }, async () => {
        await worker.endCollecting(plugin.name, user_id);
        const outcome = await link(own, plugin, user_id, token, () => replace);
        const { person, replaced } = outcome.linked
          ? { person: outcome.verdict.person, replaced: outcome.replaced }
          : { person: null, replaced: null };
        // A message of the user replaced the link in the chat itself, so the user knows.
        if (replaced !== null && message_id === undefined)
          await sendEndedNotice(doors, { platform: plugin.name, user_id }, replaced.claims, 'link_replaced');
        // A question of the user may have waited for this.
        if (outcome.linked) worker.wake();
        return { answer: toLinkAnswer(outcome), person };
      });
    },
    async takeCode(given, request) {
      const message = acceptMessage(plugin, given);
      const request_id = request?.id ?? timeOrderedId(services.clock.now());
      const [left] = await takeLinkCodes(doors, plugin, [message], request_id);
      return left === null;
    },
    unlink(user_id, { message_id, request } = {}) {
      const own = servicesFor(services, request);
      return runOnce(own, { platform: plugin.name, user_id, message_id, what: 'unlink' }, async () => {
        await worker.endCollecting(plugin.name, user_id);
        return { answer: await unlink(own, plugin, user_id), person: null };
      });
    },
    async unlinkPerson(user_id, token, request) {
      const own = servicesFor(services, request);
      const verdict = await own.tokens.validate(token);
      const answer = await unlinkPerson(own, plugin, user_id, token);
      if (answer.outcome === 'removed' && verdict.valid)
        await sendEndedNotice(doors, { platform: plugin.name, user_id }, verdict.claims, 'link_ended');
      return answer;
    },
  };
}

function servicesFor(services: Services, request: ChannelRequest | undefined): Services {
  if (request === undefined) return services;
  const own = forRequest(services, request.id);
  return { ...own, tokens: validateOnce(own.tokens, request) };
}

function toLinkAnswer(outcome: LinkOutcome): LinkAnswer {
  if (outcome.linked) {
    const { locale, timezone } = outcome.verdict.claims;
    const { expires_at } = outcome;
    return {
      linked: true,
      ...toWho(outcome.verdict),
      expires_at,
      ...(locale === undefined ? {} : { locale }),
      ...(timezone === undefined ? {} : { timezone }),
    };
  }
  const held = outcome.reason === 'held_by_another';
  return { linked: false, reason: held ? 'Held By Another' : outcome.reason, held };
}

/** The result of a validation, for a channel: the owner, the expiry and the phone number, but no other claims. */
function toTokenAnswer(verdict: TokenVerdict): TokenAnswer {
  if (!verdict.valid) return { valid: false, reason: verdict.reason };
  const { phone } = verdict.claims;
  const { expires_at } = verdict;
  return { valid: true, ...toWho(verdict), expires_at, ...(phone === undefined ? {} : { phone }) };
}

function toWho({ user }: ValidToken): Pick<ValidToken['user'], 'user_id' | 'email'> {
  return { user_id: user.user_id, email: user.email };
}

type ValidToken = Extract<TokenVerdict, { valid: true }>;
