import type {
  ChannelRequest,
  ResponsePlugin,
  ResponseScope,
  TokenSource,
  WebChannel,
} from '../../src/channel/index.ts';
import { chatPage, partRoutes, textsRoute, widgetRoute } from './browser-files.ts';
import { CONTINUE_TEXTS, continueTranslations, WIDGET_TEXTS, widgetTranslations } from './texts.ts';

/** Path of the channel, unless WEBCHAT_WEBHOOK_PATH is set (agentd-webchat(7)). */
const DEFAULT_PATH = '/webchat/message';

/** Token sources, in the order of their priority (agentd-webchat(7)). */
const TOKEN_SOURCES: readonly TokenSource[] = ['header', 'body', 'metadata'];

/** Visitors of a website: a POST request sends the message, and its response contains the reply. */
const webchat: ResponsePlugin = {
  name: 'webchat',
  title: 'Website',
  apiVersion: 1,
  summary: 'Visitors of a website; the reply is in the body of the same HTTP response.',
  settings: [
    {
      name: 'WEBCHAT_ENABLED',
      kind: 'boolean',
      default: false,
      sentence: 'Turns the webchat channel on.',
    },
    {
      name: 'WEBCHAT_WEBHOOK_PATH',
      kind: 'string',
      default: DEFAULT_PATH,
      // No empty segment and none of dots, which clients remove before they send a request.
      pattern: /^\/([\w~-][\w.~-]*(\/|$))*$/,
      sentence: 'Path of the webchat channel; begins with a slash.',
    },
    {
      name: 'WEBCHAT_PAGE',
      kind: 'boolean',
      default: false,
      sentence: 'Serves the chat as a page of its own at `GET /chat`.',
    },
    {
      name: 'WEBCHAT_PAGE_ACCENT',
      kind: 'string',
      // A `#` without quotes begins a comment in `.env` and in YAML.
      pattern: /^#?[0-9a-f]{6}$/i,
      example: '7a4f0c',
      sentence:
        'Color of buttons and of the visitor’s messages on the page `GET /chat`, as six hexadecimal digits. All other colors fit to it.',
    },
  ],
  detect: (settings) => settings.WEBCHAT_ENABLED === true,
  delivery: 'response',
  capabilities: {
    namespace: 'web',
    textLimit: null,
    markdown: 'commonmark',
    typing: false,
  },
  texts: [...WIDGET_TEXTS, ...CONTINUE_TEXTS],
  create: (scope) => createWebchat(scope),
};

function createWebchat(scope: ResponseScope): WebChannel {
  const continued = continueTranslations(scope.translations(CONTINUE_TEXTS));
  const translations = widgetTranslations(scope.translations(WIDGET_TEXTS));
  return {
    routes: [
      {
        method: 'POST',
        path: String(scope.settings.WEBCHAT_WEBHOOK_PATH),
        contentType: 'application/json',
        cors: true,
        limited: true,
        token: (request) => scope.readToken(request, TOKEN_SOURCES),
        thread: readSessionId,
        async handle(request) {
          const message = scope.readMessage(request, TOKEN_SOURCES);
          for await (const event of scope.converse(message, request)) {
            if (event.type !== 'complete') continue;
            const { response, session_id, replayed, message_id, confirmation, receipts } = event;
            return {
              headers: replayed ? { 'Idempotency-Replayed': 'true' } : {},
              body: {
                response,
                session_id,
                metadata: {
                  platform: 'webchat',
                  user_id: message.user_id,
                  message_id,
                  confirmation,
                  actions: receipts?.actions,
                  receipts_begin_at: receipts?.begins_at,
                },
              },
            };
          }
          throw new Error('the conversation ended without a reply');
        },
      },
      widgetRoute(String(scope.settings.WEBCHAT_WEBHOOK_PATH), translations),
      ...partRoutes({ continued, translations }),
      textsRoute(translations),
      ...(scope.settings.WEBCHAT_PAGE === true ? chatPage(translations, readLooks(scope)) : []),
    ],
  };
}

function readLooks({ settings: { WEBCHAT_PAGE_ACCENT: accent }, sign_in_url }: ResponseScope) {
  return { sign_in_url, accent: typeof accent === 'string' ? `#${accent.replace('#', '')}` : null };
}

/** The session that the request names, valid or not. */
function readSessionId(request: ChannelRequest): string | null {
  const { session_id } = request.json();
  return typeof session_id === 'string' ? session_id : null;
}

export default webchat;
