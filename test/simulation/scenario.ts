import { randomFrom, type SeededRandom } from '../support/chance.ts';
import { durationOf, type Fault, randomFault, weighted } from './faults.ts';

export const DAEMONS = ['A', 'B'] as const;
export type DaemonName = (typeof DAEMONS)[number];

/**
 * The channel of a message: `chat` answers in the response, `feed` answers on an event stream, and `post` is a
 * platform.
 */
export type Door = 'chat' | 'feed' | 'post';

/** A sender. Everybody has a token, and may or may not use it. */
export const PEOPLE = ['alice', 'bob', 'carol'] as const;
export type Person = (typeof PEOPLE)[number];

/** A conversation, and the people who write in it. */
export interface Room {
  name: string;
  /**
   * `begun`: a session that the daemon names. `chosen`: a session that the client names. `direct` and `thread`: a place
   * on the platform.
   */
  is: 'begun' | 'chosen' | 'direct' | 'thread';
  members: readonly Person[];
}

/** How the agent reacts to a message. */
export const AGENT_PLANS = [
  'answers',
  'asks',
  'needs',
  'slow',
  'lasting',
  'passing',
  'broken',
  'refused',
  'long',
] as const;
/**
 * `asks`: calls a tool. `needs`: calls a tool that needs the sender's sign-in. `lasting`: takes longer than a claim is valid. `passing`: the first runs fail for a temporary
 * reason. `broken`: the first runs fail for another reason. `refused`: the model always refuses the message. `long`:
 * the reply has several parts.
 */
export type AgentPlan = (typeof AGENT_PLANS)[number];

/** What the agent writes through the API in each run. */
export interface WritePlan {
  /** Whether the arguments are worded differently in each run. */
  reworded: boolean;
  /** Whether the tool may be called again with the same key. */
  idempotent: boolean;
  /** How many equal calls the agent makes on purpose. */
  times: 1 | 2;
  /** Whether the agent calls the tool only after it has written most of the reply. */
  late: boolean;
  /** Whether the person must confirm calls of the tool. */
  confirmed: boolean;
}

export interface PlannedMessage {
  /** `m1`, `m2`, …; the text of the message begins with its label. */
  label: string;
  door: Door;
  room: Room;
  person: Person;
  /** When the message is sent, ms after the beginning. */
  at: number;
  /** Whether the person writes the message only after the previous message in the room has been answered. */
  waits: boolean;
  /** The daemon to which it is sent first. */
  daemon: DaemonName;
  /** Whether it carries the token of its person. */
  signed: boolean;
  /** Whether it can be recognized when it is sent again; always true on the platform. */
  key: boolean;
  agent: AgentPlan;
  /** What the agent writes through the API; null if it writes nothing. */
  writes: WritePlan | null;
  /**
   * The button that the message presses. The button is in the answer to the message `label`. Null if the message is
   * not a press of a button.
   */
  presses: { label: string; approve: boolean } | null;
  /** feed: number of readers of its stream. post: minimum number of deliveries by the platform. */
  copies: number;
  /** feed: the person stops the stream after this many ms; null for never. */
  stops: number | null;
  /** Whether it is sent over the other web channel as well, at the same time and with the same key. */
  both: boolean;
  /**
   * The client disconnects after this many ms, and sends the message again if that is safe. Null if it does not
   * disconnect.
   */
  leaves: number | null;
}

/** Something that happens at a certain time, ms after the beginning. */
export type Happening = { at: number } & (
  | { is: 'crash' | 'pause' | 'stop'; daemon: DaemonName; ms: number }
  | { is: 'link' | 'unlink'; daemon: DaemonName; person: Person; as: Person }
  | { is: 'end-session'; room: Room }
  /** The platform, or the store, is unreachable for both daemons. */
  | { is: 'platform-outage' | 'store-outage'; ms: number }
);

export interface Scenario {
  seed: number;
  messages: readonly PlannedMessage[];
  happenings: readonly Happening[];
  faults: readonly Fault[];
  /**
   * The share of calls that wait for the scheduler, so that other work can run before and after them. The other calls
   * are made at once.
   */
  scheduled: number;
  /** COLLECT_MS. */
  collect_ms: number;
  maxTurns: number;
  runSeconds: number;
  /** How far the clock of daemon B is ahead of the clock of the store, ms. */
  skew_ms: number;
  /** Nothing fails after this time, ms after the beginning. */
  calm_at: number;
}

/** The scenario of a seed. The same seed always gives the same scenario. */
export function scenarioOf(seed: number): Scenario {
  const random = randomFrom(seed * 2 + 1);
  const people = random.shuffled(PEOPLE).slice(0, 1 + random.below(3));
  const rooms = Array.from({ length: 1 + random.below(2) }, (_, index) => roomOf(random, people, index));
  const count = 3 + random.below(6);
  const writing = randomFrom(seed * 2 + 60_013);
  const messages: PlannedMessage[] = Array.from({ length: count }, (_, index) => ({
    ...messageOf(random, rooms, index),
    writes: writing.chance(0.4) ? writesOf(writing) : null,
    presses: null,
  }));
  addPresses(randomFrom(seed * 2 + 80_021), messages);
  const collect_ms = addPatience(randomFrom(seed * 2 + 90_007), messages);
  const trouble = weighted(random, [
    ['none', 2],
    ['errors', 6],
    ['crashes', 5],
    ['pauses', 4],
    ['stops', 2],
    ['all', 4],
  ] as const);
  const happenings = [...troubles(random, trouble), ...others(random, rooms)];
  const latest = Math.max(...messages.map(({ at }) => at), ...happenings.map(({ at }) => at));
  return {
    seed,
    messages,
    happenings,
    faults: faultsOf(random, trouble),
    scheduled: random.pick([0.2, 0.6, 0.9]),
    collect_ms,
    maxTurns: random.chance(0.15) ? 2 + random.below(3) : 50,
    runSeconds: random.pick([5, 60, 600]),
    skew_ms: random.chance(0.3) ? random.below(8000) - 4000 : 0,
    calm_at: latest + (trouble === 'none' || trouble === 'errors' ? 8000 : 20_000),
  };
}

function roomOf(random: SeededRandom, people: readonly Person[], index: number): Room {
  const is = weighted(random, [
    ['begun', 4],
    ['chosen', 2],
    ['direct', 4],
    ['thread', 2],
  ] as const);
  return { name: `room${index + 1}`, is, members: is === 'thread' ? people : [random.pick(people)] };
}

function writesOf(random: SeededRandom): WritePlan {
  return {
    reworded: random.chance(0.4),
    idempotent: random.chance(0.4),
    times: random.chance(0.25) ? 2 : 1,
    late: random.chance(0.3),
    confirmed: false,
  };
}

/**
 * Makes some of the writes need a confirmation, and makes people press the buttons. Some people press the button of
 * another person, and some press a button twice.
 */
function addPresses(random: SeededRandom, messages: PlannedMessage[]): void {
  if (random.chance(0.6)) return;
  for (const message of [...messages]) {
    if (message.writes === null || random.chance(0.3)) continue;
    message.writes = { ...message.writes, confirmed: true };
    const { label, room, door, at } = message;
    for (let presses = 1 + random.below(3); presses > 0; presses--) {
      messages.push({
        ...message,
        label: `m${messages.length + 1}`,
        person: random.pick(room.members),
        at: at + 500 + random.below(8000),
        waits: random.chance(0.5),
        daemon: random.pick(DAEMONS),
        signed: door !== 'post' && random.chance(0.8),
        key: door === 'post' || random.chance(0.8),
        agent: 'answers',
        writes: null,
        presses: { label, approve: random.chance(0.75) },
        copies: 1 + random.below(2),
        ...{ stops: null, both: false, leaves: null },
      });
    }
  }
}

/**
 * In some scenarios, messages of the platform are collected, or wait until their sender has signed in.
 * @returns COLLECT_MS
 */
function addPatience(random: SeededRandom, messages: PlannedMessage[]): number {
  if (random.chance(0.6)) return 0;
  for (const message of messages)
    if (message.door === 'post' && message.presses === null && random.chance(0.4)) message.agent = 'needs';
  return random.chance(0.5) ? 200 + random.below(1500) : 0;
}

function messageOf(
  random: SeededRandom,
  rooms: readonly Room[],
  index: number,
): Omit<PlannedMessage, 'writes' | 'presses'> {
  const room = random.pick(rooms);
  const isPlatform = room.is === 'direct' || room.is === 'thread';
  const door = isPlatform ? 'post' : random.pick(['chat', 'feed'] as const);
  const key = isPlatform || random.chance(0.7);
  return {
    label: `m${index + 1}`,
    door,
    room,
    person: random.pick(room.members),
    at: random.chance(0.4) ? 0 : random.below(6000),
    waits: random.chance(0.3),
    daemon: random.pick(DAEMONS),
    signed: !isPlatform && random.chance(0.4),
    key,
    agent: weighted(random, [
      ['answers', 8],
      ['asks', 5],
      ['slow', 4],
      ['lasting', 0.5],
      ['passing', 1],
      ['broken', 1],
      ['refused', 1],
      ['long', 2],
    ] as const),
    copies: weighted(random, [
      [1, 4],
      [2, 2],
      [3, 1],
    ] as const),
    stops: door === 'feed' && random.chance(0.15) ? random.below(3000) : null,
    both: !isPlatform && key && random.chance(0.1),
    leaves: !isPlatform && random.chance(0.1) ? random.below(4000) : null,
  };
}

function troubles(random: SeededRandom, trouble: string): Happening[] {
  const acts = { crashes: ['crash'], pauses: ['pause'], stops: ['stop'], all: ['crash', 'pause', 'stop'] }[
    trouble
  ];
  if (!acts) return [];
  return Array.from({ length: random.below(3) }, () => {
    const is = random.pick(acts) as 'crash' | 'pause' | 'stop';
    return { is, at: random.below(8000), daemon: random.pick(DAEMONS), ms: durationOf(is, random) };
  });
}

function others(random: SeededRandom, rooms: readonly Room[]): Happening[] {
  const at = () => random.below(6000);
  const happenings: Happening[] = [];
  for (const room of rooms) {
    if (room.is === 'direct' || room.is === 'thread') {
      while (random.chance(0.5)) {
        const person = random.pick(room.members);
        const is = random.chance(0.75) ? 'link' : 'unlink';
        const as = room.is === 'direct' && random.chance(0.2) ? random.pick(PEOPLE) : person;
        happenings.push({ is, at: random.chance(0.5) ? 0 : at(), daemon: random.pick(DAEMONS), person, as });
      }
    }
    if (random.chance(0.06)) happenings.push({ is: 'end-session', at: at(), room });
  }
  if (random.chance(0.08))
    happenings.push({ is: 'platform-outage', at: at(), ms: 500 + random.below(15_000) });
  if (random.chance(0.05)) happenings.push({ is: 'store-outage', at: at(), ms: 100 + random.below(5000) });
  return happenings;
}

function faultsOf(random: SeededRandom, trouble: string): Fault[] {
  const acts: readonly Fault['act'][] | undefined = {
    errors: ['error', 'error', 'error', 'delay'] as const,
    crashes: ['crash', 'crash', 'delay'] as const,
    pauses: ['pause', 'pause', 'delay', 'error'] as const,
    stops: ['stop', 'delay'] as const,
    all: ['error', 'error', 'error', 'crash', 'pause', 'stop', 'delay'] as const,
  }[trouble];
  if (!acts) return [];
  return Array.from({ length: 1 + random.below(4) }, () => randomFault(random, acts));
}
