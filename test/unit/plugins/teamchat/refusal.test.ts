import { describe, expect, it } from 'vitest';
import { createCall, type Refusal, toRefusal } from '../../../../plugins/teamchat/api.ts';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import { recordingScope } from '../../../support/channel-scope.ts';

/** The refusal of a call to which the platform gives this answer. */
async function refusalOf(fetch: () => Promise<Response>): Promise<Refusal> {
  const settings = { TEAMCHAT_API_URL: 'https://slack.example/api', TEAMCHAT_BOT_TOKEN: 'xoxb-1' };
  const call = createCall({ ...recordingScope(settings), fetch }, new AbortController().signal);
  const failure = await call('auth.test', {}).then(
    () => null,
    (error: unknown) => error,
  );
  return toRefusal(failure);
}

const answered = (error: unknown, retry_after?: number) =>
  refusalOf(async () =>
    Response.json(
      { ok: false, error },
      retry_after === undefined ? {} : { headers: { 'Retry-After': `${retry_after}` } },
    ),
  );

describe('a refusal by the platform', () => {
  it.each([
    'as_user_not_supported',
    'channel_not_found',
    'deprecated_endpoint',
    'duplicate_channel_not_found',
    'duplicate_message_not_found',
    'ekm_access_denied',
    'invalid_arguments',
    'invalid_blocks',
    'invalid_thread_ts',
    'is_archived',
    'messages_tab_disabled',
    'msg_too_long',
    'no_text',
    'not_in_channel',
    'restricted_action',
    'restricted_action_non_threadable_channel',
    'restricted_action_read_only_channel',
    'restricted_action_thread_locked',
    'restricted_action_thread_only_channel',
    'slack_connect_file_link_sharing_blocked',
    'thread_not_found',
    'unknown_method',
    'a_code_of_next_year',
  ])('is final: %s', async (error) => {
    expect(await answered(error)).toEqual({ reason: error, final: true, credentials: false });
  });

  it.each(['access_denied', 'missing_scope', 'no_permission', 'team_access_not_granted'])(
    'is final, and concerns the permissions of the app: %s',
    async (error) => {
      expect(await answered(error)).toEqual({ reason: error, final: true, credentials: true });
    },
  );

  it.each([
    'account_inactive',
    'invalid_auth',
    'not_allowed_token_type',
    'not_authed',
    'token_expired',
    'token_revoked',
  ])('of our token is not final for a reply: %s', async (error) => {
    const refused = { final: false, credentials: true, platform: 'credentials' };
    expect(await answered(error)).toEqual({ reason: error, ...refused });
  });

  it.each(['fatal_error', 'internal_error', 'service_unavailable'])(
    'that reports a failure of the platform is not final: %s',
    async (error) => {
      const away = { final: false, credentials: false, platform: 'unreachable' };
      expect(await answered(error)).toEqual({ reason: error, ...away });
    },
  );

  it.each([
    'message_limit_exceeded',
    'org_login_required',
    'rate_limited',
    'ratelimited',
    'request_timeout',
    'team_added_to_org',
  ])('causes another attempt: %s', async (error) => {
    expect(await answered(error)).toEqual({ reason: error, final: false, credentials: false });
  });

  it('says how long to wait if the platform says so', async () => {
    expect(await answered('ratelimited', 30)).toMatchObject({ final: false, retry_after_seconds: 30 });
    expect(await answered('is_archived', 30)).not.toHaveProperty('retry_after_seconds');
  });

  it.each([
    '<html>Sign in to the network</html>',
    'xoxb-1 and more',
    '',
    'A'.repeat(5),
    'a'.repeat(65),
    7,
    null,
    {},
  ])('is not quoted and causes another attempt if it is not from the platform: %j', async (error) => {
    expect(await answered(error)).toEqual({
      reason: 'the response is not from the platform',
      final: false,
      credentials: false,
      platform: 'unreachable',
    });
  });
});

it('what the platform says about a refusal is logged, without the token', async () => {
  const scope = recordingScope({
    TEAMCHAT_API_URL: 'https://slack.example/api/',
    TEAMCHAT_BOT_TOKEN: new Secret('xoxb-1'),
  });
  const response_metadata = { messages: ['[ERROR] must be shorter: xoxb-1'] };
  const requests: string[] = [];
  const fetch = async (url: unknown) => {
    requests.push(String(url));
    return Response.json({ ok: false, error: 'invalid_blocks', response_metadata });
  };
  const call = createCall({ ...scope, fetch }, new AbortController().signal);
  await expect(call('chat.postMessage', { blocks: [] })).rejects.toThrow('invalid_blocks');
  expect(requests).toEqual(['https://slack.example/api/chat.postMessage']);
  expect(JSON.stringify(scope.logged)).toContain('must be shorter: [secret]');
});

describe('the HTTP status of a refusal', () => {
  it.each([
    [400, true, false, undefined],
    [401, false, true, 'credentials'],
    [403, true, true, undefined],
    [404, true, false, undefined],
    [408, false, false, undefined],
    [413, true, false, undefined],
    [500, false, false, 'unreachable'],
    [502, false, false, 'unreachable'],
    [503, false, false, 'unreachable'],
    [302, false, false, 'unreachable'],
  ])('%i: final %s, credentials %s, platform %s', async (status, final, credentials, platform) => {
    const refusal = await refusalOf(async () => new Response('', { status }));
    expect({ platform: undefined, ...refusal }).toEqual({
      reason: `status ${status}`,
      final,
      credentials,
      platform,
    });
    const asked = await refusalOf(async () => new Response('', { status, headers: { 'Retry-After': '7' } }));
    expect(asked.retry_after_seconds).toBe(final || status === 401 ? undefined : 7);
  });
});

describe('a call without an answer', () => {
  it('causes another attempt, and gives the reason without secrets', async () => {
    const failed = (error: unknown) => refusalOf(() => Promise.reject(error));
    const cause = Object.assign(new Error('xoxb-1'), { code: 'ECONNREFUSED' });
    expect(await failed(new TypeError('fetch failed', { cause }))).toEqual({
      reason: 'no answer (ECONNREFUSED)',
      final: false,
      credentials: false,
      platform: 'unreachable',
    });
    expect((await failed(new DOMException('late', 'TimeoutError'))).reason).toBe('no answer in time');
    expect((await failed({ name: 'xoxb-1 and more' })).reason).toBe('no answer');
  });

  it.each(['<html>Sign in to the network</html>', '[]', '"ok"', ' '.repeat(1_048_577)])(
    'is assumed if the answer is not from the platform',
    async (text) => {
      expect(await refusalOf(async () => new Response(text))).toEqual({
        reason: 'the response is not from the platform',
        final: false,
        credentials: false,
        platform: 'unreachable',
      });
    },
  );

  it.each([null, undefined, 'words', new Error('xoxb-secret in words'), { code: 'ELSE' }])(
    'is assumed for any other error, which is not quoted',
    (error) => {
      const refusal = toRefusal(error);
      expect(refusal.final).toBe(false);
      expect(refusal.reason).not.toContain('xoxb');
    },
  );

  it('because of a rate limit says how long to wait', async () => {
    const headers = { 'Retry-After': '7' };
    expect(await refusalOf(async () => new Response('', { status: 429, headers }))).toEqual({
      reason: 'ratelimited',
      final: false,
      credentials: false,
      retry_after_seconds: 7,
    });
  });
});
