import { createSecretKey } from 'node:crypto';
import {
  type ChannelRequest,
  type ChannelResponse,
  jsonObject,
  type PushChannel,
  type PushPlugin,
  type PushScope,
  readSecret,
  TEXT_MAX,
} from '../../src/channel/index.ts';
import { createCall, SETTINGS, toRefusal } from './api.ts';
import { answerCommand } from './commands.ts';
import { isId, type Press, parse, readPress } from './parse.ts';
import { createSender, DirectMessages, loadRenderer, StatusLine } from './send.ts';
import { checkScopes, checkToken, PATHS, printManifest } from './setup.ts';
import { TEXTS } from './texts.ts';
import { identifyRequest, isSigned } from './verify.ts';

/** Ids of users that can be linked. The id of a user in another workspace begins with the id of that workspace. */
const USER = /^(?:[TE][A-Z0-9]{1,63}:)?[UW][A-Z0-9]{1,63}$/;

/**
 * Maximum size of a delivery, in bytes. In a text of 40,000 non-ASCII characters, each character is escaped as six
 * bytes, and a delivery contains the text twice. An edit adds the previous text.
 */
const BODY_LIMIT = 4 * 1024 * 1024;

/** Slack. The Events API and slash commands deliver messages, and the Web API sends replies. */
const teamchat: PushPlugin = {
  name: 'teamchat',
  title: 'Slack',
  apiVersion: 1,
  summary: 'People in a Slack workspace who mention the bot in a channel, or write direct messages.',
  settings: SETTINGS,
  detect: (settings) =>
    settings.TEAMCHAT_BOT_TOKEN !== undefined && settings.TEAMCHAT_SIGNING_SECRET !== undefined,
  delivery: 'push',
  capabilities: {
    textLimit: 4000,
    markdown: 'platform',
    typing: true,
  },
  linking: {
    argument: 'ID',
    how: TEXTS.how_to_sign_in,
    idsOf(given) {
      const id = given.trim();
      return USER.test(id) ? [id] : [];
    },
  },
  simulator: async () => (await import('./simulator.ts')).createSimulator(),
  texts: Object.values(TEXTS),
  setup: { settings: [], run: printManifest },
  create: (scope) => createTeamchat(scope),
};

function createTeamchat(scope: PushScope): PushChannel {
  const stopping = new AbortController();
  const signing_secret = createSecretKey(Buffer.from(readSecret(scope.settings, 'TEAMCHAT_SIGNING_SECRET')));
  const call = createCall(scope, stopping.signal);
  const direct = new DirectMessages();
  const sender = createSender(scope, call, direct);
  const status = new StatusLine(scope, call);
  /** The bot's own user id; null until the platform has sent it. */
  let self: string | null = null;
  /** The address of the bot's profile, which has a button for direct messages. */
  let profile: string | null = null;

  async function introduce(): Promise<void> {
    try {
      const { user_id, team_id, url } = await call('auth.test', {});
      if (typeof user_id === 'string') self = user_id;
      profile = isId(user_id) && typeof url === 'string' ? buildProfileUrl(url, user_id) : null;
      scope.log.info({ user_id, team_id }, 'the platform knows the bot');
    } catch (error) {
      if (stopping.signal.aborted) return;
      const { reason, credentials } = toRefusal(error);
      const level = credentials ? 'error' : scope.simulated ? 'debug' : 'info';
      scope.log[level]({ reason }, 'the platform could not be asked for the identity of the bot');
    }
  }

  /** @throws invalid_signature */
  function verify(request: ChannelRequest): void {
    if (!isSigned(request, signing_secret, scope.now()))
      throw scope.problem('invalid_signature', 'The signature is missing, wrong, or too old.');
  }

  async function takeEvent(request: ChannelRequest): Promise<ChannelResponse> {
    verify(request);
    const parsed = parse(request.json(), self);
    switch (parsed.kind) {
      case 'challenge':
        return { body: { challenge: parsed.challenge } };
      case 'message':
        await scope.enqueue([parsed.message], request);
        break;
      case 'overheard':
        await scope.links.takeCode(parsed.message, request);
        break;
      case 'unreadable':
        await scope.notify(
          parsed.reply_to,
          scope.say(parsed.notice, { max: TEXT_MAX.toLocaleString('en') }),
          {
            message_id: parsed.message_id,
            user_id: parsed.user_id,
            throttle_key: String(parsed.reply_to.channel),
          },
        );
        break;
      case 'edit':
        await scope.edit(parsed.edited, request);
        break;
      case 'deletion':
        await scope.forget(parsed.deleted);
        break;
      case 'reaction':
        await scope.rate(parsed.reaction);
        break;
      case 'trouble':
        scope.log.warn({ request_id: request.id }, parsed.words);
        break;
      case 'nothing':
        scope.log.debug({ request_id: request.id, why: parsed.why }, 'a delivery was ignored');
    }
    return { status: 200 };
  }

  async function takeCommand(request: ChannelRequest): Promise<ChannelResponse> {
    verify(request);
    const form = request.form();
    // The platform sends this request from time to time to check our certificate.
    if (form.get('ssl_check') === '1') return { status: 200 };
    const user = form.get('user_id') ?? '';
    if (!isId(user)) {
      throw scope.problem('invalid_request', 'The request has fields that are not valid.', [
        { field: 'user_id', message: 'must be the id of a user' },
      ]);
    }
    const typed = {
      command: form.get('command') ?? '',
      text: form.get('text') ?? '',
      user,
      signed: identifyRequest(request),
    };
    return { body: await answerCommand(typed, request, scope) };
  }

  async function takePress(request: ChannelRequest): Promise<ChannelResponse> {
    verify(request);
    const press = readPress(jsonObject(request.form().get('payload') ?? ''));
    if (typeof press === 'string') {
      scope.log.debug({ request_id: request.id, why: press }, 'an interaction was ignored');
      return { status: 200 };
    }
    const outcome = await scope.press(press.message, request);
    // Not awaited: the platform waits only 3 s for the response.
    if (outcome.outcome === 'refused') void showRefusal(press, outcome.text);
    return { status: 200 };
  }

  /**
   * Tells only the person who pressed the button why the press was refused. The text is not sent again after a failure:
   * nothing has changed, and the button is still there.
   */
  async function showRefusal({ message, user }: Press, text: string): Promise<void> {
    const { channel, thread_ts } = message.reply_to ?? {};
    const thread = typeof thread_ts === 'string' ? { thread_ts } : {};
    try {
      await call('chat.postEphemeral', { channel, user, ...thread, text });
    } catch (error) {
      scope.log.debug(
        { reason: toRefusal(error).reason },
        'a person could not be notified that a button has no effect',
      );
    }
  }

  return {
    routes: [
      {
        method: 'POST',
        path: PATHS.events,
        contentType: 'application/json',
        bodyLimit: BODY_LIMIT,
        handle: takeEvent,
      },
      {
        method: 'POST',
        path: PATHS.commands,
        contentType: 'application/x-www-form-urlencoded',
        bodyLimit: BODY_LIMIT,
        handle: takeCommand,
      },
      {
        method: 'POST',
        path: PATHS.interactive,
        contentType: 'application/x-www-form-urlencoded',
        bodyLimit: BODY_LIMIT,
        handle: takePress,
      },
    ],
    async start() {
      await loadRenderer();
      // Not awaited: the daemon serves requests even if the platform is unreachable.
      void introduce();
    },
    async send(reply) {
      await sender.send(reply);
      status.answered(reply.reply_to);
    },
    closeQuestion: (closed) => sender.close(closed),
    typing: (reply_to) => status.show(reply_to),
    // A message that is posted to a user also arrives if the platform has not named the direct messages yet.
    privateSession(user_id, thread_id) {
      const channel_id = direct.get(user_id) ?? user_id;
      const [, team] = thread_id.split(':');
      return isUser(user_id) ? { thread_id: `teamchat:${team}:${channel_id}`, channel_id } : null;
    },
    chatUrl: () => profile,
    // The platform opens the direct message with the user (`chat.postMessage`).
    privateChat: (user_id) => (isUser(user_id) ? { channel: user_id } : null),
    health: () => sender.health(),
    check: () => checkToken(call),
    checkRegistration: () => checkScopes(call),
    async stop() {
      stopping.abort();
    },
  };
}

/** Whether an id is of a user of this workspace, to whom a message can be posted. */
function isUser(id: string): boolean {
  return /^[UW][A-Z0-9]{1,63}$/.test(id);
}

/** The profile of a user. Null if the address of the workspace is not as documented. */
function buildProfileUrl(workspace: string, user: string): string | null {
  const base = URL.parse(workspace);
  return base?.protocol === 'https:' ? new URL(`/team/${user}`, base).href : null;
}

export default teamchat satisfies PushPlugin;
