import { expect, it } from 'vitest';
import teamchat from '../../../../plugins/teamchat/index.ts';
import { signRequest } from '../../../../plugins/teamchat/verify.ts';
import { type ChannelRequest, pressPayload } from '../../../../src/channel/index.ts';
import { AgentdError } from '../../../../src/daemon/errors.ts';
import { sample } from '../../../fixtures/teamchat/sample.ts';
import { GOOD_TOKEN, type RecordingScope, recordingScope } from '../../../support/channel-scope.ts';
import { settingsOf } from '../../../support/fake-platform.ts';

const SECRET = 'a signing secret';
const settings = settingsOf(teamchat, { TEAMCHAT_BOT_TOKEN: 'xoxb-1', TEAMCHAT_SIGNING_SECRET: SECRET });

/** Passes a body to a route. An unsigned body must not even be parsed. */
async function deliver(scope: RecordingScope, path: string, body: string, isSigned = true) {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = signRequest(isSigned ? SECRET : 'another', timestamp, body);
  const looked: string[] = [];
  const request = {
    id: 'r1',
    headers: { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': signature },
    body: Buffer.from(body),
    json: () => looked.push('json') && JSON.parse(body),
    form: () => looked.push('form') && new URLSearchParams(body),
  } as unknown as ChannelRequest;
  const route = teamchat.create(scope).routes.find((one) => one.path.endsWith(path));
  const answer = Promise.resolve(route?.handle(request));
  return answer.finally(() => expect(looked.length > 0).toBe(isSigned));
}

const event = (name: string) => JSON.stringify(sample(name));

it('a route does not parse an unsigned body', async () => {
  const scope = recordingScope(settings);
  const form = new URLSearchParams({ command: '/service-auth', text: GOOD_TOKEN, user_id: 'U1' }).toString();
  for (const [path, body] of [
    ['events', event('message-im')],
    ['events', event('url-verification')],
    ['commands', form],
    ['commands', 'ssl_check=1'],
  ] as const)
    await expect(deliver(scope, path, body, false)).rejects.toMatchObject({ code: 'invalid_signature' });
  expect([scope.enqueued, scope.notices, scope.edited, [...scope.linked]]).toEqual([[], [], [], []]);
});

it('a route passes on messages and edits, and sends each hint with the id of the message that it answers', async () => {
  const scope = recordingScope(settings);
  for (const name of ['message-im', 'message-changed', 'file-share-wordless', 'own-message'])
    expect((await deliver(scope, 'events', event(name)))?.status).toBe(200);
  expect(scope.enqueued.map(({ message_id }) => message_id)).toEqual(['D024BE91L:1663966382.046509']);
  const [{ message_id, thread_id, user_id } = {}] = scope.enqueued;
  expect([message_id, thread_id]).toEqual(['D024BE91L:1663966382.046509', 'teamchat:T061EG9R6:D024BE91L']);
  expect(scope.edited).toEqual([{ message_id, thread_id, user_id, text: 'hello @U061F7AUR' }]);
  expect(scope.notices).toMatchObject([
    { message_id: 'D024BE91L:1531420618.000202', reply_to: { channel: 'D024BE91L' } },
  ]);
});

it('a route refuses a delivery if nothing can be stored, so that the platform repeats it', async () => {
  const fails = () => Promise.reject(new AgentdError('unavailable', 'The store cannot be reached.'));
  const scope = recordingScope(settings, { enqueue: fails, notify: fails, edit: fails });
  for (const name of ['message-im', 'message-changed', 'file-share-wordless'])
    await expect(deliver(scope, 'events', event(name))).rejects.toMatchObject({ code: 'unavailable' });
});

it('a route tells only the person who pressed a button why the press was refused', async () => {
  const sent: unknown[] = [];
  const scope = recordingScope(settings, {
    press: async () => ({ outcome: 'refused', text: 'Not yours.' }),
    fetch: async (url, init) => {
      sent.push([new URL(String(url)).pathname, Object.fromEntries(new URLSearchParams(String(init?.body)))]);
      return Response.json({ ok: true });
    },
  });
  const payload = JSON.stringify({
    type: 'block_actions',
    user: { id: 'U2', team_id: 'T1' },
    team: { id: 'T1' },
    channel: { id: 'C1' },
    message: { ts: '2.0', thread_ts: '1.0' },
    actions: [{ value: pressPayload('A'.repeat(22), true), action_ts: '3.000001' }],
  });
  const form = new URLSearchParams({ payload }).toString();
  expect((await deliver(scope, 'interactive', form))?.status).toBe(200);
  await expect.poll(() => sent).toHaveLength(1);
  expect(sent).toEqual([
    ['/api/chat.postEphemeral', { channel: 'C1', user: 'U2', thread_ts: '1.0', text: 'Not yours.' }],
  ]);
});
