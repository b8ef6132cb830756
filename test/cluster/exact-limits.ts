import { post } from '../support/webchat.ts';
import { Fleet } from './fleet.ts';
import { type Servers, startServers } from './servers.ts';

/** How many of the simultaneous requests of one person got each answer. */
export interface ExactLimits {
  answered: number;
  loop_guard_blocked: number;
  rate_limited: number;
}

const AT_ONCE = 64;
const RATE_LIMIT = 20;
const GUARD_LIMIT = 5;

/** The expected result of each round: the rate limit is checked before the guard. */
export const EXACT: ExactLimits = {
  answered: GUARD_LIMIT,
  loop_guard_blocked: RATE_LIMIT - GUARD_LIMIT,
  rate_limited: AT_ONCE - RATE_LIMIT,
};

/** In each round, a different person sends 64 requests at once to the replicas. */
export async function exactLimits({
  rounds,
  replicas = 3,
  on = 'redis',
}: {
  rounds: number;
  replicas?: number;
  on?: Servers;
}): Promise<ExactLimits[]> {
  const redis = await startServers(on);
  const env = {
    ...{ RATE_LIMIT_ANONYMOUS_MAX: String(RATE_LIMIT), TRUST_PROXY: '1' },
    ...{ LOOP_GUARD_ENABLED: 'true', LOOP_GUARD_MAX_MESSAGES: String(GUARD_LIMIT) },
  };
  const fleet = await Fleet.start({ url: redis.url, replicas, env });
  try {
    const found: ExactLimits[] = [];
    for (let round = 0; round < rounds; round++) {
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, n) =>
          post(
            fleet.url(n),
            { user_id: `u${round}`, session_id: `s${round}/${n}`, message: `text ${n}` },
            { headers: { 'X-Forwarded-For': `203.0.113.${round}` } },
          ),
        ),
      );
      const refused = (code: string) => answers.filter(({ body }) => body.code === code).length;
      found.push({
        answered: answers.filter(({ status }) => status === 200).length,
        loop_guard_blocked: refused('loop_guard_blocked'),
        rate_limited: refused('rate_limited'),
      });
    }
    return found;
  } finally {
    await fleet.stop();
    await redis.stop();
  }
}
