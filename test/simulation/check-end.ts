import { personKey } from '../../src/daemon/identity/identity.ts';
import type { InboxMessage } from '../../src/daemon/store/inbox/inbox.ts';
import { MESSAGE } from '../../src/daemon/store/inbox/inbox-document.ts';
import { SEEN } from '../../src/daemon/store/inbox/seen.ts';
import { GUARD_TURNS } from '../../src/daemon/store/limits/guard.ts';
import { STREAM } from '../../src/daemon/store/streams.ts';
import { checkActions } from './check-actions.ts';
import type { Clients } from './clients.ts';
import { DAEMONS, type PlannedMessage, type Scenario } from './scenario.ts';
import type { World } from './world.ts';

/** Checks everything that must be true at the end of a run, when nothing is in progress. */
export function checkEnd(world: World, clients: Clients): void {
  for (const message of world.scenario.messages) checkMessage(world, clients, message);
  checkQueues(world);
  checkThreads(world);
  checkStreams(world);
  checkGuard(world);
  checkActions(world);
  checkLeftovers(world);
}

/** Checks that a message that was acknowledged was answered once, or failed with a notice. */
function checkMessage(world: World, clients: Clients, message: PlannedMessage): void {
  const { record, report, struck, scenario } = world;
  const { label, door, key, agent } = message;
  const fate = clients.fates.get(label);
  const all = record.answersOf(label);
  const answers = all.filter((commit) => commit.rerun_for === undefined);
  if (all.length > answers.length + 1)
    report(`${label} was run again ${all.length - answers.length} times after sign-in`);
  if (key && answers.length > 1)
    report(
      `${label} was answered ${answers.length} times: ${answers.map((one) => one.record.reply).join(', ')}`,
    );
  const replies = clients.replies.get(label);
  if (key && replies && replies.size > 1)
    report(`${label} got different replies: ${[...replies].join(', ')}`);
  const mayBeBlocked = scenario.maxTurns < 50;
  if (door === 'post') checkDelivered(world, message, answers.length);
  else if (fate?.is === 'refused') {
    const isRight =
      isGone(fate.code, message) ||
      (fate.code === 'agent_failed' && (agent === 'refused' || (!key && agent !== 'answers'))) ||
      (fate.code === 'loop_guard_blocked' && mayBeBlocked) ||
      (!key && (struck.length > 0 || message.leaves !== null));
    if (!isRight) report(`${label} was refused: ${fate.code}`);
  } else if (fate?.is === 'failed') {
    const isRight =
      isGone(fate.code, message) ||
      agent === 'refused' ||
      (!key && (struck.length > 0 || agent === 'passing' || agent === 'broken'));
    if (!isRight) report(`the stream of ${label} failed: ${fate.code}`);
  }
}

/** Whether a web client was refused because it pressed a button for which no action is waiting. */
function isGone(code: string, { presses }: PlannedMessage): boolean {
  return code === 'confirmation_gone' && presses !== null;
}

function checkDelivered(world: World, { label, agent, presses }: PlannedMessage, answers: number): void {
  const { state, platform, report, struck, scenario } = world;
  const seen = state.get(SEEN, JSON.stringify(['post', label]));
  if (seen?.verdict && !seen.verdict.allowed) return;
  const message = seen?.id ? state.get(MESSAGE, seen.id)?.message : undefined;
  if (!message) {
    report(`${label} is not in the inbox`);
    return;
  }
  const { id, reply, notice, turn_id } = message;
  if (turn_id !== undefined) {
    // The first message of the turn is checked by itself.
    const first = state.get(MESSAGE, turn_id)?.message;
    if (first?.state !== message.state)
      report(`${label} is ${message.state}, but its turn is ${first?.state}`);
    if (answers > 0) report(`${label} was answered, although ${turn_id} had taken it up`);
    return;
  }
  const partsOf = (text: string, reply_id: string) => {
    const taken = platform.taken.filter((one) => one.reply_id === reply_id);
    text.split('| ').forEach((_, part) => {
      const times = taken.filter((one) => one.part === part).length;
      if (times === 0) report(`${label}: part ${part} of "${text}" was never sent`);
      if (times > 1 && !struck.some(mayRepeatSends))
        report(`${label}: part ${part} of "${text}" was sent ${times} times`);
    });
  };
  if (message.state === 'done') {
    // A second press of a button does nothing.
    if (answers !== 1 && (presses === null || answers > 1))
      report(`${label} is done, but was answered ${answers} times`);
    if (reply !== null) partsOf(reply, id);
    return;
  }
  if (message.state !== 'failed') {
    report(`${label} is ${message.state}`);
    return;
  }
  if (isOfSomebodyElse(message, scenario)) {
    // An earlier attempt may have sent it, without the daemon knowing.
    if (!struck.some(mayRepeatSends) && platform.taken.some(({ reply_id }) => reply_id === id))
      report(`${label} failed, but its reply was sent`);
    return;
  }
  if (notice === null) {
    report(`${label} failed without a notice: ${message.failure}`);
    return;
  }
  partsOf(notice, `${id}-notice`);
  if (answers > 0)
    report(`${label} was answered, but its person was told that it failed: ${message.failure}`);
  const mayFail =
    agent === 'refused' || (scenario.runSeconds < 600 && (struck.length > 0 || agent === 'passing'));
  if (!mayFail) report(`${label} failed: ${message.failure}`);
}

/** Whether this fault can prevent the daemon from knowing that a text was sent. The daemon then sends it again. */
function mayRepeatSends(trouble: string): boolean {
  return !trouble.startsWith('delay') && !/^error (?:before|after) (?!platform\.send|inbox\.)/.test(trouble);
}

/** Whether a reply was rightly not sent, because its private chat was linked to another person. */
function isOfSomebodyElse(
  { failure, user_id, written_for }: InboxMessage,
  { happenings }: Scenario,
): boolean {
  const others = happenings.filter(
    (one) => one.is === 'link' && one.person === user_id && personKey({ sub: one.as }) !== written_for,
  );
  return failure?.includes('signed in as somebody else') === true && others.length > 0;
}

/** Checks that the messages of a queue are answered in the order in which they were stored. */
function checkQueues({ state, record, report, platform }: World): void {
  const queues = Map.groupBy(state.all(MESSAGE), ({ message }) => message.queue);
  for (const [queue, stored] of queues) {
    // A second run was queued after the messages that were written meanwhile.
    const ids = stored.filter(({ message }) => !message.rerun).map(({ message }) => message.id);
    const answered = record.commits.map(({ record: turn }) => turn.turn_id).filter((id) => ids.includes(id));
    if (!isInOrder(answered, ids)) report(`the messages of ${queue} were not answered in order`);
    const taken = new Set(platform.taken.map(({ reply_id }) => reply_id.replace('-notice', '')));
    const sent = [...taken].filter((id) => ids.includes(id));
    if (!isInOrder(sent, ids)) report(`the replies of ${queue} were not sent in order`);
  }
}

/** Checks that the messages that one daemon got in one thread are answered in the order of their arrival. */
function checkThreads({ record, report }: World): void {
  const groups = Map.groupBy(record.commits, ({ session_tag, record: { request_id } }) => {
    const arrival = record.arrivals.find((one) => one.request_id === request_id);
    return arrival && arrival.thread === session_tag ? `${session_tag} at ${record.startOf(arrival.at)}` : '';
  });
  const arrived = record.arrivals.map(({ request_id }) => request_id);
  for (const [group, commits] of groups) {
    const answered = commits.map(({ record: { request_id } }) => request_id);
    if (group !== '' && !isInOrder(answered, arrived))
      report(`the messages of ${group} were not answered in the order of their arrival`);
  }
}

function isInOrder(some: readonly string[], all: readonly string[]): boolean {
  const places = some.map((id) => all.indexOf(id));
  return places.every((place, at) => at === 0 || place >= (places[at - 1] as number));
}

/** Checks that events are numbered without gaps, and that the last event ends the stream. */
function checkStreams({ state, report }: World): void {
  for (const { record } of state.all(STREAM)) {
    const { stream_id, state: at } = record;
    const events = state.items(STREAM, stream_id);
    if (!events.every(({ id }, index) => id === index + 1)) report(`the events of ${stream_id} have gaps`);
    const ends = events.filter(({ event }) => event === 'stream_complete' || event === 'error').length;
    const isWhole = at === 'ended' ? ends === 1 && events.length === record.last_event : ends === 0;
    if (!isWhole) report(`the stream ${stream_id} is ${at} with ${ends} last events`);
    const starts = events.filter(({ event }) => event === 'stream_start').length;
    if (starts > 1) report(`the stream ${stream_id} begins ${starts} times`);
  }
}

/** Checks that the guard counts exactly the messages that it allowed on both daemons. */
function checkGuard({ state, record, report, struck, scenario }: World): void {
  // The count of a session is deleted when the session ends or starts again.
  const hasExceptions =
    scenario.collect_ms > 0 || scenario.happenings.some(({ is }) => is === 'end-session' || is === 'link');
  // A stream that is stopped before it is opened has no turn. A second press of a button is not answered, and has no
  // turn either.
  const isStopped = scenario.messages.some(
    ({ stops, both, presses }) => stops !== null || both || presses !== null,
  );
  const waiting = state.all(STREAM).filter(({ record }) => record.state === 'waiting');
  // The repeat of a request that failed is not counted again, even if it begins another session. Each text is unique.
  const first = new Map(record.commits.toReversed().map((commit) => [commit.record.text, commit]));
  for (const [tag, turns] of record.counted) {
    const counted = state.get(GUARD_TURNS, tag)?.turns ?? 0;
    if (!hasExceptions && counted !== turns)
      report(`the guard counts ${counted} turns of ${tag}, but allowed ${turns}`);
    // If the session of a waiting message gets a different owner, the message creates a new session, where it is not
    // counted.
    const stored = [...first.values()].filter(
      ({ session_tag, ranElsewhere }) => session_tag === tag && !ranElsewhere,
    ).length;
    const unopened = waiting.filter(({ record: { start } }) => start.counted_in === tag).length;
    if (!hasExceptions && !isStopped && struck.length === 0 && counted !== stored + unopened)
      report(`the guard counts ${counted} turns of ${tag}, but ${stored} were stored`);
  }
}

/** Checks that nothing is still locked, subscribed to or waited for. */
function checkLeftovers({ claims, hosts, report }: World): void {
  for (const claim of claims.held()) report(`not released: the claim of the ${claim}`);
  for (const name of DAEMONS)
    for (const [what, count] of Object.entries(hosts[name].daemon?.leftovers ?? {}))
      if (count > 0) report(`${name} still has ${count} ${what}`);
}
