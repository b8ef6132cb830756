import { RunRecorder } from '../agent/run-recorder.ts';
import { TimeLimit } from '../time/time-limit.ts';
import { composeReply, composeWithoutAgent, isStopped } from './reply/compose-reply.ts';
import { toRunFailure } from './run/failure.ts';
import { createRunRecord } from './run/record.ts';
import { beginRun, createLossCheck, createTurnMeter } from './run/run.ts';
import type { Step } from './sequence.ts';
import type { RunServices } from './services.ts';
import type { Answered, Runnable } from './turn.ts';

/**
 * Produces the reply: waits for a free run slot, gives the tools their context, and enforces the deadline. The text is
 * passed to the outlet as it is produced (compose-reply.ts).
 * Adds `reply`, which is empty only if the person stopped it at once. Throws `agent_timeout` if the deadline passes,
 * `agent_failed` if the runtime fails, and `unavailable` if no slot is free in time, the daemon stops, or a claim is
 * lost.
 */
export const runAgent: Step<Runnable, Answered> = {
  name: 'run-agent',
  async run(turn, services: RunServices, line) {
    const { settlement } = turn;
    if (settlement.ends) {
      const stopped = isStopped(turn);
      line.reason = stopped ? 'stopped' : 'no_run_needed';
      return {
        ...composeWithoutAgent(stopped ? [] : [settlement.notice], turn, null, services),
        history: null,
        usage: null,
        // The text may quote the arguments of an action, which an earlier run chose.
        run_record: { tainted: turn.begun.pending.length > 0 },
      };
    }
    const taking = services.runs.take({ line, patient: turn.patient });
    const release = taking instanceof Promise ? await taking : taking;
    const timeout_ms = services.settings.AGENT_TIMEOUT_SECONDS * 1000;
    const ends = [services.stopping, turn.lost, ...(turn.stopped ? [turn.stopped] : [])];
    const limit = new TimeLimit(services.clock, timeout_ms, ends);
    const { deadline } = limit;
    const recorder = services.settings.RECORD_RUNS === 'off' ? null : new RunRecorder();
    const isLost = createLossCheck(turn, services);
    const meter = createTurnMeter(turn, services, turn.trace, { deadline, isLost, recorder });
    try {
      const run = await beginRun(turn, services, limit, meter, recorder);
      if (recorder) turn.recording = { recorder, history: run.history.turns };
      const composed = await composeReply(turn, services, run, line);
      return {
        ...composed,
        history: run.history,
        usage: meter.usage,
        run_record: createRunRecord(turn, services, run),
      };
    } catch (error) {
      throw toRunFailure(error, turn, services, limit, line);
    } finally {
      const settling = meter.settled();
      if (settling) await settling;
      limit.lift();
      release();
    }
  },
};
