import { isObject } from '../../channel/json-object.ts';
import { NOT_RECORDED, RecordedCalls } from '../replay/replay-tools.ts';
import { reducedForNobody } from '../tools/answer.ts';
import { unbindParameters } from '../tools/bind-parameters.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { canonicalJson } from '../tools/schema/read-arguments.ts';
import { refuseToSend, type Sent, type Tool, type ToolArguments, type ToolCall } from '../tools/tool.ts';
import type { EvalCase, RecordedResult, Stub } from './read-cases.ts';

/**
 * The tools of the settings, with everything that the daemon enforces, but with other answers than those of the
 * business system: a stub, or the recorded result. Otherwise a read is answered `not recorded`, or is made if the case
 * is `live`, and a write is held. The tools of the daemon itself, such as those of memory, work as always.
 */
export function evalTools(registry: ToolRegistry, one: EvalCase): ToolRegistry {
  const known = new WeakMap<Tool, Tool>();
  // The daemon asks again, so that the question is a part of the evaluation.
  const recorded = one.recorded.filter((result) => !waitsForPerson(result));
  const results = { calls: new RecordedCalls(recorded), tools: new Set(recorded.map(({ tool }) => tool)) };
  return {
    ...registry,
    tools: () =>
      registry.tools().map((tool) => {
        const replaced = known.get(tool) ?? replacedTool(tool, one, results);
        known.set(tool, replaced);
        return replaced;
      }),
  };
}

/** Names of tools that the case answers for, but that the settings do not have. */
export function unknownTools(registry: ToolRegistry, { stubs, recorded }: EvalCase): string[] {
  const names = new Set(registry.tools().map(({ name }) => name));
  return [...new Set([...stubs.keys(), ...recorded.map(({ tool }) => tool)])].filter(
    (name) => !names.has(name),
  );
}

/** The recorded results of one run, and the tools that it called. */
interface Results {
  calls: RecordedCalls<RecordedResult>;
  tools: ReadonlySet<string>;
}

function replacedTool(tool: Tool, one: EvalCase, { calls, tools }: Results): Tool {
  const stubs = one.stubs.get(tool.name) ?? [];
  const isOwn = tool.source.kind === 'built-in' && tool.credentials === 'none';
  const hasRecorded = tools.has(tool.name);
  if (isOwn && stubs.length === 0 && !hasRecorded) return tool;
  const isLive = one.tools === 'live' && tool.effect === 'read';
  return Object.freeze({
    ...tool,
    // A recorded result is what the agent got. It was reduced when it was recorded.
    ...(hasRecorded ? { public: 'all' as const } : {}),
    send(args: ToolArguments, call: ToolCall): Promise<Sent> {
      const stub = stubs.find((candidate) => fits(candidate.args, args));
      if (stub) return Promise.resolve(answerFromStub(tool, stub, call));
      const known = calls.next(tool.name, unbindParameters(tool, args));
      if (known) return Promise.resolve(answerFromRecording(known));
      if (isLive) return tool.send(args, call);
      return Promise.resolve(
        tool.effect === 'write'
          ? refuseToSend('held', 'The call was held: nothing is written in an evaluation.')
          : refuseToSend('not_recorded', NOT_RECORDED),
      );
    },
  });
}

/** The answer of a stub, reduced to what default credentials may show, as if the business system had answered. */
function answerFromStub(tool: Tool, { status, result }: Stub, { client }: ToolCall): Sent {
  const isReduced =
    client.credentials === 'default' && tool.source.kind !== 'module' && tool.public !== 'all';
  if (!isReduced) return { outcome: 'answered', status, result };
  return { outcome: 'answered', status, result: status >= 400 ? null : reducedForNobody(tool, result) };
}

function answerFromRecording({ answer }: RecordedResult): Sent {
  return answer.ok
    ? { outcome: 'answered', status: null, result: answer.result }
    : refuseToSend('recorded', answer.message);
}

/** Whether these arguments have all that are wanted, also below the top level. */
export function fits(wanted: unknown, given: unknown): boolean {
  if (!isObject(wanted)) return canonicalJson(wanted) === canonicalJson(given ?? null);
  if (!isObject(given)) return false;
  return Object.entries(wanted).every(([name, value]) => fits(value, given[name]));
}

/** Whether a call was not made, because it waits for the person to confirm it. */
export function waitsForPerson({ answer }: Pick<RecordedResult, 'answer'>): boolean {
  return answer.ok && isObject(answer.result) && answer.result.waits_for_confirmation === true;
}
