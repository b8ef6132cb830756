import type { VerificationKeys } from '../../src/daemon/identity/keys.ts';
import { sessionTag } from '../../src/daemon/session/session.ts';
import { CLAIM_MS } from '../../src/daemon/store/claims/claims.ts';
import { MESSAGE } from '../../src/daemon/store/inbox/inbox-document.ts';
import { openMemoryStore } from '../../src/daemon/store/kernels/memory/store.ts';
import { SESSION } from '../../src/daemon/store/sessions/session-document.ts';
import { STREAM } from '../../src/daemon/store/streams.ts';
import { randomFrom } from '../support/chance.ts';
import { checkEnd } from './check-end.ts';
import { Clients } from './clients.ts';
import { link, unlink } from './links.ts';
import { DAEMONS, type Happening, type PlannedMessage, type Room, scenarioOf } from './scenario.ts';
import { seedChance } from './seeded-chance.ts';
import { BEGIN, World } from './world.ts';

/** How long the remaining work may take after the last fault, ms. */
const REST_MS = 300_000;

export interface SimulatedRun {
  seed: number;
  /** Everything that happened although it must never happen. Empty if the run is correct. */
  violations: readonly string[];
  /** The trace; empty unless it was requested. */
  trace: readonly string[];
  steps: number;
  /** Virtual time, ms. */
  took_ms: number;
  struck: readonly string[];
  /** The outcomes of the messages, for statistics. */
  fates: readonly string[];
}

/** Runs the scenario of a seed until nothing is in progress. */
export async function simulate(
  seed: number,
  keys: VerificationKeys,
  isTraced = false,
): Promise<SimulatedRun> {
  const world = new World(scenarioOf(seed), keys, isTraced);
  const restore = seedChance(randomFrom(seed * 2 + 7919), () => world.scheduler.now);
  const onRejection = (reason: unknown) => world.report(`unhandled rejection: ${String(reason)}`);
  process.on('unhandledRejection', onRejection);
  try {
    const clients = new Clients(world);
    await play(world, clients);
    if (world.violations.length === 0) checkEnd(world, clients);
    return {
      seed,
      violations: world.violations,
      trace: world.trace.lines,
      steps: world.scheduler.steps,
      took_ms: world.scheduler.now - BEGIN,
      struck: world.struck,
      fates: [...clients.fates.values()].map(({ is }) => is),
    };
  } finally {
    process.off('unhandledRejection', onRejection);
    restore();
  }
}

async function play(world: World, clients: Clients): Promise<void> {
  const { scenario, scheduler, hosts, outside, faults } = world;
  const isBroken = () => world.violations.length > 0;
  for (const name of DAEMONS) void hosts[name].start();
  const latest = new Map<Room, PlannedMessage>();
  for (const message of scenario.messages) {
    clients.plan(message, latest.get(message.room) ?? null);
    latest.set(message.room, message);
  }
  for (const happening of scenario.happenings)
    scheduler.add(outside, happening.at, () => happen(world, happening));
  const isOver = () => clients.areDone && !world.isBusy && isAtRest(world);
  const lastHappening = Math.max(0, ...scenario.happenings.map(({ at }) => at));
  await scheduler.run(
    () => isBroken() || (isOver() && scheduler.now > BEGIN + lastHappening),
    BEGIN + scenario.calm_at,
  );
  world.trace.note('—', () => 'from now on, there are no faults');
  faults.calm();
  for (const name of DAEMONS) hosts[name].wake();
  await scheduler.run(() => isBroken() || (isOver() && isUp(world)), scheduler.now + REST_MS);
  if (isBroken()) return;
  if (!isOver())
    world.report(`work is still in progress: ${[...clients.waiting, ...unfinished(world)].join(', ')}`);
  // Some work, such as the release of a claim, ends only after the last answer. This gives it time to end.
  await scheduler.run(isBroken, scheduler.now + 1500);
  if (world.struck.length === 0) return;
  // The remaining claims could not be released. They must expire, and must not be renewed forever.
  if (world.claims.held().length > 0) await scheduler.run(isBroken, scheduler.now + CLAIM_MS);
}

function happen(world: World, happening: Happening): void {
  const { hosts, state, scheduler, trace, faults } = world;
  if (faults.isCalm) return;
  switch (happening.is) {
    case 'crash':
    case 'pause':
    case 'stop':
      hosts[happening.daemon][happening.is](happening.ms);
      return;
    case 'link':
      world.inBackground(link(world, happening));
      return;
    case 'unlink':
      world.inBackground(unlink(world, happening));
      return;
    case 'platform-outage':
    case 'store-outage':
      world.beginOutage(happening.is, happening.ms);
      return;
    case 'end-session': {
      const administrator = openMemoryStore(state, { clock: scheduler.clockOf(world.outside) });
      for (const { session } of state.all(SESSION)) {
        const tag = sessionTag(session);
        if (![session.session_id, session.former_id].some((id) => id?.includes(happening.room.name)))
          continue;
        trace.note('—', () => `an administrator ends ${tag} at ${scheduler.now}`);
        void administrator.sessions.end(tag);
        world.record.counted.delete(tag);
      }
    }
  }
}

function isUp({ hosts }: World): boolean {
  return DAEMONS.every((name) => hosts[name].isUp);
}

function isAtRest(world: World): boolean {
  return unfinished(world).length === 0;
}

/** The work that is in progress, in the daemons or according to the store. */
function unfinished({ state, hosts }: World): string[] {
  return [
    ...DAEMONS.flatMap((name) => (hosts[name].isBusy ? [`${name} answers a message`] : [])),
    ...state
      .all(MESSAGE)
      .filter(({ message }) => message.ended_at === null)
      .map(({ message }) => `the message ${message.message_id} is ${message.state}`),
    ...state
      .all(STREAM)
      .filter(({ record }) => record.state === 'running')
      .map(({ record }) => `the stream ${record.stream_id} is running`),
  ];
}
