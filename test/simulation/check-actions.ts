import { ACTION } from '../../src/daemon/store/actions/action-document.ts';
import { isConfirmed, isIdempotent } from './api.ts';
import type { PlannedMessage, WritePlan } from './scenario.ts';
import { brief } from './trace.ts';
import type { World } from './world.ts';

/** Checks that nothing was written twice, and that every write is in the journal with its outcome. */
export function checkActions(world: World): void {
  for (const message of world.scenario.messages)
    if (message.writes) checkWrites(world, message, message.writes);
  checkJournal(world);
  checkConfirmations(world);
}

function checkWrites(
  world: World,
  { label, agent, stops, leaves, both }: PlannedMessage,
  { times, confirmed }: WritePlan,
): void {
  const { api, state, record, report, struck } = world;
  const calls = api.calls.filter((call) => call.label === label);
  for (const [key, equal] of Map.groupBy(calls, (call) => call.key))
    if (equal.length > 1 && !isIdempotent(equal[0]?.tool ?? ''))
      report(`the write ${key.slice(0, 6)} for ${label} reached the API ${equal.length} times`);
  // A refused write has changed nothing, so it may be tried again with different arguments.
  const keys = [...api.keysOf(label)].filter((key) => state.get(ACTION, key)?.action.state !== 'failed');
  // Only one action waits for a confirmation at a time, and each run of the message asks for the same action. A message
  // that waited for sign-in ran twice, and each question was for somebody else.
  const askers = Map.groupBy(keys, (key) => state.get(ACTION, key)?.action.person ?? null);
  const groups = confirmed ? [...askers.values()] : [keys];
  const most = confirmed ? 1 : times;
  for (const group of groups)
    if (group.length > most) report(`${label} wanted ${most} writes, but ${group.length} reached the API`);
  const isWhole = !['passing', 'broken', 'refused'].includes(agent) && stops === null && leaves === null;
  const isCertain = calls.every(({ status }) => status < 500);
  const wanted =
    !confirmed && record.answersOf(label).length > 0 && isWhole && isCertain && !both && struck.length === 0;
  if (wanted && keys.length + calls.filter(({ status }) => status === 409).length < times)
    report(`${label} wanted ${times} writes, but ${calls.length} reached the API`);
}

function checkJournal({ api, state, record, report, struck }: World): void {
  for (const { action } of state.all(ACTION)) {
    const { action_id, tool, state: at, turn_key, person } = action;
    const what = `${tool} ${action_id.slice(0, 6)}`;
    const calls = api.calls.filter(({ key }) => key === action_id);
    const isDone = calls.some(({ hasEffect }) => hasEffect);
    if (at === 'failed' && isDone) report(`the journal says that ${what} failed, but it was done`);
    if (at === 'done' && !isDone) report(`the journal says that ${what} was done, but it was not`);
    if (at === 'started' && struck.length === 0) report(`the journal has no outcome for ${what}`);
    // The run knew the outcome, or knew that the write was not sent, but could not record this.
    const isUnrecorded =
      struck.some((trouble) => trouble.includes('store-outage')) ||
      struck.filter((trouble) => /actions\.(start|finish)/.test(trouble)).length > 1;
    if ((at !== 'started' && at !== 'unknown') || isUnrecorded) continue;
    const answers = record.commits.filter(
      (commit) => commit.record.outcome === 'answered' && commit.turn_key === turn_key,
    );
    for (const { label, record: turn } of answers) {
      const isShown = person === null || person === turn.person;
      // The person stopped the run while the write was being recorded. The run then does not send the write.
      const isUnsent = turn.stopped === true && calls.length === 0;
      if (
        isShown &&
        !isUnsent &&
        turn.reply !== '' &&
        !turn.reply?.includes('unknown: it is not known whether this happened')
      )
        report(
          `the outcome of ${what} is unknown, but the reply to ${label} does not say so: ${brief(turn.reply)}`,
        );
    }
  }
}

/**
 * Checks each write that needs a confirmation. The user who was asked must have confirmed it, and the write must act
 * for the person for whom it was asked.
 */
function checkConfirmations({ api, state, report, presses }: World): void {
  for (const { label, tool, key, person } of api.calls.filter((call) => isConfirmed(call.tool))) {
    const action = state.get(ACTION, key)?.action;
    const isTheirs = presses.some(
      ({ id, approve, person: user_id }) => id === key && approve && user_id === action?.user_id,
    );
    if (!isTheirs) report(`${tool} for ${label} was done, but nobody who was asked had confirmed it`);
    if (person !== action?.person)
      report(`${tool} for ${label} was requested for ${action?.person}, but done for ${person}`);
  }
}
