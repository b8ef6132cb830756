import type { ChannelScope, PushChannel, PushPlugin, PushScope } from '../../src/channel/index.ts';
import { readSecret } from '../../src/channel/index.ts';
import { PlatformApi } from './api.ts';
import { Bot, parseBotId } from './bot.ts';
import { Receiver } from './receive.ts';
import { loadRenderer, Sender } from './send.ts';
import { checkRegistration, checkToken, register, WEBHOOK_PATH } from './setup.ts';
import { TEXTS } from './texts.ts';

/** Minimum length of the secret, in characters. A shorter secret can be guessed. */
const SECRET_MIN = 16;

/** Maximum size of an update, in bytes. The Bot API server itself stores no update larger than 524,288 bytes. */
const BODY_LIMIT = 4 * 1024 * 1024;

/** Telegram bots. The platform posts updates to a webhook, and replies are sent with methods of the Bot API. */
const msgbot: PushPlugin = {
  name: 'msgbot',
  title: 'Telegram',
  apiVersion: 1,
  summary: 'People who write to a Telegram bot, in private chats and groups.',
  settings: [
    {
      name: 'MSGBOT_BOT_TOKEN',
      kind: 'string',
      pattern: /^[\w.~-]+(?::[\w.~-]+)?$/,
      required: true,
      secret: true,
      sentence:
        'Token of the bot from BotFather. Together with MSGBOT_WEBHOOK_SECRET it turns the msgbot channel on.',
    },
    {
      name: 'MSGBOT_WEBHOOK_SECRET',
      kind: 'string',
      pattern: /^[\w-]{1,256}$/,
      required: true,
      secret: true,
      sentence: 'The secret_token of `setWebhook`. Updates without it are refused.',
    },
    {
      name: 'MSGBOT_API_URL',
      kind: 'url',
      default: 'https://api.telegram.org',
      sentence: 'Address of the Bot API: of the platform, of your own Bot API server, or of a simulator.',
    },
  ],
  detect: (settings) =>
    settings.MSGBOT_BOT_TOKEN !== undefined && settings.MSGBOT_WEBHOOK_SECRET !== undefined,
  delivery: 'push',
  capabilities: {
    textLimit: 4096,
    markdown: 'platform',
    typing: true,
  },
  linking: {
    argument: 'ID',
    how: TEXTS.how_to_sign_in,
    idsOf: (given) => (/^[1-9]\d{0,15}$/.test(given.trim()) ? [given.trim()] : []),
  },
  simulator: async () => (await import('./simulator.ts')).simulator,
  texts: Object.values(TEXTS),
  setup: {
    settings: ['MSGBOT_BOT_TOKEN', 'MSGBOT_WEBHOOK_SECRET'],
    run(address, scope) {
      const secret = readSecret(scope.settings, 'MSGBOT_WEBHOOK_SECRET');
      return register(address, createApi(scope), secret);
    },
  },
  create: (scope) => createMsgbot(scope),
};

function createMsgbot(scope: PushScope): PushChannel {
  const token = readSecret(scope.settings, 'MSGBOT_BOT_TOKEN');
  const secret = readSecret(scope.settings, 'MSGBOT_WEBHOOK_SECRET');
  const api = createApi(scope);
  const bot = new Bot(token, api, scope);
  const receiver = new Receiver(scope, bot, api, secret);
  const sender = new Sender(scope, api);
  return {
    routes: [
      {
        method: 'POST',
        path: WEBHOOK_PATH,
        contentType: 'application/json',
        bodyLimit: BODY_LIMIT,
        async handle(request) {
          await receiver.receive(request);
          return { status: 200 };
        },
      },
    ],
    async start() {
      await loadRenderer();
      if (secret.length < SECRET_MIN)
        scope.log.warn({}, `MSGBOT_WEBHOOK_SECRET is short; use ${SECRET_MIN} characters or more`);
      if (parseBotId(token) === null)
        scope.log.warn(
          {},
          'MSGBOT_BOT_TOKEN does not look like a token from BotFather, such as 123456:AAE...',
        );
      // Not awaited: the daemon starts even if the platform is unreachable.
      bot.start();
    },
    send: (reply) => sender.send(reply),
    closeQuestion: (closed) => sender.close(closed),
    typing: (reply_to) => sender.showTyping(reply_to),
    codeUrl: (code) => (bot.username === null ? null : `https://t.me/${bot.username}?start=${code}`),
    // A private chat has the same id as its person (Bot API, "Chat").
    privateSession: (user_id) => ({ thread_id: `msgbot:${user_id}`, channel_id: user_id }),
    chatUrl: () => (bot.username === null ? null : `https://t.me/${bot.username}`),
    privateChat: (user_id) => (/^[1-9]\d{0,15}$/.test(user_id) ? { chat: Number(user_id) } : null),
    health: () => bot.health(),
    check: () => checkToken(api),
    checkRegistration: () => checkRegistration(api, scope.now()),
    stop: async () => bot.stop(),
  };
}

function createApi(scope: ChannelScope): PlatformApi {
  return new PlatformApi(
    scope,
    readSecret(scope.settings, 'MSGBOT_BOT_TOKEN'),
    String(scope.settings.MSGBOT_API_URL),
  );
}

export default msgbot satisfies PushPlugin;
