import type { AgentTool } from '../../../src/agent/index.ts';
import { createSeal } from '../../../src/daemon/identity/seal.ts';
import { sessionTag } from '../../../src/daemon/session/session.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { bindTools } from '../../../src/daemon/tools/bind-tools.ts';
import { TurnJournal } from '../../../src/daemon/tools/journal/turn-journal.ts';
import { createRegistry, fixedSource } from '../../../src/daemon/tools/registry.ts';
import type { Tool } from '../../../src/daemon/tools/tool.ts';
import { Trace } from '../../../src/daemon/trace/trace.ts';
import { endsWith } from '../../support/cancellation.ts';
import { signToken } from '../../support/fake-api.ts';
import { collectLog } from '../../support/log-lines.ts';
import { contextOf, sessionOf } from '../../support/request-context.ts';
import { accessTo, sourceOf } from '../../support/tools.ts';
import { openStoreAt } from '../store.ts';

export interface CallOrder {
  contender: 'bare' | 'ours';
  effect: 'read' | 'write';
  /** Address of the API. */
  url: string;
  directory: string;
  warm_up_ms: number;
  measure_ms: number;
}

export interface CallResult {
  /** Calls per second, without the warm-up. */
  rate: number;
  /** Processor time of a call, µs, without the warm-up. */
  cpu_us: number;
  /** Number of answered calls, warm-up included. */
  answered: number;
  /** Number of writes that are in the journal afterwards, with their outcome. */
  recorded: number;
}

/** Number of runs at once. */
const AT_ONCE = 64;
/** Number of calls in each run. A run binds its tools once. */
const CALLS_OF_A_RUN = 4;
const SECRET = 'a secret of the benchmark that is long enough';

interface Contender {
  /** Makes the calls of one run, and reports when each is answered. */
  run(worker: number, onAnswer: () => void): Promise<void>;
  /** @returns how many writes are in the journal */
  close(): Promise<number>;
}

/** Answers an order from the parent process. */
process.once('message', async (order: CallOrder) => {
  const contender = order.contender === 'bare' ? bare(order) : await ours(order);
  const warm = performance.now() + order.warm_up_ms;
  const end = warm + order.measure_ms;
  let [measured, answered] = [0, 0];
  let before: NodeJS.CpuUsage | undefined;
  const onAnswer = () => {
    answered++;
    const now = performance.now();
    if (now < warm || now >= end) return;
    before ??= process.cpuUsage();
    measured++;
  };
  const keepBusy = async (worker: number) => {
    while (performance.now() < end) await contender.run(worker, onAnswer);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, worker) => keepBusy(worker)));
  const { user, system } = process.cpuUsage(before);
  const cpu_us = (user + system) / Math.max(1, measured);
  const recorded = await contender.close();
  const result: CallResult = { rate: measured / (order.measure_ms / 1000), cpu_us, answered, recorded };
  process.send?.(result);
  process.disconnect();
});

function personOf(worker: number) {
  const sub = `user-${worker}`;
  const email = `${sub}@example.com`;
  const exp = Math.floor(Date.now() / 1000) + 3_600;
  return { sub, email, token: signToken({ sub, email, exp }, SECRET) };
}

function bare({ url, effect }: CallOrder): Contender {
  const tokens = Array.from({ length: AT_ONCE }, (_, worker) => personOf(worker).token);
  return {
    async run(worker, onAnswer) {
      for (let call = 0; call < CALLS_OF_A_RUN; call++) {
        const headers = { accept: 'application/json', authorization: `Bearer ${tokens[worker]}` };
        const response = await fetch(
          `${url}/orders/${call}`,
          effect === 'read'
            ? { headers }
            : {
                method: 'POST',
                headers: { ...headers, 'content-type': 'application/json' },
                body: JSON.stringify({ reason: 'none' }),
              },
        );
        const { id } = (await response.json()) as { id: string };
        if (id !== '1004') throw new Error('the API gave an unexpected answer');
        onAnswer();
      }
    },
    close: async () => 0,
  };
}

async function ours({ url, effect, directory }: CallOrder): Promise<Contender> {
  const { log } = collectLog();
  const access = accessTo(url, log);
  const source = sourceOf({ base_url: url }, url);
  const registry = createRegistry([fixedSource(source, [orderTool(source, effect)])], { access, log });
  const store = openStoreAt(directory);
  const sessions = Array.from({ length: AT_ONCE }, (_, worker) =>
    sessionOf(`session-${worker}`, `visitor-${worker}`, personOf(worker)),
  );
  for (const session of sessions) {
    const claim = await claimed(store, sessionTag(session));
    await store.sessions.save(claim, session, 'new');
    await store.sessions.release(claim);
  }
  const seal = createSeal(new Secret(Buffer.alloc(32, 7).toString('base64')));
  let turns = 0;
  return {
    async run(worker, onAnswer) {
      const session = sessions[worker];
      if (!session) throw new Error('there is no such worker');
      const trace = new Trace(systemClock);
      const context = contextOf(session, {
        readSession: () => store.sessions.find(session.session_id),
        whyUnlinked: async () => null,
        trace,
      });
      const claim = effect === 'write' ? await claimed(store, sessionTag(session)) : null;
      const journal =
        claim &&
        new TurnJournal(
          {
            origin: {
              session_tag: claim.session_tag,
              session_id: session.session_id,
              turn_key: `turn-${turns++}`,
              platform: session.platform,
              user_id: session.user_id,
              alias_id: null,
              person: session.owner,
            },
            earlier: [],
            claims: { session: claim, key: null },
          },
          { actions: store.actions, seal, clock: systemClock },
        );
      const [tool] = bindTools(registry.tools(), {
        context,
        progress: () => {},
        audience: { memory_of: null, shared: false },
        access,
        journal,
        confirmation: null,
        showPage: null,
        clock: systemClock,
        trace,
        limit: endsWith(context.signal),
        log,
      });
      await callAll(tool, onAnswer);
      if (claim) await store.sessions.release(claim);
    },
    async close() {
      const recorded = await store.actions.list({ limit: 1_000_000 });
      await store.close();
      return recorded.filter(({ state }) => state === 'done').length;
    },
  };
}

async function callAll(tool: AgentTool | undefined, onAnswer: () => void): Promise<void> {
  for (let call = 0; call < CALLS_OF_A_RUN; call++) {
    const answer = await tool?.call({ id: String(call), body: { reason: 'none' } });
    if (!answer?.ok) throw new Error(`the call failed: ${JSON.stringify(answer)}`);
    onAnswer();
  }
}

async function claimed(store: Store, tag: string) {
  const claim = await store.sessions.claim(tag);
  if (!claim) throw new Error('the session is already claimed');
  return claim;
}

function orderTool(source: Tool['source'], effect: Tool['effect']): Tool {
  return {
    name: 'order',
    title: 'An order',
    description: 'An order of the person.',
    parameters: {
      type: 'object',
      properties: {
        id: { type: 'string', pattern: '^[0-9]+$' },
        body: { type: 'object', properties: { reason: { type: 'string', maxLength: 100 } } },
      },
      required: ['id'],
      additionalProperties: false,
    },
    source,
    effect,
    credentials: 'user',
    confirm: 'never',
    summary: null,
    public: [],
    bind: {},
    hide: [],
    idempotent: false,
    async send({ id, body }, { client }) {
      const response = await client.request({
        method: effect === 'read' ? 'GET' : 'POST',
        path: `/orders/${String(id)}`,
        ...(effect === 'read' ? {} : { body }),
      });
      if (response.outcome !== 'answered') return response;
      return { outcome: 'answered', status: response.status, result: response.body };
    },
  };
}
