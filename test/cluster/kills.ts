import { setTimeout as delay } from 'node:timers/promises';
import { read } from '../support/event-stream.ts';
import { Fleet } from './fleet.ts';
import { type Servers, startServers } from './servers.ts';

export interface Kills {
  messages: number;
  turns: number;
  streams: number;
  kills: number;
  /** Messages, turns and streams that were acknowledged or answered, but whose reply is missing. */
  lost: string[];
  /** Sessions whose replies are not in the order of their messages. */
  disordered: string[];
  /** Number of replies that arrived more than once. */
  doubled: number;
  /**
   * Requests and runs that were in progress when replicas were killed. At most this many replies may arrive twice.
   */
  underWay: number;
  seconds: number;
}

/** The time within which everything must be answered after the last kill, ms. */
const SETTLED_MS = 120_000;

/**
 * Three replicas answer messages of a platform, webchat turns and streams, each kind in its own sessions, while
 * replicas are killed and started again. Clients send unanswered messages again, with the same message id or key.
 */
export async function kills(wanted: {
  messages: number;
  turns: number;
  streams: number;
  sessions: number;
  kills: number;
  on?: Servers;
}): Promise<Kills> {
  const began = performance.now();
  const redis = await startServers(wanted.on ?? 'redis', ['--appendonly', 'yes']);
  const fleet = await Fleet.start({ url: redis.url, replicas: 3 });
  const { exchange } = fleet;
  exchange.holdRun = () => delay(20);
  let underWay = 0;
  let requests = 0;
  /** Tries the replicas in turn until one of them answers. */
  const insist = async <T>(attempt: (url: string) => Promise<T | null>): Promise<T> => {
    for (let next = Math.floor(Math.random() * 3); ; next++) {
      requests++;
      const done = await attempt(fleet.url(next)).catch(() => null);
      requests--;
      if (done !== null) return done;
      await delay(100);
    }
  };
  const ofSession = (count: number, session: number) =>
    Array.from({ length: count }, (_, n) => n).filter((n) => n % wanted.sessions === session);

  const deliver = (session: number) => async () => {
    for (const n of ofSession(wanted.messages, session))
      await insist(async (url) => ((await fleet.deliver(url, `t${session}`, `m${n}`)) === 200 ? true : null));
  };
  const chat = (session: number) => async () => {
    for (const n of ofSession(wanted.turns, session))
      await insist((url) => say(url, '/webchat/message', `w${session}`, `w${n}`));
  };
  const stream = (session: number) => async () => {
    for (const n of ofSession(wanted.streams, session))
      await insist(async (url) => {
        const answer = await say(url, '/sse/chat', `e${session}`, `e${n}`);
        return answer && follow(fleet, answer.stream_id as string);
      });
  };
  const killing = async () => {
    for (let n = 0; n < wanted.kills; n++) {
      await delay(500 + Math.random() * 1000);
      const victim = Math.floor(Math.random() * 3);
      underWay += requests + Math.max(0, exchange.runs.length - exchange.taken.length);
      await fleet.kill(victim);
      await fleet.startReplica(victim);
    }
  };
  try {
    const sessions = Array.from({ length: wanted.sessions }, (_, n) => n);
    await Promise.all([
      killing(),
      ...sessions.flatMap((n) => [deliver(n), chat(n), stream(n)].map((work) => work())),
    ]);
    const answered = () => sessions.map((n) => new Set(exchange.textsTo(`t${n}`)).size);
    const all = sessions.map((n) => ofSession(wanted.messages, n).length);
    const until = performance.now() + SETTLED_MS;
    while (performance.now() < until && String(answered()) !== String(all)) await delay(100);

    const result: Kills = { ...wanted, lost: [], disordered: [], doubled: 0, underWay, seconds: 0 };
    const compare = (session: string, expected: readonly string[], found: readonly string[]) => {
      const firsts = [...new Set(found)];
      result.lost.push(...expected.filter((text) => !firsts.includes(text)));
      if (String(firsts) !== String(expected.filter((text) => firsts.includes(text))))
        result.disordered.push(session);
      result.doubled += found.length - firsts.length;
    };
    for (const n of sessions) {
      compare(
        `t${n}`,
        ofSession(wanted.messages, n).map((m) => `re: m${m}`),
        exchange.textsTo(`t${n}`),
      );
      for (const [kind, count] of [
        ['w', wanted.turns],
        ['e', wanted.streams],
      ] as const) {
        const stored = (await fleet.store.sessions.turns(`${kind}${n}`)).filter(
          ({ outcome }) => outcome === 'answered',
        );
        compare(
          `${kind}${n}`,
          ofSession(count, n).map((m) => `${kind}${m}`),
          stored.map(({ text }) => text),
        );
      }
    }
    return { ...result, seconds: Math.round((performance.now() - began) / 1000) };
  } finally {
    await fleet.stop();
    await redis.stop();
  }
}

/** Sends a message. Returns null if it was not answered. The caller then sends it again. */
async function say(
  url: string,
  path: string,
  session_id: string,
  message: string,
): Promise<Record<string, unknown> | null> {
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': `${session_id}/${message}` },
    body: JSON.stringify({ user_id: session_id, session_id, message }),
  });
  const body = (await answer.json()) as Record<string, unknown>;
  return answer.status === 200 ? body : null;
}

/**
 * Reads a stream from the replicas in turn, each time from the point where the connection broke. Returns true when the
 * stream is complete, and null if it ended in an error.
 */
async function follow(fleet: Fleet, stream_id: string): Promise<true | null> {
  let last = '';
  for (let next = Math.floor(Math.random() * 3); ; next++) {
    const headers: Record<string, string> = last === '' ? {} : { 'Last-Event-ID': last };
    const { text } = await read(fleet.url(next), stream_id, { headers }).ended;
    if (text.includes('event: stream_complete')) return true;
    if (text.includes('event: error')) return null;
    last = [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? last;
    await delay(100);
  }
}
