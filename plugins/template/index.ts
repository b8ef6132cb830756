import type { ChannelRequest, PushChannel, PushPlugin, PushScope } from 'agentd/channel';
import { carryOut, parseCommand, TEXTS } from './commands.ts';
import { parse } from './parse.ts';
import { Sender, TEXT_LIMIT } from './send.ts';
import { ID, readSettings } from './settings.ts';
import { isSigned } from './verify.ts';

/**
 * The channel, as agentd loads it. agentd-channel(7) describes its life cycle: it is loaded, gets its settings and
 * scope, is started, receives, sends, and is stopped. The daemon takes care of order, durability, limits, identity and
 * retries.
 */
const plugin: PushPlugin = {
  name: 'pigeonpost',
  apiVersion: 1,
  summary: 'People who write through pigeonpost.',
  settings: [
    {
      name: 'PIGEONPOST_TOKEN',
      kind: 'string',
      required: true,
      secret: true,
      sentence: 'Token that sends the replies. Together with PIGEONPOST_SECRET it turns the channel on.',
    },
    {
      name: 'PIGEONPOST_SECRET',
      kind: 'string',
      required: true,
      secret: true,
      sentence: 'Secret that the platform signs its webhooks with.',
    },
    {
      name: 'PIGEONPOST_API_URL',
      kind: 'url',
      default: 'https://api.pigeonpost.example',
      sentence: "Address of the platform's API, or of a simulator.",
    },
  ],
  detect: (settings) => settings.PIGEONPOST_TOKEN !== undefined && settings.PIGEONPOST_SECRET !== undefined,
  delivery: 'push',
  capabilities: {
    textLimit: TEXT_LIMIT,
    markdown: 'platform',
    typing: false,
    // Set this to false if your platform has no rooms with several people.
    groups: true,
  },
  // Users can be linked to a person, so that the tools act as that person.
  linking: {
    argument: 'ID',
    how: TEXTS.how_to_sign_in,
    idsOf: (given) => (ID.test(given) ? [given] : []),
  },
  texts: Object.values(TEXTS),
  simulator: async () => (await import('./simulator.ts')).simulator,
  create,
};

export default plugin;

/** Creates the channel. Do not open sockets or start timers here: that belongs in `start`. */
function create(scope: PushScope): PushChannel {
  const { secret } = readSettings(scope.settings);
  const sender = new Sender(scope);

  /**
   * Refuses a request that the platform did not sign. Call this before anything in the body is read: a stranger must
   * learn nothing from the answer.
   */
  function requireSignature(request: ChannelRequest): void {
    if (!isSigned(request, secret, scope.now()))
      throw scope.problem('invalid_signature', 'The signature is missing, wrong or too old.');
  }

  return {
    routes: [
      {
        method: 'POST',
        path: '/webhook/pigeonpost',
        async handle(request) {
          requireSignature(request);
          const delivery = parse(request.json());
          if (delivery === null)
            throw scope.problem('invalid_request', 'This is not a delivery of the platform.');
          if (delivery.kind === 'message') await scope.enqueue([delivery.message], request);
          // `press` returns an outcome. If it is `refused`, and the platform can show a text to one person only, show
          // the outcome's `text` to the person who pressed the button.
          if (delivery.kind === 'press') await scope.press(delivery.message, request);
          if (delivery.kind === 'edit') await scope.edit(delivery.edited, request);
          // Acknowledge the delivery only now that the message is stored. Without this response, the platform delivers
          // the message again.
          return { status: 200 };
        },
      },
      {
        method: 'POST',
        path: '/webhook/pigeonpost/command',
        async handle(request) {
          requireSignature(request);
          const command = parseCommand(request.form());
          if (command === null)
            throw scope.problem('invalid_request', 'This is not a command of the platform.');
          await carryOut(command, request, scope);
          return { status: 200 };
        },
      },
    ],
    send: (reply) => sender.send(reply),
    check: () => sender.check(),
  };
}
