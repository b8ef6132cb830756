import { describe, expect, it } from 'vitest';
import { toRefusal } from '../../../../plugins/teamchat/api.ts';

const answered = (error: unknown, retryAfter?: number) =>
  toRefusal({
    code: 'slack_webapi_platform_error',
    data: { ok: false, error, response_metadata: { retryAfter } },
  });

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
  ])('is final: %s', (error) => {
    expect(answered(error)).toEqual({ reason: error, final: true, credentials: false });
  });

  it.each(['access_denied', 'missing_scope', 'no_permission', 'team_access_not_granted'])(
    'is final, and concerns the permissions of the app: %s',
    (error) => {
      expect(answered(error)).toEqual({ reason: error, final: true, credentials: true });
    },
  );

  it.each([
    'account_inactive',
    'invalid_auth',
    'not_allowed_token_type',
    'not_authed',
    'token_expired',
    'token_revoked',
  ])('of our token is not final for a reply: %s', (error) => {
    const refused = { final: false, credentials: true, platform: 'credentials' };
    expect(answered(error)).toEqual({ reason: error, ...refused });
  });

  it.each(['fatal_error', 'internal_error', 'service_unavailable'])(
    'that reports a failure of the platform is not final: %s',
    (error) => {
      const away = { final: false, credentials: false, platform: 'unreachable' };
      expect(answered(error)).toEqual({ reason: error, ...away });
    },
  );

  it.each([
    'message_limit_exceeded',
    'org_login_required',
    'rate_limited',
    'ratelimited',
    'request_timeout',
    'team_added_to_org',
  ])('causes another attempt: %s', (error) => {
    expect(answered(error)).toEqual({ reason: error, final: false, credentials: false });
  });

  it('says how long to wait if the platform says so', () => {
    expect(answered('ratelimited', 30)).toMatchObject({ final: false, retry_after_seconds: 30 });
    expect(answered('is_archived', 30)).not.toHaveProperty('retry_after_seconds');
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
  ])('is not quoted and causes another attempt if it is not from the platform: %j', (error) => {
    expect(answered(error)).toEqual({
      reason: 'the response is not from the platform',
      final: false,
      credentials: false,
      platform: 'unreachable',
    });
  });
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
  ])('%i: final %s, credentials %s, platform %s', (statusCode, final, credentials, platform) => {
    const refusal = toRefusal({ code: 'slack_webapi_http_error', statusCode });
    expect({ platform: undefined, ...refusal }).toEqual({
      reason: `status ${statusCode}`,
      final,
      credentials,
      platform,
    });
    const headers = { 'retry-after': '7' };
    const asked = toRefusal({ code: 'slack_webapi_http_error', statusCode, headers });
    expect(asked.retry_after_seconds).toBe(final || statusCode === 401 ? undefined : 7);
  });
});

describe('a call without an answer', () => {
  it('causes another attempt, and gives the reason in one word', () => {
    const cause = { name: 'TypeError', cause: { code: 'ECONNREFUSED' } };
    expect(toRefusal({ code: 'slack_webapi_request_error', original: cause })).toEqual({
      reason: 'no answer (ECONNREFUSED)',
      final: false,
      credentials: false,
      platform: 'unreachable',
    });
    expect(toRefusal({ code: 'slack_webapi_request_error', original: { name: 'TimeoutError' } }).reason).toBe(
      'no answer (TimeoutError)',
    );
  });

  it.each([null, undefined, 'words', new Error('xoxb-secret in words'), { code: 'ELSE' }])(
    'is assumed for any other error, which is not quoted',
    (error) => {
      const refusal = toRefusal(error);
      expect(refusal.final).toBe(false);
      expect(refusal.reason).not.toContain('xoxb');
    },
  );

  it('because of a rate limit says how long to wait', () => {
    expect(toRefusal({ code: 'slack_webapi_rate_limited_error', retryAfter: 7 })).toEqual({
      reason: 'ratelimited',
      final: false,
      credentials: false,
      retry_after_seconds: 7,
    });
  });
});
