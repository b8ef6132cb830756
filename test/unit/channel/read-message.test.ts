import { describe, expect, it } from 'vitest';
import type { ChannelRequest, ChannelScope, FieldError, TokenSource } from '../../../src/channel/index.ts';
import { readMessage, readToken } from '../../../src/channel/read-message.ts';

function request(body: Record<string, unknown>, headers: Record<string, string> = {}): ChannelRequest {
  return { headers, json: () => body } as unknown as ChannelRequest;
}

const EVERYWHERE: readonly TokenSource[] = ['header', 'body', 'metadata'];

const problem: ChannelScope['problem'] = (code, _detail, errors) =>
  Object.assign(new Error(code), { errors });

const tokenOf = (of: ChannelRequest) => readToken(of, EVERYWHERE);
const parseMessage = (of: ChannelRequest) => readMessage('webchat', of, EVERYWHERE, problem);

function errorsOf(body: Record<string, unknown>, headers?: Record<string, string>): FieldError[] {
  try {
    parseMessage(request(body, headers));
  } catch (error) {
    return (error as { errors: FieldError[] }).errors;
  }
  return [];
}

describe('the sources of the token', () => {
  it('are the header, the body and the metadata, in this order, and the first token that is present is used', () => {
    const all = { jwt_token: 'body', metadata: { jwt_token: 'metadata' } };
    expect(tokenOf(request(all, { authorization: 'Bearer header' }))).toBe('header');
    expect(tokenOf(request(all))).toBe('body');
    expect(tokenOf(request({ metadata: { jwt_token: 'metadata' } }))).toBe('metadata');
    expect(tokenOf(request({}))).toBeUndefined();
  });

  it('are skipped if the token is an empty string or the scheme is not Bearer', () => {
    expect(tokenOf(request({ jwt_token: 'body' }, { authorization: 'Basic abc' }))).toBe('body');
    expect(tokenOf(request({ jwt_token: 'body' }, { authorization: 'Bearer ' }))).toBe('body');
    expect(tokenOf(request({ jwt_token: '' }))).toBeUndefined();
    expect(tokenOf(request({ jwt_token: '', metadata: { jwt_token: 'metadata' } }))).toBe('metadata');
  });

  it('accept the scheme in any case, and distinguish null from absent', () => {
    expect(tokenOf(request({}, { authorization: 'bearer x' }))).toBe('x');
    expect(tokenOf(request({ jwt_token: null, metadata: { jwt_token: 'x' } }))).toBeNull();
    expect(
      parseMessage(request({ user_id: 'u', message: 'm', jwt_token: null })).metadata.jwt_token,
    ).toBeNull();
    expect('jwt_token' in parseMessage(request({ user_id: 'u', message: 'm' })).metadata).toBe(false);
  });
});

describe('disabled sources of the token', () => {
  it('are ignored, whatever they contain', () => {
    const posted = request({
      user_id: 'u',
      message: 'm',
      metadata: { jwt_token: 7, page_url: 7 },
      jwt_token: 'body',
    });
    expect(readToken(posted, ['header'])).toBeUndefined();
    expect(readMessage('other', posted, ['header', 'body'], problem)).toMatchObject({
      platform: 'other',
      metadata: { jwt_token: 'body' },
    });
    expect(readMessage('other', posted, ['body'], problem).metadata).toEqual({ jwt_token: 'body' });
  });

  it('do not affect the other metadata, and a token in the metadata is not passed on', () => {
    const metadata = {
      jwt_token: 'a',
      page_url: 'https://shop.example/',
      user_name: 'Ada',
      user_agent: 'B',
      theme: 1,
    };
    const posted = request({ user_id: 'u', message: 'm', metadata });
    expect(readMessage('other', posted, ['header', 'body'], problem).metadata).toEqual({
      page_url: 'https://shop.example/',
      user_name: 'Ada',
      user_agent: 'B',
      other: { theme: 1 },
    });
  });
});

describe('the fields of a message', () => {
  const fine = { user_id: 'u', message: 'm' };

  it('are all checked, and each invalid field is reported with its problem', () => {
    expect(
      errorsOf({ user_id: 7, session_id: '', jwt_token: 1, metadata: [] }, { 'idempotency-key': 'a b' }),
    ).toEqual([
      { field: 'user_id', message: 'must be a string' },
      { field: 'message', message: 'is required' },
      { field: 'session_id', message: 'must not be empty' },
      { field: 'jwt_token', message: 'must be a string or null' },
      { field: 'metadata', message: 'must be an object' },
      { field: 'Idempotency-Key', message: 'must have 1 to 255 visible ASCII characters' },
    ]);
  });

  it('are measured in characters, not code units, with the documented limits', () => {
    expect(errorsOf({ ...fine, user_id: '😀'.repeat(256) })).toEqual([]);
    expect(errorsOf({ ...fine, user_id: '😀'.repeat(257) })).toEqual([
      { field: 'user_id', message: 'must have at most 256 characters' },
    ]);
    expect(errorsOf({ ...fine, session_id: 's'.repeat(512) })).toEqual([]);
    expect(errorsOf({ ...fine, session_id: 's'.repeat(513) })).toHaveLength(1);
    expect(errorsOf({ ...fine, message: ` ${'m'.repeat(16_000)}\n` })).toEqual([]);
    expect(errorsOf({ ...fine, message: 'm'.repeat(16_001) })).toHaveLength(1);
    expect(errorsOf(fine, { 'idempotency-key': 'k'.repeat(255) })).toEqual([]);
    expect(errorsOf(fine, { 'idempotency-key': 'k'.repeat(256) })).toHaveLength(1);
    const claimed = { ...fine, metadata: { page_url: 'x'.repeat(3000) } };
    expect(parseMessage(request(claimed)).metadata.page_url).toHaveLength(2048);
  });

  it('are refused if an id contains control characters or lone surrogates, or if the message is blank', () => {
    expect(errorsOf({ ...fine, user_id: 'a\nb' })).toEqual([
      { field: 'user_id', message: 'must not contain control characters' },
    ]);
    expect(errorsOf({ ...fine, session_id: 'a\u0000' })).toHaveLength(1);
    expect(errorsOf({ ...fine, user_id: '\ud800' })).toEqual([
      { field: 'user_id', message: 'must be well-formed Unicode' },
    ]);
    expect(errorsOf({ ...fine, message: ' \n\t ' })).toEqual([
      { field: 'message', message: 'must not be empty' },
    ]);
  });

  it('become a message: the text is trimmed, a null session counts as missing, and unknown fields are ignored', () => {
    const message = parseMessage(request({ ...fine, message: ' hi ', session_id: null, what: 1 }));
    expect(message).toEqual({
      platform: 'webchat',
      user_id: 'u',
      channel_id: 'u',
      thread_id: null,
      text: 'hi',
      metadata: {},
    });
  });

  it('may contain the answer to a question instead of a text, with its numbers in order', () => {
    const answer = (confirm: unknown, message?: string) => ({ user_id: 'u', message, metadata: { confirm } });
    const given = { id: 'q1', approve: [3, 1] };
    expect(parseMessage(request(answer(given)))).toMatchObject({
      ...{ text: '', confirm: { id: 'q1', approve: [1, 3] } },
    });
    for (const confirm of [{ id: 'q1', approve: 'yes' }, { id: 'q1', approve: [] }, { approve: true }, 'q1'])
      expect(errorsOf(answer(confirm, 'm')).map(({ field }) => field)).toEqual([
        expect.stringMatching(/^metadata\.confirm/),
      ]);
    expect(errorsOf(answer(undefined))).toEqual([{ field: 'message', message: 'is required' }]);
  });

  it('do not include known keys of the metadata that have the wrong type', () => {
    const metadata = { page_url: 7, user_name: 'Ada', user_agent: null };
    expect(parseMessage(request({ ...fine, metadata })).metadata).toEqual({ user_name: 'Ada' });
  });

  it('include other metadata of up to 4 KiB as `other`: if it is larger, only its size is reported', () => {
    const noted: number[] = [];
    const otherOf = (metadata: object) =>
      readMessage('webchat', request({ ...fine, metadata }), EVERYWHERE, problem, (bytes) =>
        noted.push(bytes),
      ).metadata;
    const theme = { name: 'dark', sizes: [1, 2] };
    expect(otherOf({ theme, phone_number: '+1', jwt_token: null })).toEqual({
      jwt_token: null,
      other: { theme, phone_number: '+1' },
    });
    const largest = { x: 'é'.repeat((4096 - '{"x":""}'.length) / 2) };
    expect(otherOf({ user_name: 'Ada', ...largest })).toEqual({ user_name: 'Ada', other: largest });
    expect(noted).toEqual([]);
    expect(otherOf({ user_name: 'Ada', x: `${largest.x}e` })).toEqual({ user_name: 'Ada' });
    expect(noted).toEqual([4097]);
    expect(otherOf(JSON.parse('{"__proto__":{"polluted":1}}'))).toEqual({
      other: JSON.parse('{"__proto__":{"polluted":1}}'),
    });
    expect(Object.keys(otherOf({}))).toEqual([]);
  });
});

describe('the language of the visitor', () => {
  const localeOf = (header: string) =>
    parseMessage(request({ user_id: 'u', message: 'm' }, { 'accept-language': header })).locale;

  it.each([
    ['de-DE,de;q=0.9,en;q=0.8', 'de-DE'],
    ['es', 'es'],
    [' pt-BR ; q=1, pt', 'pt-BR'],
    ['zh-Hant-TW, zh', 'zh-Hant-TW'],
  ])('is the first language in Accept-Language: %s', (header, locale) => {
    expect(localeOf(header)).toBe(locale);
  });

  it.each(['', '*', ';q=1', 'x', 'de_DE', 'a'.repeat(100), `de-${'a'.repeat(9)}`, '\u0000de', '<de>'])(
    'is unknown if Accept-Language is %j',
    (header) => {
      const message = parseMessage(request({ user_id: 'u', message: 'm' }, { 'accept-language': header }));
      expect('locale' in message).toBe(false);
    },
  );
});
