import type { PersonKey } from '../../src/daemon/identity/identity.ts';
import { ACTION } from '../../src/daemon/store/actions/action-document.ts';
import { describeSource } from '../../src/daemon/tools/describe-source.ts';
import type { ModuleEntry } from '../../src/daemon/tools/source-entry.ts';
import type { Sent, Tool } from '../../src/daemon/tools/tool.ts';
import type { SimulatedDaemon } from './daemon.ts';
import type { WritePlan } from './scenario.ts';
import type { World } from './world.ts';

/** A write that reached the API. */
export interface ApiCall {
  /** The label of the message that caused the write. */
  label: string;
  tool: string;
  key: string;
  status: number;
  /** Whether the API has carried it out. */
  hasEffect: boolean;
  /** The person for whom the run that called the API acted. */
  person: PersonKey | null;
}

const ENTRY: ModuleEntry = { kind: 'module', location: 'tools[0]', module: 'orders', folder: '/' };
export const API_SOURCE = describeSource(ENTRY, undefined);
/**
 * The name of the tool for a plan. For idempotent tools, the API does not repeat a write with a key that it already
 * knows.
 */
export function toolOf({ idempotent, confirmed }: Pick<WritePlan, 'idempotent' | 'confirmed'>): string {
  if (confirmed) return idempotent ? 'orders_return' : 'orders_refund';
  return idempotent ? 'orders_pay' : 'orders_cancel';
}

const BOTH = [true, false];
const TOOLS = BOTH.flatMap((idempotent) =>
  BOTH.map((confirmed) => ({ name: toolOf({ idempotent, confirmed }), idempotent, confirmed })),
);

export function isIdempotent(tool: string): boolean {
  return TOOLS.some(({ name, idempotent }) => name === tool && idempotent);
}

export function isConfirmed(tool: string): boolean {
  return TOOLS.some(({ name, confirmed }) => name === tool && confirmed);
}

/** The API to which both daemons send their writes. */
export class SimulatedApi {
  readonly calls: ApiCall[] = [];
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** The distinct keys of the calls for a message. */
  keysOf(label: string): Set<string> {
    return new Set(this.calls.filter((call) => call.label === label).map(({ key }) => key));
  }

  receive({ label, tool, key, person }: Pick<ApiCall, 'label' | 'tool' | 'key' | 'person'>): number {
    const { state, random, report } = this.#world;
    const record = state.get(ACTION, key)?.action;
    if (!record || record.started_at === null)
      report(`a write for ${label} reached the API, but is not in the journal`);
    const before = this.calls.find((call) => call.key === key && call.hasEffect);
    if (before && isIdempotent(tool)) {
      this.calls.push({ ...before, status: 200, person });
      return 200;
    }
    const chance = random.next();
    const status = chance < 0.08 ? 409 : chance < 0.18 ? 503 : 200;
    // Some failures occur after the write has been carried out.
    const hasEffect = status === 200 || (status === 503 && random.chance(0.5));
    this.calls.push({ label, tool, key, status, hasEffect, person });
    return status;
  }
}

/** This schema is compiled only once for all seeds, because the object is always the same. */
const PARAMETERS = {
  type: 'object',
  properties: { order: { type: 'string' }, note: { type: 'string' } },
  additionalProperties: false,
};

/** The tools of one daemon that write through the API. */
export function apiTools(world: World, daemon: SimulatedDaemon): Tool[] {
  return TOOLS.map(({ name, idempotent, confirmed }) => ({
    name,
    title: null,
    description: 'Writes.',
    parameters: PARAMETERS,
    source: API_SOURCE,
    effect: 'write',
    credentials: 'none',
    confirm: confirmed ? 'always' : 'never',
    summary: 'Change {order}',
    public: 'all',
    bind: {},
    hide: [],
    idempotent,
    send: (args, { idempotency_key, context }) => {
      const label = String(args.order);
      const call = {
        label,
        tool: name,
        key: idempotency_key ?? '',
        person: context?.acts_for ?? null,
      };
      const sent = world.pass(daemon, {
        op: 'api',
        effect: (): Sent => {
          const status = world.api.receive(call);
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
