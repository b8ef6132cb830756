import { describe, expect, it, onTestFinished, vi } from 'vitest';
import teamchat from '../../../../plugins/teamchat/index.ts';
import { signRequest } from '../../../../plugins/teamchat/verify.ts';
import type { ChannelRequest, ChannelResponse } from '../../../../src/channel/index.ts';
import { AgentdError } from '../../../../src/daemon/errors.ts';
import { GOOD_TOKEN, LINKED, type RecordingScope, recordingScope } from '../../../support/channel-scope.ts';
import { settingsOf } from '../../../support/fake-platform.ts';

const SECRET = 'a signing secret';
const settings = settingsOf(teamchat, { TEAMCHAT_BOT_TOKEN: 'xoxb-1', TEAMCHAT_SIGNING_SECRET: SECRET });

/** From the documentation of slash commands. */
const FORM = {
  token: 'gIkuvaNzQIHg97ATvDxqgjtO',
  team_id: 'T0001',
  team_domain: 'example',
  enterprise_id: 'E0001',
  enterprise_name: 'Globular Construct Inc',
  channel_id: 'C2147483705',
  channel_name: 'test',
  user_id: 'U2147483697',
  user_name: 'Steve',
  command: '/service-auth',
  text: '',
  response_url: 'https://hooks.slack.com/commands/1234/5678',
  trigger_id: '13345224609.738474920.8088930838d88f008e0',
  api_app_id: 'A123456',
  is_enterprise_install: 'false',
};

async function typed(form: Record<string, string>, scope: RecordingScope = recordingScope(settings)) {
  const body = new URLSearchParams({ ...FORM, ...form }).toString();
  const timestamp = String(Math.floor(Date.now() / 1000));
  const request = {
    id: 'r1',
    headers: {
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': signRequest(SECRET, timestamp, body),
    },
    body: Buffer.from(body),
    form: () => new URLSearchParams(body),
  } as unknown as ChannelRequest;
  const route = teamchat.create(scope).routes.find(({ path }) => path === '/webhook/teamchat/commands');
  const response = (await route?.handle(request)) as ChannelResponse;
  return { ...response, body: response.body as { response_type: string; text: string } };
}

describe('/service-auth', () => {
  it('links the sender, and shows the linked person and the expiry only to the sender', async () => {
    const scope = recordingScope(settings);
    const { status, body } = await typed({ text: `  ${GOOD_TOKEN}\n` }, scope);
    expect(status ?? 200).toBe(200);
    expect(body).toEqual({
      response_type: 'ephemeral',
      text: '✅ You are signed in as ada@example.com until <!date^1893553445^{date_short_pretty} at {time}|2030-01-02 03:04 UTC>. `/service-auth off` signs you out.',
    });
    expect([...scope.linked]).toEqual([['U2147483697', GOOD_TOKEN]]);
    expect(JSON.stringify([body, scope.logged])).not.toContain(GOOD_TOKEN);
  });

  it('says why a token is invalid', async () => {
    const { body } = await typed({ text: 'nonsense' });
    expect(body).toEqual({
      response_type: 'ephemeral',
      text: '❌ You could not be signed in: JWT Malformed.',
    });
  });

  it.each(['off', ' OFF ', 'Off'])('ends the link: %j', async (text) => {
    const scope = recordingScope(settings);
    scope.linked.set('U2147483697', GOOD_TOKEN);
    expect((await typed({ text }, scope)).body).toEqual({
      response_type: 'ephemeral',
      text: '✅ You are signed out.',
    });
    expect(scope.linked.size).toBe(0);
    expect((await typed({ text }, scope)).body.text).toBe(
      '✅ You are signed out; you were not signed in before.',
    );
  });

  it('passes on an id of the request, so that a repeated request does nothing', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    onTestFinished(() => void vi.useRealTimers());
    const asked: (string | undefined)[] = [];
    const scope = recordingScope(settings, {
      links: {
        async link(_user, _token, { message_id } = {}) {
          asked.push(message_id);
          return LINKED;
        },
        takeCode: async () => false,
        unlink: async (_user, { message_id } = {}) => asked.push(message_id) > 0,
        unlinkPerson: async () => ({ outcome: 'none' }),
      },
    });
    for (const text of [GOOD_TOKEN, GOOD_TOKEN, 'off']) await typed({ text }, scope);
    vi.setSystemTime(Date.now() + 1000);
    await typed({ text: GOOD_TOKEN }, scope);
    const [first, repeated, off, typedAgain] = asked;
    expect(first).toMatch(/^command:[0-9a-f]{32}$/);
    expect(repeated).toBe(first);
    expect(new Set([first, off, typedAgain]).size).toBe(3);
  });

  it.each([
    ['', /^❌ .*JWT Malformed.* To sign in, send `\/service-auth` followed by the token from our website/],
    ['   ', /^❌ .*JWT Malformed/],
    ['help', /^To sign in, send `\/service-auth` followed by the token from our website/],
  ])('explains itself if there is no token: %j', async (text, explained) => {
    const { body } = await typed({ text });
    expect(body.response_type).toBe('ephemeral');
    expect(body.text).toMatch(explained);
  });

  it('says that nothing was done if the store is unreachable', async () => {
    const fails = () => Promise.reject(new AgentdError('unavailable', 'The store cannot be reached.'));
    const links = { link: fails, takeCode: fails, unlink: fails, unlinkPerson: fails };
    const scope = recordingScope(settings, { links });
    for (const text of [GOOD_TOKEN, 'off']) {
      const { status, body } = await typed({ text }, scope);
      expect([status ?? 200, body.response_type]).toEqual([200, 'ephemeral']);
      expect(body.text).toMatch(/^❌ .*cannot store this at the moment/);
    }
    expect(scope.logged.map(({ level }) => level)).toEqual(['error', 'error']);
    expect(JSON.stringify(scope.logged)).not.toContain(GOOD_TOKEN);
  });

  it('answers before the platform stops waiting, and says that the outcome is unknown', async () => {
    vi.useFakeTimers();
    try {
      const never = () => new Promise<never>(() => {});
      const scope = recordingScope(settings, {
        links: { link: never, takeCode: never, unlink: never, unlinkPerson: never },
      });
      const answer = typed({ text: GOOD_TOKEN }, scope);
      await vi.advanceTimersByTimeAsync(2999);
      expect((await answer).body.text).toMatch(/^❌ .*do not know whether it was done/);
    } finally {
      vi.useRealTimers();
    }
  });

  it('escapes an address that looks like markup, so that it is shown unchanged', async () => {
    const link = async () =>
      ({ linked: true, user_id: 'x', email: '<!channel>&@example.com', expires_at: 0 }) as const;
    const links = {
      link,
      takeCode: async () => false,
      unlink: async () => false,
      unlinkPerson: async () => ({ outcome: 'none' }) as const,
    };
    const { body } = await typed({ text: GOOD_TOKEN }, recordingScope(settings, { links }));
    expect(body.text).toContain('&lt;!channel&gt;&amp;@example.com');
  });
});

describe('an unknown command', () => {
  it.each(['/service_auth', '/help', '', '/service-auth-x'])(
    'gets a hint that only its sender sees: %j',
    async (command) => {
      const scope = recordingScope(settings);
      const { body } = await typed({ command, text: GOOD_TOKEN }, scope);
      expect(body.response_type).toBe('ephemeral');
      expect(body.text).toMatch(/^I do not know this command\..*`\/service-auth`/);
      expect(body.text).not.toContain(GOOD_TOKEN);
      expect(scope.linked.size).toBe(0);
    },
  );
});

describe('a request to the path for commands', () => {
  it('is answered but has no effect if it only checks the certificate', async () => {
    const scope = recordingScope(settings);
    const { status, body } = await typed({ ssl_check: '1', text: GOOD_TOKEN }, scope);
    expect([status, body]).toEqual([200, undefined]);
    expect(scope.linked.size).toBe(0);
  });

  it.each(['', 'U1:2', 'U1\n', 'x'.repeat(65)])('is refused if the user id is %j', async (user_id) => {
    await expect(typed({ user_id, text: GOOD_TOKEN })).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [{ field: 'user_id' }],
    });
  });
});

describe('the user ids that `agentd link` reads', () => {
  const idsOf = (given: string) => teamchat.linking?.idsOf(given);

  it.each([
    ['U012AB3CD', ['U012AB3CD']],
    [' W012AB3CD ', ['W012AB3CD']],
    // The platform does not say that ids are case-insensitive, so this is not an id.
    ['u012ab3cd', []],
    ['T0EXTERNAL:U012AB3CD', ['T0EXTERNAL:U012AB3CD']],
    ['B012AB3CD', []],
    ['ada', []],
    ['U', []],
    ['', []],
    ['U012AB3CD U1', []],
    ['<@U012AB3CD>', []],
  ])('from %j are %j', (given, ids) => {
    expect(idsOf(given)).toEqual(ids);
  });
});
