import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { readAll, start } from '../support/event-stream.ts';
import { post } from '../support/webchat.ts';

/** A runtime that answers with what the client claims about itself. */
const RUNTIME = `
export default {
  apiVersion: 1,
  async *run(turn) { yield JSON.stringify(turn.claimed); },
};
`;

const folder = mkdtempSync(join(tmpdir(), 'agentd-claims-'));
const AGENT_RUNTIME = join(folder, 'claims.mjs');
let daemon: Agentd;

beforeAll(async () => {
  writeFileSync(AGENT_RUNTIME, RUNTIME);
  daemon = await startAgentd({ env: { AGENT_RUNTIME, SSE_ENABLED: 'true' } });
});

afterAll(async () => {
  await daemon.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function overWebchat(metadata: object): Promise<unknown> {
  const { status, body } = await post(daemon.url, { user_id: 'ada', message: 'hello', metadata });
  expect(status).toBe(200);
  return JSON.parse(body.response);
}

async function overSse(metadata: object): Promise<unknown> {
  const stream_id = await start(daemon.url, { user_id: 'ada', message: 'hello', metadata });
  const { events } = await readAll(daemon.url, stream_id);
  return JSON.parse(events.at(-1)?.data.response);
}

it.each([
  ['webchat', overWebchat],
  ['sse', overSse],
])(
  'a runtime gets what the client claims over %s, without tokens and without own keys that are too large',
  async (_, claimedOver) => {
    const named = { page_url: 'https://shop.example/cart', user_name: 'Eve', user_agent: 'Browser/1' };
    const jwt = `eyJhbGciOiJIUzI1NiJ9.${Buffer.from('{"sub":"ada"}').toString('base64url')}.c2lnbmF0dXJl`;
    expect(await claimedOver({ ...named, cart: { items: [3, 'x'] }, note: `my ${jwt}` })).toEqual({
      ...named,
      other: { cart: { items: [3, 'x'] }, note: 'my [token]' },
    });

    daemon.forget();
    expect(await claimedOver({ ...named, blob: 'x'.repeat(5000) })).toEqual(named);
    await daemon.logged(({ bytes, level }) => Number(bytes) > 5000 && level === 'info');
  },
);
