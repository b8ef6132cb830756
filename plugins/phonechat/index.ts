import type {
  JsonObject,
  PushChannel,
  PushPlugin,
  PushScope,
  SettingRecord,
} from '../../src/channel/index.ts';
import { type Configured, Graph, isConfigured, readSettings, TEXT_LIMIT } from './api.ts';
import { KINDS, TEXTS } from './content.ts';
import { linkRoutes } from './link-routes.ts';
import { isBusinessScopedId } from './parse.ts';
import { comparePhone, listSpellings, loadNumberingPlans } from './phone-number.ts';
import { loadRenderer, ReadMarks, Sender } from './send.ts';
import { checkNumbers, checkRegistration, register } from './setup.ts';
import { webhookRoutes } from './webhook-routes.ts';

const settings: readonly SettingRecord[] = [
  {
    name: 'PHONECHAT_ACCESS_TOKEN',
    kind: 'string',
    required: true,
    secret: true,
    sentence:
      'Access token of a system user of the business, with the permission whatsapp_business_messaging.',
  },
  {
    name: 'PHONECHAT_PHONE_NUMBER_ID',
    kind: 'string',
    required: true,
    // Each id becomes part of paths and session ids.
    pattern: /^[A-Za-z0-9_-]{1,64}(\s*,\s*[A-Za-z0-9_-]{1,64})*$/,
    example: '106540352242922',
    sentence:
      'Id of the business phone number that the agent answers for (not the number itself). Separate several ids by commas.',
  },
  {
    name: 'PHONECHAT_APP_SECRET',
    kind: 'string',
    required: true,
    secret: true,
    sentence: 'App secret, with which the platform signs its webhooks.',
  },
  {
    name: 'PHONECHAT_VERIFY_TOKEN',
    kind: 'string',
    required: true,
    secret: true,
    sentence: 'Verify token: any text of your own. The platform repeats it when the webhook is registered.',
  },
  {
    name: 'PHONECHAT_BUSINESS_ACCOUNT_ID',
    kind: 'string',
    pattern: /^[A-Za-z0-9_-]{1,64}$/,
    sentence:
      'Id of the WhatsApp business account of the numbers. With it, `agentd channels setup` subscribes the app to the account, and `agentd doctor` checks the subscription.',
  },
  {
    name: 'PHONECHAT_API_URL',
    kind: 'url',
    default: 'https://graph.facebook.com',
    sentence: "Address of the platform's API, without its version.",
  },
];

/** WhatsApp, through Meta's Cloud API: people write to a business number. */
const phonechat: PushPlugin = {
  name: 'phonechat',
  title: 'WhatsApp',
  apiVersion: 1,
  summary: 'People who write to a WhatsApp business number.',
  settings,
  detect: isConfigured,
  delivery: 'push',
  capabilities: {
    textLimit: TEXT_LIMIT,
    markdown: 'platform',
    typing: true,
  },
  linking: {
    word: 'phone',
    argument: 'NUMBER',
    form: 'a plus sign and the country code, such as +15550100123',
    // A person who hides the number has only the business-scoped id.
    idsOf: (given) => (isBusinessScopedId(given.trim()) ? [given.trim()] : listSpellings(given)),
    comparePhone,
    how: TEXTS.how_to_sign_in,
  },
  simulator: async () => (await import('./simulator.ts')).simulator,
  texts: [...Object.values(TEXTS), ...Object.values(KINDS)],
  setup: {
    settings: ['PHONECHAT_ACCESS_TOKEN', 'PHONECHAT_PHONE_NUMBER_ID', 'PHONECHAT_VERIFY_TOKEN'],
    run(address, scope) {
      const configured = readSettings(scope.settings);
      return register(address, new Graph(scope, configured), configured);
    },
  },
  create: (scope) => createPhonechat(scope),
};

function createPhonechat(scope: PushScope): PushChannel {
  const configured = readSettings(scope.settings);
  const graph = new Graph(scope, configured);
  const sender = new Sender(scope, graph);
  const marks = new ReadMarks(scope, graph);
  const address = linkAddress(graph, configured);
  return {
    routes: [...webhookRoutes(scope, configured), ...linkRoutes(scope)],
    async start() {
      loadNumberingPlans();
      await loadRenderer();
    },
    send: (reply) => sender.send(reply),
    typing: (reply_to) => marks.show(reply_to),
    codeUrl: (code) => address(code),
    privateChat: (user_id) => addressOfUser(user_id, configured),
    health: () => graph.health(),
    check: () => checkNumbers(graph, configured),
    checkRegistration: () => checkRegistration(graph, configured),
  };
}

export default phonechat satisfies PushPlugin;

/** The `reply_to` of a private chat with a user, from our first business number; null if this is no id of a user. */
export function addressOfUser(user_id: string, { numbers }: Pick<Configured, 'numbers'>): JsonObject | null {
  const [number_id] = numbers;
  if (number_id === undefined) return null;
  if (isBusinessScopedId(user_id)) return { number_id, recipient: user_id };
  return /^\+\d{5,20}$/.test(user_id) ? { number_id, to: user_id.slice(1) } : null;
}

/**
 * Makes the function that returns an address which opens a chat with our first business number, with `link` and the code
 * as its text (WhatsApp Help Center, "How to use click to chat"). The platform is asked for the number until it is known.
 */
export function linkAddress(
  graph: Pick<Graph, 'look'>,
  { numbers }: Pick<Configured, 'numbers'>,
): (code: string) => Promise<string | null> {
  const [number_id] = numbers;
  let digits = '';
  return async (code) => {
    if (digits === '' && number_id !== undefined) {
      const found = await graph.look(number_id);
      if ('number' in found) digits = found.number.replace(/\D/g, '');
    }
    return digits === '' ? null : `https://wa.me/${digits}?text=${encodeURIComponent(`link ${code}`)}`;
  };
}
