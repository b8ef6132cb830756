import type { AgentRuntime, AgentTurn } from '../../src/agent/index.ts';
import { AgentFailure } from '../../src/daemon/agent/agent.ts';
import { builtInSource } from '../../src/daemon/tools/describe-source.ts';
import type { Sent, Tool } from '../../src/daemon/tools/tool.ts';
import { toolOf } from './api.ts';
import type { SimulatedDaemon } from './daemon.ts';
import { type AgentRun, labelOf } from './record.ts';
import type { AgentPlan, WritePlan } from './scenario.ts';
import type { World } from './world.ts';

/** How long the agent takes for each piece of its reply, in ms, for each plan. */
const PAUSES_MS: Partial<Record<AgentPlan, readonly number[]>> = {
  slow: [1500, 3000, 1000],
  lasting: [7000, 7000, 4000],
  long: [10, 10],
};
/** With the plans `passing` and `broken`, this many runs of a message fail before one succeeds. */
const FAILING_RUNS = 1;

/**
 * Creates the agent of one daemon. The scenario plans how it handles each message, and each of its steps waits for the
 * scheduler.
 */
export function simulatedAgent(world: World, daemon: SimulatedDaemon): AgentRuntime {
  return {
    apiVersion: 1,
    run: (turn) => answer(world, daemon, turn),
  };
}

async function* answer(world: World, daemon: SimulatedDaemon, turn: AgentTurn): AsyncIterable<string> {
  const label = labelOf(turn.text);
  const run = world.record.begin(label, turn);
  const { agent, person, writes } = world.messageOf(turn.text);
  checkAlreadyDone(world, turn, run);
  checkPerson(world, turn, run);
  const think = (ms: number) =>
    world.pass(daemon, {
      op: 'agent',
      effect: () => undefined,
      failure: () => new AgentFailure('model_unreachable', 'the model cannot be reached', { passing: true }),
      words: () => `run ${run.number} of ${label}, shown ${turn.history.length}`,
      takes_ms: ms,
    });
  await think(world.random.below(300));
  const earlier = world.record.runs.filter((one) => one.label === label).length - 1;
  if (agent === 'refused') throw new AgentFailure('model_refused', 'the model refuses this message');
  if (agent === 'passing' && earlier < FAILING_RUNS)
    throw new AgentFailure('model_overloaded', 'the model is busy', { passing: true });
  if (agent === 'broken' && earlier < FAILING_RUNS) throw new Error('the runtime is broken');
  yield `r${run.number} `;
  if (writes && !writes.late) await write(turn, run, writes);
  if (agent === 'asks') {
    const answered = await turn.tools.find(({ name }) => name === 'who_am_i')?.call({});
    yield answered?.ok ? `asked as ${String(answered.result)} ` : 'could not ask ';
  }
  if (agent === 'needs') {
    const told = await turn.tools.find(({ name }) => name === 'secret')?.call({});
    yield told?.ok ? `told the secret of ${String(told.result)} ` : 'told nothing ';
  }
  const pauses = PAUSES_MS[agent] ?? [20];
  for (const ms of pauses) {
    await think(ms);
    yield agent === 'long' ? '| ' : '.. ';
  }
  if (writes?.late) await write(turn, run, writes);
  yield `${label} for ${person}`;
}

async function write(turn: AgentTurn, { label, number }: AgentRun, plan: WritePlan): Promise<void> {
  const tool = turn.tools.find(({ name }) => name === toolOf(plan));
  const args = { order: label, ...(plan.reworded ? { note: `as run ${number} words it` } : {}) };
  for (let time = 0; time < plan.times; time++) await tool?.call(args);
}

/**
 * Checks that a run is told of all writes that earlier runs of its message made. Skipped in scenarios that change
 * links, because a run is not told of the writes of another person.
 */
function checkAlreadyDone(world: World, { already_done }: AgentTurn, run: AgentRun): void {
  if (world.scenario.happenings.some(({ is }) => is === 'link' || is === 'unlink')) return;
  const { label, number } = run;
  const written = world.api.keysOf(label).size;
  if (already_done.length < written)
    run.doubt = `run ${number} was told of ${already_done.length} of the ${written} writes for ${label}`;
}

/**
 * Checks that the agent acts for the person who wrote the message, for a person to whom they are linked, or for nobody.
 */
function checkPerson(world: World, { person: known, text }: AgentTurn, run: AgentRun): void {
  const { person } = world.messageOf(text);
  const named = known?.email.split('@')[0];
  if (named !== undefined && !world.mayActFor(person, named))
    world.report(`run ${run.number}: the message of ${person} acts for ${named}`);
}

/** This schema is compiled only once for all seeds, because the object is always the same. */
const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false };

/** Tokens of persons are sent to https only. */
const SECRETS = builtInSource('https://api.invalid');

/** A tool that only works for a person who has signed in. */
export function secret(world: World, daemon: SimulatedDaemon): Tool {
  return { ...whoAmI(world, daemon), name: 'secret', source: SECRETS, credentials: 'user' };
}

/** A tool that returns the person whose token it would use. */
export function whoAmI(world: World, daemon: SimulatedDaemon): Tool {
  return {
    name: 'who_am_i',
    title: null,
    description: 'Returns the person for whom it acts.',
    parameters: NO_PARAMETERS,
    source: builtInSource('http://api.invalid'),
    effect: 'read',
    credentials: 'user-or-default',
    confirm: 'never',
    summary: null,
    public: 'all',
    bind: {},
    hide: [],
    idempotent: false,
    send: (_args, { client, person, context }) =>
      world.pass(daemon, {
        op: 'tool',
        effect: async (): Promise<Sent> => {
          const user_id = context?.user_id ?? '';
          const whose = client.credentials === 'user' ? (person?.sub ?? 'nobody') : 'nobody';
          if (whose !== 'nobody' && !world.mayActFor(user_id, whose))
            world.report(`a tool of the message of ${user_id} has the token of ${whose}`);
          return { outcome: 'answered', status: null, result: whose };
        },
        failure: () => new Error('the tool failed'),
        words: () => '',
      }),
  };
}
