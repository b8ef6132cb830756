import { isValidSlackRequest } from '@slack/bolt';
import { expect, it } from 'vitest';
import { isSigned, signRequest } from '../../../../plugins/teamchat/verify.ts';
import type { ChannelRequest } from '../../../../src/channel/index.ts';

const SECRET = '8f742231b10e8888abcd99yyyzzz85a5';
const NOW = 1_531_420_618;
const BODY = 'token=x&text=%2B1+%E2%9C%93&command=%2Fservice-auth';

interface Given {
  timestamp?: string | undefined;
  signature?: string | undefined;
  body?: string | Uint8Array;
  secret?: string;
  now?: number;
}

function verified({ body = BODY, secret = SECRET, now = NOW, ...given }: Given = {}): boolean {
  const timestamp = 'timestamp' in given ? given.timestamp : String(NOW);
  const signature = 'signature' in given ? given.signature : signRequest(SECRET, timestamp ?? '', BODY);
  const request = {
    headers: { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': signature },
    body: typeof body === 'string' ? Buffer.from(body) : body,
  };
  return isSigned(request as unknown as ChannelRequest, secret, now * 1000);
}

it('the signature check accepts the example from the documentation', () => {
  const body =
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
  const signature = 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503';
  expect(signRequest(SECRET, '1531420618', body)).toBe(signature);
  expect(verified({ body, signature })).toBe(true);
});

it('the signature check accepts a timestamp that is up to five minutes in the past or in the future', () => {
  expect(verified()).toBe(true);
  for (const seconds of [-300, -1, 1, 300]) expect(verified({ now: NOW + seconds })).toBe(true);
  for (const seconds of [-301, 301, 86_400, -1e9]) expect(verified({ now: NOW + seconds })).toBe(false);
});

const right = signRequest(SECRET, String(NOW), BODY);

it.each<[string, Given]>([
  ['no signature', { signature: undefined }],
  ['an empty signature', { signature: '' }],
  ['no timestamp', { timestamp: undefined, signature: right }],
  ['a timestamp that was not signed', { timestamp: String(NOW + 1), signature: right }],
  ['a different secret', { secret: 'another' }],
  ['an empty secret', { secret: '' }],
  ['one byte more', { body: `${BODY} ` }],
  ['one byte less', { body: BODY.slice(0, -1) }],
  ['one changed byte', { body: BODY.replace('1', '2') }],
  ['the same form in another encoding', { body: BODY.replace('%2B', '+') }],
  ['a byte order mark before the body', { body: `\uFEFF${BODY}` }],
  ['an empty body', { body: '' }],
  ['the signature in upper case', { signature: right.toUpperCase() }],
  ['the digits of the signature in upper case', { signature: `v0=${right.slice(3).toUpperCase()}` }],
  ['no version', { signature: right.slice(3) }],
  ['a different version', { signature: right.replace('v0', 'v1') }],
  ['a digit too few', { signature: right.slice(0, -1) }],
  ['a digit too many', { signature: `${right}0` }],
  ['white space', { signature: ` ${right}` }],
  ['a line break after the signature', { signature: `${right}\n` }],
  ['the header twice', { signature: `${right}, ${right}` }],
  ['characters of several bytes', { signature: `v0=${'é'.repeat(64)}` }],
])('the signature check refuses %s', (_what, given) => {
  expect(verified(given)).toBe(false);
});

it.each([
  '1531420618.0',
  '0x5b47a30a',
  '+1531420618',
  ' 1531420618',
  '1531420618, 1531420618',
  'NaN',
  '1e9',
  '-1',
  '９',
])('the signature check refuses the timestamp %j, even if it is signed', (timestamp) => {
  expect(verified({ timestamp, signature: signRequest(SECRET, timestamp, BODY) })).toBe(false);
});

it('the signature check uses bytes, not text: it accepts a body that is not UTF-8', () => {
  const body = Uint8Array.from([0x7b, 0xff, 0xfe, 0x00, 0x7d]);
  const signature = signRequest(SECRET, String(NOW), body);
  expect(verified({ body, signature })).toBe(true);
  expect(verified({ body: Buffer.from(Buffer.from(body).toString()), signature })).toBe(false);
});

it('the signature check agrees with the library of the platform', () => {
  for (const given of [
    {},
    { signature: right.replace('a', 'b') },
    { now: NOW + 301 },
    { body: `${BODY}&` },
  ]) {
    const { signature = right, now = NOW, body = BODY } = given as Given;
    const theirs = isValidSlackRequest({
      signingSecret: SECRET,
      body: String(body),
      headers: { 'x-slack-signature': signature, 'x-slack-request-timestamp': NOW },
      nowMilliseconds: now * 1000,
    });
    expect(verified({ ...given })).toBe(theirs);
  }
});
