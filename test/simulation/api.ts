import { describeSource } from '../../src/daemon/tools/describe-source.ts';
import type { ModuleEntry } from '../../src/daemon/tools/source-entry.ts';
import type { Sent, Tool } from '../../src/daemon/tools/tool.ts';
import type { SimulatedDaemon } from './daemon.ts';
import type { World } from './world.ts';

/** A write that reached the API. */
export interface ApiCall {
  /** The message that it was made for. */
  label: string;
  tool: string;
  key: string;
  status: number;
  /** The API has done it. */
  hasEffect: boolean;
}

const ENTRY: ModuleEntry = { kind: 'module', place: 'tools[0]', module: 'orders', folder: '/' };
export const API_SOURCE = describeSource(ENTRY, undefined);
/** The API knows the key of an earlier call, and does not do it again. */
export const IDEMPOTENT_TOOL = 'orders_pay';
export const PLAIN_TOOL = 'orders_cancel';

/** What the API was asked to write, by both daemons. */
export class SimulatedApi {
  readonly calls: ApiCall[] = [];
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** The keys of the calls that were made for a message, each once. */
  keysOf(label: string): Set<string> {
    return new Set(this.calls.filter((call) => call.label === label).map(({ key }) => key));
  }

  receive(label: string, tool: string, key: string): number {
    const { state, random, report } = this.#world;
    const record = state.actions.get(key)?.action;
    if (!record || record.started_at === null)
      report(`a write for ${label} reached the API, and is not in the journal`);
    const before = this.calls.find((call) => call.key === key && call.hasEffect);
    if (before && tool === IDEMPOTENT_TOOL) {
      this.calls.push({ ...before, status: 200 });
      return 200;
    }
    const chance = random.next();
    const status = chance < 0.08 ? 409 : chance < 0.18 ? 503 : 200;
    // Some failures come after the deed.
    const hasEffect = status === 200 || (status === 503 && random.chance(0.5));
    this.calls.push({ label, tool, key, status, hasEffect });
    return status;
  }
}

/** The tools of one daemon that write at the API. */
export function apiTools(world: World, daemon: SimulatedDaemon): Tool[] {
  return [PLAIN_TOOL, IDEMPOTENT_TOOL].map((name) => ({
    name,
    title: null,
    description: 'Writes.',
    parameters: {
      type: 'object',
      properties: { order: { type: 'string' }, note: { type: 'string' } },
      additionalProperties: false,
    },
    source: API_SOURCE,
    effect: 'write',
    credentials: 'none',
    confirm: 'never',
    summary: 'Change {order}',
    public: 'all',
    bind: {},
    idempotent: name === IDEMPOTENT_TOOL,
    send: (args, { idempotency_key }) => {
      const label = String(args.order);
      const sent = world.pass(daemon, {
        op: 'api',
        effect: (): Sent => {
          const status = world.api.receive(label, name, idempotency_key ?? '');
          return { outcome: 'answered', status, result: { status } };
        },
        failure: () => new ConnectionBroke(),
        words: () => `${name} for ${label} as ${idempotency_key?.slice(0, 6)}`,
        takes_ms: world.random.chance(0.1) ? world.random.below(20_000) : world.random.below(100),
      });
      return sent.catch((error: unknown): Sent => {
        if (!(error instanceof ConnectionBroke)) throw error;
        return { outcome: 'failed', reached: true, reason: 'broken', message: 'The connection broke.' };
      });
    },
  }));
}

class ConnectionBroke extends Error {}
