import type { Channel, ChannelPlugin, ChannelScope } from 'agentd/channel';
import { parse } from './parse.ts';
import { Sender } from './send.ts';
import { ID, readSettings } from './settings.ts';
import { isSigned } from './verify.ts';

/**
 * The channel, as agentd loads it. Its life is told in agentd-channel(7): loaded, given its settings and scope,
 * started, receives, sends, stopped. Order, durability, limits, identity and retries are given to it.
 */
const plugin: ChannelPlugin = {
  name: 'pigeonpost',
  apiVersion: 1,
  summary: 'People who write by pigeonpost.',
  settings: [
    {
      name: 'PIGEONPOST_TOKEN',
      kind: 'string',
      required: true,
      secret: true,
      sentence: 'Token with which replies are sent; with PIGEONPOST_SECRET it turns the channel on.',
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
      sentence: 'Where replies are sent: the API of the platform, or a stand-in for tests.',
    },
  ],
  detect: (settings) => settings.PIGEONPOST_TOKEN !== undefined && settings.PIGEONPOST_SECRET !== undefined,
  capabilities: { reply: 'later', streaming: false, textLimit: null, markdown: 'commonmark', typing: false },
  // Its users can be linked to a person, so that the tools act as that person.
  linking: { argument: 'ID', idsOf: (given) => (ID.test(given) ? [given] : []) },
  simulator: async () => (await import('./simulator.ts')).simulator,
  create,
};

export default plugin;

/** Opens nothing: what does belongs in `start`. */
function create(scope: ChannelScope): Channel {
  const { secret } = readSettings(scope.settings);
  const sender = new Sender(scope);
  return {
    routes: [
      {
        method: 'POST',
        path: '/webhook/pigeonpost',
        async handle(request) {
          // Before anything of the body is looked at: whoever cannot sign it learns nothing.
          if (!isSigned(request, secret, scope.now()))
            throw scope.problem('invalid_signature', 'The signature is missing, wrong or too old.');
          const delivery = parse(request.json());
          if (delivery === null)
            throw scope.problem('invalid_request', 'This is no delivery of the platform.');
          if (delivery.kind === 'message') await scope.accept([delivery.message], request);
          if (delivery.kind === 'edit') await scope.edit(delivery.message_id, delivery.text);
          // Only now, when what came is kept: before that, the platform must come again.
          return { status: 200 };
        },
      },
    ],
    send: (reply) => sender.send(reply),
    health: () => sender.health(),
    check: () => sender.check(),
  };
}
