import { beforeAll, describe, expect, it } from 'vitest';
import { type Shop, startShop } from '../support/shop.ts';
import { token } from '../support/tokens.ts';

// Tests agentd-metrics(7).

const CANARY = 'canary-8d1f';

let shop: Shop;
let metricsUrl: string;
beforeAll(async () => {
  shop = await startShop({
    env: {
      ADMIN_LISTEN: '127.0.0.1:0',
      ADMIN_TOKEN: 'the-scraper-may-read',
      RATE_LIMIT_ANONYMOUS_MAX: '3',
    },
  });
  const line = await shop.daemon.logged(({ msg }) => /^the admin listener answers/.test(String(msg)));
  metricsUrl = `${line?.address}/metrics`;
});

function scrape(bearer = 'the-scraper-may-read'): Promise<Response> {
  return fetch(metricsUrl, { headers: { Authorization: `Bearer ${bearer}` } });
}

async function samples(): Promise<Map<string, number>> {
  const lines = (await (await scrape()).text())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  );
}

describe('/metrics', () => {
  it('requires ADMIN_TOKEN', async () => {
    for (const bearer of ['', 'wrong', 'the-scraper-may-rea']) {
      const refused = await scrape(bearer);
      expect(refused.status).toBe(401);
      expect(refused.headers.get('WWW-Authenticate')).toBe('Bearer');
      expect(await refused.json()).toMatchObject({ code: 'token_missing' });
    }
    const answer = await scrape();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('Content-Type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const live = await fetch(metricsUrl.replace('/metrics', '/live'));
    expect(live.status).toBe(200);
  });

  it('is not on the public port', async () => {
    expect((await fetch(`${shop.daemon.url}/metrics`)).status).toBe(404);
  });

  it('counts what happened to messages, tokens, tools and requests, without naming anybody', async () => {
    const session_id = `session-${CANARY}`;
    const say = (message: string, user_id: string, bearer?: string) =>
      shop.say(
        { message, user_id, session_id: `${session_id}-${user_id}` },
        bearer === undefined ? {} : { bearer },
      );
    const bearer = await token();
    await say('Who am I?', CANARY, bearer);
    await say('Who am I?', `${CANARY}-nobody`);
    await say('Who am I?', `${CANARY}-forged`, `${bearer}x`);
    // This session belongs to another user.
    await shop.say({ message: 'x', user_id: 'other', session_id: `${session_id}-${CANARY}` });
    await say('x', `${CANARY}-too-many`);
    await fetch(`${shop.daemon.url}/${CANARY}`);

    const found = await samples();
    const value = (name: string) => found.get(name);
    expect(value('agentd_messages_total{channel="webchat",outcome="answered"}')).toBe(3);
    expect(value('agentd_messages_total{channel="webchat",outcome="refused"}')).toBe(1);
    expect(value('agentd_messages_total{channel="webchat",outcome="failed"}')).toBe(0);
    expect(value('agentd_rate_limited_total{route="/webchat/message"}')).toBe(1);
    expect(value('agentd_http_requests_total{route="/webchat/message",method="POST",status="200"}')).toBe(3);
    expect(value('agentd_http_requests_total{route="none",method="GET",status="404"}')).toBeGreaterThan(0);
    expect(value('agentd_token_checks_total{outcome="valid"}')).toBe(1);
    expect(value('agentd_token_checks_total{outcome="Invalid Signature"}')).toBe(1);
    expect(value('agentd_tool_calls_total{tool="get_user",outcome="ok"}')).toBe(3);
    expect(value('agentd_credentials_total{used="user",reason="valid_token"}')).toBe(1);
    expect(value('agentd_credentials_total{used="default",reason="no_jwt_context"}')).toBe(2);
    expect(value('agentd_downstream_requests_total{source="api",status="200"}')).toBe(1);
    expect(value('agentd_turn_duration_seconds_count{channel="webchat"}')).toBe(3);
    expect(value('agentd_step_duration_seconds_count{step="run-agent"}')).toBe(3);
    expect(value('agentd_store_duration_seconds_count{operation="commitTurn"}')).toBe(3);
    expect(value('agentd_store_errors_total')).toBe(0);
    expect(value('agentd_runs{state="running"}')).toBe(0);
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(0);

    const text = await (await scrape()).text();
    for (const secret of [CANARY, bearer.slice(-20), 'ada@example.com', 'the-scraper-may-read'])
      expect(text).not.toContain(secret);
  });
});
