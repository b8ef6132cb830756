import { randomBytes } from 'node:crypto';
import { LongTermMemory } from '../agent/long-term-memory.ts';
import { Agents } from '../agents/agents.ts';
import { createServices } from '../create-services.ts';
import { type PersonKey, personKey } from '../identity/identity.ts';
import { signToken } from '../identity/jose.ts';
import { importKeys } from '../identity/keys.ts';
import { createSeal } from '../identity/seal.ts';
import { createValidator, isAny } from '../identity/token-checks.ts';
import { UseCount } from '../message/waits/use-count.ts';
import { memoryBackend } from '../settings/backends.ts';
import { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import { openScratchStore } from '../store/open.ts';
import { type AlarmClock, systemClock } from '../time/clock.ts';
import { createToolAccess } from '../tools/tool-access.ts';
import { NO_OBSERVER } from '../trace/observer.ts';
import { evalTools } from './eval-tools.ts';
import type { EvalCase } from './read-cases.ts';
import type { EvalParts } from './run-case.ts';

/** How long the token of a case is valid, seconds. */
export const TOKEN_SECONDS = 86_400;

/** The person who is signed in. */
export interface CasePerson {
  key: PersonKey;
  token: string;
}

/**
 * The services of a daemon for one case. Signs and checks the tokens of the case with a key of its own: a real key is
 * not needed, and would not be used.
 */
export async function createCaseServices(one: EvalCase, { settings: own, registry, ...parts }: EvalParts) {
  const clock = clockFrom(one.at);
  const secret = new Secret(randomBytes(32).toString('base64'));
  const settings: Settings = {
    ...own,
    JWT_ALGORITHM: 'HS256',
    JWT_SECRET_KEY: secret,
    JWT_PUBLIC_KEY: undefined,
    JWT_JWKS_URL: undefined,
    JWT_VERIFY_SIGNATURE: true,
    JWT_VERIFY_EXP: true,
    RECORD_RUNS: 'all',
  };
  const { log } = parts;
  const seal = createSeal(new Secret(randomBytes(32).toString('base64')));
  const store = await openScratchStore(clock);
  const stopping = new AbortController();
  // The tools open the token of the session with the same key.
  const tools = evalTools(
    { ...registry, access: createToolAccess(settings, { clock, log, seal, marks: store.signOutMarks }) },
    one,
  );
  const agents = new Agents(parts.agents, tools, () => store.audit.key());
  const services = createServices({
    ...parts,
    settings,
    clock,
    store,
    observer: NO_OBSERVER,
    stopping: stopping.signal,
    tokens: createValidator(settings, await importKeys(settings), clock, log),
    seal,
    // Links of a case are new, and it has no sign-out.
    logoutTokens: null,
    renewer: null,
    agents,
    agent: agents.last.runtime,
    use: new UseCount(),
    tools: agents.last.tools,
    memory:
      store.memories === null || memoryBackend(own) === 'none'
        ? null
        : new LongTermMemory({ memories: store.memories, clock, log }),
  });
  return {
    services,
    person: one.as && (await createPerson(one.as, settings, secret, clock)),
    async stop() {
      await Promise.allSettled(services.running);
      stopping.abort(new Error('the case has ended'));
      await services.summaries.stop();
      await services.claims.stop();
      await store.close();
    },
  };
}

function clockFrom(at: number | null): AlarmClock {
  const offset = at === null ? 0 : at - systemClock.now();
  return { ...systemClock, now: () => systemClock.now() + offset };
}

async function createPerson(
  as: NonNullable<EvalCase['as']>,
  { JWT_ISSUER: iss, JWT_AUDIENCE: aud }: Settings,
  secret: Secret,
  clock: AlarmClock,
): Promise<CasePerson> {
  const now = Math.floor(clock.now() / 1000);
  const claims = {
    ...(isAny(iss) ? {} : { iss }),
    ...(isAny(aud) ? {} : { aud }),
    email: `${as.sub}@example.com`,
    iat: now - 1,
    exp: now + TOKEN_SECONDS,
    ...as,
  };
  return { key: personKey(claims), token: await signToken(claims, secret) };
}
