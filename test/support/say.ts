import { runTurn } from '../../src/daemon/message/run-turn.ts';
import { answerNow } from '../../src/daemon/message/steps.ts';
import type { Cancellation } from '../../src/daemon/time/time-limit.ts';
import { aMessage, aTurnOf, ON_PLATFORM, personVerdict, type StepWorld } from './step.ts';

/** Who sends a message, and where. Default: a visitor without sign-in, in the session `s`, which the client names. */
export interface Sender {
  session_id?: string;
  /** The `sub` of the token that comes with the message. */
  sub?: string;
  user_id?: string;
  shared?: boolean;
  platform?: boolean;
  /** Ended when the person stops the answer. */
  stopped?: Cancellation;
}

export interface Said {
  /** The id of the session after the reply. */
  session_id: string;
  turn_id: string;
  reply: string;
  /** Whether the person stopped it. */
  was_stopped: boolean;
  /** What its outlet was told, in order. */
  told: readonly string[];
}

let count = 0;

/** Sends a message through all steps, and waits for its reply. */
export async function say(
  world: StepWorld,
  text: string,
  { session_id = 's', sub, user_id, shared, platform, stopped }: Sender = {},
): Promise<Said> {
  const id = ++count;
  const turn_id = `turn-${id}`;
  const turn = aTurnOf(world, {
    ...(platform ? ON_PLATFORM : {}),
    ...(stopped === undefined ? {} : { stopped }),
    turn_id,
    request_id: `request-${id}`,
    session_id,
    message: aMessage({
      text,
      thread_id: session_id,
      ...(user_id === undefined ? {} : { user_id }),
      ...(shared ? { shared } : {}),
      ...(sub === undefined ? {} : { metadata: { jwt_token: `token-of-${sub}` } }),
    }),
    validated: sub === undefined ? null : { token: `token-of-${sub}`, verdict: personVerdict(sub) },
  });
  const end = await runTurn(answerNow, turn, world.services);
  if (!end.answered) throw end.error;
  world.clock.moveTo(world.clock.now() + 1000);
  const { session_id: new_id, response: reply, stopped: was_stopped } = end.reply;
  return { session_id: new_id, turn_id, reply, was_stopped, told: turn.outlet.told };
}
