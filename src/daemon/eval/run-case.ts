import { randomBytes, randomUUID } from 'node:crypto';
import type { ChannelPlugin } from '../../channel/index.ts';
import { LongTermMemory } from '../agent/long-term-memory.ts';
import { openRecording, type RecordedRun } from '../agent/recording.ts';
import { type AgentParts, Agents } from '../agents/agents.ts';
import { createServices } from '../create-services.ts';
import { AgentdError } from '../errors.ts';
import { memoryOwner, personKey } from '../identity/identity.ts';
import { signToken } from '../identity/jose.ts';
import { importKeys } from '../identity/keys.ts';
import { createSeal } from '../identity/seal.ts';
import { createValidator, isAny } from '../identity/token-checks.ts';
import { linkKeys } from '../linking/link-ids.ts';
import { arrivedChannel } from '../message/arrival.ts';
import { converse } from '../message/converse.ts';
import { runTurn } from '../message/run-turn.ts';
import { runFromInbox } from '../message/steps.ts';
import { UseCount } from '../message/waits/use-count.ts';
import type { Log } from '../process/log.ts';
import { parseArguments } from '../replay/replay-tools.ts';
import type { Session } from '../session/session.ts';
import { memoryBackend } from '../settings/backends.ts';
import { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import { openScratchStore } from '../store/open.ts';
import type { StreamServices } from '../stream/stream-services.ts';
import type { Texts } from '../texts/texts.ts';
import { type AlarmClock, systemClock, timeOrderedId } from '../time/clock.ts';
import { Cancellation } from '../time/time-limit.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { createToolAccess } from '../tools/tool-access.ts';
import { NO_OBSERVER } from '../trace/observer.ts';
import { evalTools, waitsForPerson } from './eval-tools.ts';
import type { EvalCase } from './read-cases.ts';

/** What the settings give to every case. */
export interface EvalParts {
  settings: Settings;
  texts: Texts;
  /** Of which one answers each turn. */
  agents: readonly AgentParts[];
  registry: ToolRegistry;
  /** All channels, active or not. */
  plugins: readonly ChannelPlugin[];
  channelNames: readonly string[];
  secrets: readonly Secret[];
  log: Log;
}

/** One turn as it went. */
export interface TurnResult {
  said: string;
  /** Empty if the turn failed. */
  reply: string;
  /** Whether the reply asks the person to confirm. */
  asks: boolean;
  /** The error code; null if the turn was answered. */
  failure: string | null;
  calls: readonly { tool: string; args: unknown; ok: boolean; waits: boolean }[];
  tokens: number;
  /** What the run saw and said; null if there was no run. */
  recorded: RecordedRun | null;
}

export interface CaseRun {
  turns: readonly TurnResult[];
  took_ms: number;
}

/** How long the token of a case is valid, seconds. */
const TOKEN_SECONDS = 86_400;

/**
 * Runs the conversation of a case once, through the steps of the daemon, on an empty store in memory. It ends at the
 * first turn that fails.
 */
export async function runCase(one: EvalCase, parts: EvalParts): Promise<CaseRun> {
  const began = performance.now();
  const clock = clockFrom(one.at);
  const { services, person, stop } = await evalServices(one, parts, clock);
  try {
    const speaker = new Speaker(one, parts, services, person);
    await speaker.begin(one);
    const turns: TurnResult[] = [];
    for (const { say } of one.turns) {
      const result = await speaker.say(say);
      turns.push(result);
      if (result.failure !== null) break;
    }
    return { turns, took_ms: Math.round(performance.now() - began) };
  } finally {
    await stop();
  }
}

function clockFrom(at: number | null): AlarmClock {
  const offset = at === null ? 0 : at - systemClock.now();
  return { ...systemClock, now: () => systemClock.now() + offset };
}

/** Signs and checks the tokens of a case with a key of its own: a real key is not needed, and would not be used. */
async function evalServices(
  one: EvalCase,
  { settings: own, registry, ...parts }: EvalParts,
  clock: AlarmClock,
) {
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

interface Person {
  key: ReturnType<typeof personKey>;
  token: string;
}

async function createPerson(
  as: NonNullable<EvalCase['as']>,
  { JWT_ISSUER: iss, JWT_AUDIENCE: aud }: Settings,
  secret: Secret,
  clock: AlarmClock,
): Promise<Person> {
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

/** The person or the visitor of a case, in one session. */
class Speaker {
  readonly #services: StreamServices;
  readonly #plugin: ChannelPlugin;
  readonly #user_id: string;
  readonly #person: Person | null;
  /** Null before the first turn, if the channel lets the daemon begin the session. */
  #session_id: string | null = null;

  constructor(
    { channel, user }: EvalCase,
    { plugins }: Pick<EvalParts, 'plugins'>,
    services: StreamServices,
    person: Person | null,
  ) {
    const plugin = plugins.find(({ name }) => name === channel);
    if (!plugin) throw new Error(`there is no channel ${channel}`);
    this.#services = services;
    this.#plugin = plugin;
    this.#user_id = user ?? chooseUser(plugin);
    this.#person = person;
    if (plugin.delivery === 'push') this.#session_id = `${plugin.name}:${this.#user_id}`;
  }

  async say(text: string): Promise<TurnResult> {
    const { turn_id, ...answer } =
      this.#plugin.delivery === 'push' ? await this.#push(text) : await this.#ask(text);
    await Promise.allSettled(this.#services.running);
    const found = turn_id === null ? null : await this.#services.store.recordings.find(turn_id);
    const recorded = found && (await openRecording(this.#services.seal, found));
    const confirmed = recorded?.given.confirmed_actions ?? [];
    return {
      ...answer,
      said: text,
      calls: [
        ...confirmed.map(({ tool, answer }) => ({ tool, args: {}, ok: answer.ok, waits: false })),
        ...(recorded?.tool_calls ?? []).map(({ tool, args, answer }) => ({
          tool,
          args: parseArguments(args),
          ok: answer.ok,
          waits: waitsForPerson({ answer }),
        })),
      ],
      tokens: (recorded?.model_calls ?? []).reduce(
        (sum, { input_tokens, output_tokens }) => sum + input_tokens + output_tokens,
        0,
      ),
      recorded,
    };
  }

  /** A message that is answered in the response. */
  async #ask(text: string) {
    const message = {
      platform: this.#plugin.name,
      user_id: this.#user_id,
      channel_id: this.#user_id,
      thread_id: this.#session_id,
      text,
      metadata: this.#person === null ? {} : { jwt_token: this.#person.token },
    };
    const origin = { request_id: randomUUID(), address: '127.0.0.1', validated: null, ticket: null };
    let answer = { reply: '', asks: false, failure: null as string | null };
    try {
      for await (const event of converse(this.#plugin, this.#services, message, origin)) {
        if (event.type === 'started' || event.type === 'complete') this.#session_id = event.session_id;
        if (event.type === 'complete')
          answer = { ...answer, reply: event.response, asks: event.confirmation !== undefined };
      }
    } catch (error) {
      answer.failure = toErrorCode(error);
    }
    const turns =
      this.#session_id === null ? [] : await this.#services.store.sessions.turns(this.#session_id);
    return { ...answer, turn_id: turns.at(-1)?.turn_id ?? null };
  }

  /** A message of a platform, which says who wrote it. */
  async #push(text: string) {
    const { clock } = this.#services;
    const turn_id = timeOrderedId(clock.now());
    const session_id = this.#session_id ?? '';
    const message = {
      platform: this.#plugin.name,
      user_id: this.#user_id,
      channel_id: this.#user_id,
      thread_id: session_id,
      message_id: turn_id,
      text,
      metadata: {},
    };
    const end = await runTurn(
      runFromInbox,
      {
        turn_id,
        request_id: turn_id,
        message,
        session_id,
        session_is_generated: false,
        channel: arrivedChannel(this.#plugin),
        address: null,
        validated: null,
        ticket: null,
        outlet: {
          // As if the platform had accepted the reply at once.
          leaves: 'in_response',
          started() {},
          text() {},
          progress() {},
          close: async () => ({}),
        },
        stopped: null,
        accepted_at: clock.now(),
        lost: new Cancellation(),
        patient: true,
        reader: null,
        changes: {},
        key: null,
        counted_in: null,
      },
      this.#services,
    );
    if (!end.answered) return { reply: '', asks: false, failure: toErrorCode(end.error), turn_id };
    const { response, question } = end.reply;
    return { reply: response, asks: question !== null, failure: null, turn_id };
  }

  async #link({ token, key: person }: Person): Promise<void> {
    const { store, seal } = this.#services;
    const [key] = linkKeys(this.#plugin, this.#user_id);
    await store.links.put({ key, token: seal.close(token, key), person, ttl_ms: TOKEN_SECONDS * 1000 });
  }

  /** Stores what the case says about the time before its first turn. */
  async begin({ before, remembered }: EvalCase): Promise<void> {
    const { store, clock } = this.#services;
    const has_platform = this.#plugin.delivery === 'push';
    if (has_platform && this.#person) await this.#link(this.#person);
    const owner = memoryOwner({
      person: this.#person?.key ?? null,
      platform: has_platform ? this.#plugin.name : null,
      user_id: this.#user_id,
      alias_id: null,
      shared: false,
    });
    for (const text of remembered)
      if (owner !== null) await store.memories?.add(owner, { text, turn_id: 'before', tainted: false });
    if (before.length === 0) return;
    this.#session_id ??= `eval-${randomUUID()}`;
    const session = this.#session(this.#session_id);
    const claim = (await store.beginTurn(session.session_id, session.session_id, null))?.claim;
    if (!claim) throw new Error('a session in an empty store cannot be claimed');
    for (const [index, { say, reply }] of before.entries()) {
      const turn_id = `before-${index}`;
      const at = clock.now();
      await store.commitTurn(claim, {
        ...(index === 0 ? { session } : {}),
        turn: {
          ttl_ms: TOKEN_SECONDS * 1000,
          record: {
            turn_id,
            request_id: turn_id,
            message_id: null,
            user_id: this.#user_id,
            person: this.#person?.key ?? null,
            text: say,
            reply,
            outcome: 'answered',
            failure: null,
            credentials: this.#person === null ? 'default' : 'user',
            credentials_reason: 'before',
            tainted: false,
            started_at: at,
            finished_at: at,
          },
        },
        trace: {
          turn_id,
          request_id: turn_id,
          session_id: session.session_id,
          message_id: null,
          platform: session.platform,
          user_id: this.#user_id,
          started_at: at,
          finished_at: at,
          outcome: 'answered',
          lines: [],
        },
        ...(index === before.length - 1 ? { ends_claim: true } : {}),
      });
    }
  }

  #session(session_id: string): Session {
    const now = this.#services.clock.now();
    return {
      session_id,
      former_id: null,
      user_id: this.#user_id,
      platform: this.#plugin.name,
      namespace: arrivedChannel(this.#plugin).namespace,
      generated: false,
      owner: this.#person?.key ?? null,
      metadata: {},
      credential_owner: null,
      turns: 0,
      created_at: now,
      last_active_at: now,
      expires_at: now + TOKEN_SECONDS * 1000,
    };
  }
}

/** Ids of users that channels may know. A case may also name its own. */
const USERS = ['eval', '+15550100199', '15550100199', 'U0EVAL0001'];

/** An id of a user that the channel accepts. */
function chooseUser({ linking }: ChannelPlugin): string {
  if (!linking) return 'eval';
  return USERS.flatMap((user) => linking.idsOf(user).slice(0, 1))[0] ?? 'eval';
}

function toErrorCode(error: unknown): string {
  return error instanceof AgentdError ? error.code : 'internal_error';
}
