import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import teamchat from '../../../../plugins/teamchat/index.ts';
import { manifestFor } from '../../../../plugins/teamchat/setup.ts';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import { recordingScope } from '../../../support/channel-scope.ts';

interface Manifest {
  features: { slash_commands: { command: string; url: string; should_escape: boolean }[] };
  oauth_config: { scopes: { bot: string[] } };
  settings: {
    event_subscriptions: { request_url: string; bot_events: string[] };
    interactivity: { is_enabled: boolean; request_url: string };
  };
}

const manifest = JSON.parse(
  readFileSync(new URL('../../../../config/teamchat-manifest.json', import.meta.url), 'utf8'),
) as Manifest;

it('the sample manifest is the output of `agentd channels setup teamchat` for a sample address', () => {
  expect(manifestFor('https://chat.example.com')).toEqual(manifest);
});

it('the manifest names the paths that the channel serves', () => {
  const { routes } = teamchat.create(recordingScope({ TEAMCHAT_SIGNING_SECRET: new Secret('secret') }));
  const [command] = manifest.features.slash_commands;
  const { event_subscriptions, interactivity } = manifest.settings;
  const urls = [event_subscriptions.request_url, command?.url ?? '', interactivity.request_url];
  expect(urls.map((url) => new URL(url).pathname)).toEqual(routes.map(({ path }) => path));
  expect(command).toMatchObject({ command: '/service-auth', should_escape: false });
});

it('the manifest requests the events that are handled, and only the scopes that these events and the calls need', () => {
  expect(manifest.settings.event_subscriptions.bot_events).toEqual([
    'app_mention',
    'app_uninstalled',
    'message.im',
    'reaction_added',
    'tokens_revoked',
  ]);
  expect(manifest.oauth_config.scopes.bot).toEqual([
    'app_mentions:read',
    'chat:write',
    'commands',
    'im:history',
    'reactions:read',
  ]);
});
