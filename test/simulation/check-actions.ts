import { IDEMPOTENT_TOOL } from './api.ts';
import type { PlannedMessage, WritePlan } from './scenario.ts';
import type { World } from './world.ts';

/** Nothing was written twice, and everything that was is in the journal with what came of it. */
export function checkActions(world: World): void {
  for (const message of world.scenario.messages)
    if (message.writes) checkWrites(world, message, message.writes);
  checkJournal(world);
}

function checkWrites(
  world: World,
  { label, agent, stops, leaves, both }: PlannedMessage,
  { times }: WritePlan,
): void {
  const { api, state, record, report, struck } = world;
  const calls = api.calls.filter((call) => call.label === label);
  for (const [key, equal] of Map.groupBy(calls, (call) => call.key))
    if (equal.length > 1 && equal[0]?.tool !== IDEMPOTENT_TOOL)
      report(`the write ${key.slice(0, 6)} for ${label} reached the API ${equal.length} times`);
  // What was refused has changed nothing, so it may be tried in other words.
  const keys = [...api.keysOf(label)].filter((key) => state.actions.get(key)?.action.state !== 'failed');
  if (keys.length > times) report(`${label} wanted ${times} writes, and ${keys.length} reached the API`);
  const isWhole = !['passing', 'broken', 'refused'].includes(agent) && stops === null && leaves === null;
  const isCertain = calls.every(({ status }) => status < 500);
  const wanted = record.answersOf(label).length > 0 && isWhole && isCertain && !both && struck.length === 0;
  if (wanted && keys.length + calls.filter(({ status }) => status === 409).length < times)
    report(`${label} wanted ${times} writes, and ${calls.length} reached the API`);
}

function checkJournal({ api, state, record, report, struck }: World): void {
  for (const { action } of state.actions.values()) {
    const { action_id, tool, state: at, turn_key, person } = action;
    const what = `${tool} ${action_id.slice(0, 6)}`;
    const calls = api.calls.filter(({ key }) => key === action_id);
    const isDone = calls.some(({ hasEffect }) => hasEffect);
    if (at === 'failed' && isDone) report(`the journal says that ${what} failed, and it was done`);
    if (at === 'done' && !isDone) report(`the journal says that ${what} was done, and it was not`);
    if (at === 'started' && struck.length === 0) report(`the journal does not say what came of ${what}`);
    // The run knew its outcome, and could not record it.
    const isUnrecorded = struck.filter((trouble) => /actions\.finish|store-outage/.test(trouble)).length > 1;
    if ((at !== 'started' && at !== 'unknown') || isUnrecorded) continue;
    const answers = record.commits.filter(
      (commit) => commit.record.outcome === 'answered' && commit.turn_key === turn_key,
    );
    for (const { label, record: turn } of answers) {
      const isShown = person === null || person === turn.person;
      if (isShown && turn.reply !== '' && !turn.reply?.includes('It is not known whether this was done'))
        report(`${label} was answered with "${turn.reply}", and nobody knows what came of ${what}`);
    }
  }
}
