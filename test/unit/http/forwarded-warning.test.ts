import { afterEach, expect, test } from 'vitest';
import { closeAll, echo, post, serve } from './serve.ts';

afterEach(closeAll);

const warnings = (log: readonly { level: number; msg: string }[]) =>
  log.filter(({ level, msg }) => level === 40 && msg.startsWith('X-Forwarded-For arrived'));
const FORWARDED = { 'X-Forwarded-For': '192.0.2.1' };

test('requests with X-Forwarded-For cause one warning per start if TRUST_PROXY is 0', async () => {
  const web = await serve({ routes: [echo] });
  await post(`${web.url}/echo`, '{}');
  expect(warnings(web.log)).toEqual([]);
  for (let i = 0; i < 3; i++) await post(`${web.url}/echo`, '{}', FORWARDED);
  expect(warnings(web.log)).toHaveLength(1);
});

test('X-Forwarded-For of a trusted proxy causes no warning', async () => {
  const web = await serve({ routes: [echo], settings: { TRUST_PROXY: 1 } });
  await post(`${web.url}/echo`, '{}', FORWARDED);
  expect(warnings(web.log)).toEqual([]);
});

test('an idle connection is closed after KEEP_ALIVE_SECONDS', async () => {
  const web = await serve({ routes: [echo], settings: { KEEP_ALIVE_SECONDS: 7 } });
  const response = await post(`${web.url}/echo`, '{}', { Connection: 'keep-alive' });
  expect(response.headers.get('keep-alive')).toBe('timeout=7');
});
