import { randomUUID } from 'node:crypto';
import type { ChannelPlugin, IncomingMessage } from '../../channel/index.ts';
import { openRecording } from '../agent/recording.ts';
import { AgentdError } from '../errors.ts';
import { memoryOwner } from '../identity/identity.ts';
import { toArrival } from '../inbox/to-arrival.ts';
import { linkKeys } from '../linking/link-ids.ts';
import { toArrivedChannel } from '../message/arrival.ts';
import { converse } from '../message/converse.ts';
import { newSession } from '../message/open-session.ts';
import { runTurn } from '../message/run-turn.ts';
import type { Services } from '../message/services.ts';
import { runFromInbox } from '../message/steps.ts';
import { parseArguments } from '../replay/replay-tools.ts';
import type { Session } from '../session/session.ts';
import { timeOrderedId } from '../time/clock.ts';
import { Cancellation } from '../time/time-limit.ts';
import { type CasePerson, TOKEN_SECONDS } from './case-services.ts';
import { waitsForPerson } from './eval-tools.ts';
import type { EvalCase } from './read-cases.ts';
import type { EvalParts, TurnResult } from './run-case.ts';

/** The conversation of a case: its person or visitor, in one session. */
export class CaseSession {
  readonly #services: Services;
  readonly #plugin: ChannelPlugin;
  readonly #user_id: string;
  readonly #person: CasePerson | null;
  /** Null before the first turn, if the channel lets the daemon begin the session. */
  #session_id: string | null = null;

  constructor(
    { channel, user }: EvalCase,
    { plugins }: Pick<EvalParts, 'plugins'>,
    services: Services,
    person: CasePerson | null,
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
    const token = this.#person === null ? {} : { jwt_token: this.#person.token };
    const message = this.#message(text, token);
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
    const now = this.#services.clock.now();
    const turn_id = timeOrderedId(now);
    const queued = {
      id: turn_id,
      request_id: turn_id,
      session_id: this.#session_id,
      message_id: turn_id,
      message: this.#message(text),
      reply_to: {},
      received_at: now,
    };
    const outlet = {
      // As if the platform had accepted the reply at once.
      leaves: 'in_response',
      started() {},
      text() {},
      progress() {},
      close: async () => ({}),
    } as const;
    const arrival = toArrival(queued, { plugin: this.#plugin, outlet, lost: new Cancellation() });
    const end = await runTurn(runFromInbox, arrival, this.#services);
    if (!end.answered) return { reply: '', asks: false, failure: toErrorCode(end.error), turn_id };
    const { response, question } = end.reply;
    return { reply: response, asks: question !== null, failure: null, turn_id };
  }

  #message(text: string, metadata: IncomingMessage['metadata'] = {}): IncomingMessage {
    return {
      platform: this.#plugin.name,
      user_id: this.#user_id,
      channel_id: this.#user_id,
      thread_id: this.#session_id,
      text,
      metadata,
    };
  }

  /** Stores what the case says about the time before its first turn. */
  async prepare({ before, remembered }: EvalCase): Promise<void> {
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
    const session = this.#newSession(this.#session_id);
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

  async #link({ token, key: person }: CasePerson): Promise<void> {
    const { store, seal } = this.#services;
    const [key] = linkKeys(this.#plugin, this.#user_id);
    await store.links.put({ key, token: seal.close(token, key), person, ttl_ms: TOKEN_SECONDS * 1000 });
  }

  #newSession(session_id: string): Session {
    const arrived = {
      message: this.#message(''),
      channel: toArrivedChannel(this.#plugin),
      session_id,
      session_is_generated: false,
      address: null,
    };
    return { ...newSession(arrived, this.#services), owner: this.#person?.key ?? null };
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
