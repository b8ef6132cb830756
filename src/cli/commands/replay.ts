import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { operatorLog } from '../../daemon/admin/operator-call.ts';
import {
  newProvider,
  openRecording,
  type RecordedRun,
  type Recording,
  type ReplayChanges,
  recordedWho,
  replaySettings,
  replayTimes,
} from '../../daemon/admin/replay.ts';
import { openAdministratorSeal } from '../../daemon/admin/sealing.ts';
import { readConfiguration, type Settings } from '../../daemon/admin/settings.ts';
import type { Store } from '../../daemon/admin/store.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { withRegistry } from '../../daemon/admin/tools.ts';
import { noteAudit } from '../../daemon/admin/who.ts';
import { EXIT, failed, usageError } from '../cli-error.ts';
import type { CommandRecord, OptionValues } from '../command.ts';
import { configLocation } from '../config-location.ts';
import { messageTraces } from '../message-traces.ts';
import { replayInWords, replayView } from '../replay-view.ts';
import { confirm } from '../terminal.ts';
import { wholeNumber } from '../typed-values.ts';
import { withStore } from '../with-store.ts';

export const command: CommandRecord = {
  description: [
    'Runs the agent again on the recording of a message (RECORD_RUNS): with the same history, memory, person and time, and with the settings of now. Shows both answers and both lists of calls side by side. Exit code 1 if an answer or a list of calls differs.',
    'A tool call with the same name and arguments gets its recorded result. Another call that reads is answered `not recorded`; with --live-reads it is made, with the default credentials and reduced to the public fields. A call that writes is never made: it gets its recorded result, or is held. Nothing is sent to the person, stored, or counted toward AGENT_DAILY_TOKENS. The model itself is called, and AGENT_FALLBACK_MODEL is not used.',
    'ID is the id of a message with or without its channel, of a turn or of a request, as `agentd explain` shows it. The command adds a line to the audit log.',
  ].join('\n\n'),
  args: { '<id>': 'id of a message, a turn or a request' },
  options: {
    '--model <model>':
      'try this model instead of AGENT_MODEL; another provider must be confirmed, or takes --yes',
    '--instructions <file>': { sentence: 'try the instructions in this file', values: 'file' },
    '--live-reads': 'make calls that read and were not recorded, with the default credentials',
    '--times <n>': { sentence: 'how often to run, 1 to 100', default: 1 },
    '--yes': 'do not ask before the conversation is sent to another provider',
  },
  examples: {
    'agentd replay 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d': 'Compares a recorded answer with one of now.',
    'agentd replay "$ID" --instructions new.md --times 5': 'Tries changed instructions five times.',
  },
  json: true,
  async run({ args: [id = ''], options, out }) {
    const times = wholeNumber('--times', options.times, { min: 1, max: 100 });
    const changes = await changesOf(options);
    const configuration = await readConfiguration(configLocation(options));
    expectModel(configuration.settings, changes);
    const settings = replaySettings(configuration.settings, changes);
    const { recording, recorded } = await withStore(
      options,
      (store) => readRecording(id, store, configuration.settings),
      'links',
    );
    await askAboutProvider(newProvider(settings, configuration.settings, recorded), options.yes === true);
    const log = operatorLog(out.note);
    const replayed = await withRegistry(
      configuration,
      (registry) =>
        replayTimes(recorded, times, {
          ...{ configuration, settings, registry, log },
          live_reads: options.liveReads === true,
        }),
      { log },
    );
    const view = replayView(recording, recorded, replayed);
    out.data(view, () => replayInWords(view, out));
    return view.differs ? EXIT.no : EXIT.ok;
  },
};

async function changesOf({ model, instructions }: OptionValues): Promise<ReplayChanges> {
  const file = typeof instructions === 'string' ? resolve(instructions) : undefined;
  if (file !== undefined && !(await stat(file).catch(() => null))?.isFile())
    throw usageError(
      `there is no file ${printable(file)}`,
      'Pass the path of a text file to --instructions.',
    );
  return { model: typeof model === 'string' ? model : undefined, instructions: file };
}

function expectModel({ AGENT_RUNTIME }: Settings, { model }: ReplayChanges): void {
  const isModule = AGENT_RUNTIME !== undefined && AGENT_RUNTIME !== 'llm' && AGENT_RUNTIME !== 'builtin';
  if (model === undefined || !isModule) return;
  throw usageError(
    '--model has no effect: AGENT_RUNTIME is a module, which chooses its model itself',
    'Leave --model out.',
  );
}

/**
 * Finds and opens a recording, and writes the line of the audit log. @throws CliError (1) that says what is missing
 */
async function readRecording(
  id: string,
  store: Store,
  settings: Settings,
): Promise<{ recording: Recording; recorded: RecordedRun }> {
  const recording = await store.recordings.find(id);
  if (recording === null) throw await nothingRecorded(id, store, settings);
  const { seal } = await openAdministratorSeal(settings);
  const recorded = await openRecording(seal, recording);
  const about = recording.turn_id;
  if (recorded === null)
    throw failed(
      `the recording of ${printable(about)} cannot be opened: no key here opens it`,
      'Run the command with the STATE_DIR or the TOKEN_ENCRYPTION_KEY of the daemon. A recording is not sealed again when a key is removed.',
    );
  await noteAudit(store, { command: 'replay', about, who: recordedWho(recording, recorded) });
  return { recording, recorded };
}

async function nothingRecorded(id: string, store: Store, settings: Settings): Promise<Error> {
  const { shown } = await messageTraces(store, { id }, 1);
  const days = `${settings.TRACE_RETENTION_DAYS} days (TRACE_RETENTION_DAYS)`;
  if (shown.length === 0)
    return failed(
      `nothing is known about '${printable(id)}': no trace and no recording`,
      `Both are kept for ${days}. Find the id with \`agentd explain\`. Check that this is the STATE_DIR of the daemon.`,
    );
  const why = {
    off: 'Runs are not recorded: RECORD_RUNS is off. Set it to `all` or `flagged`, restart the daemon, and let the person ask again.',
    flagged:
      'RECORD_RUNS is `flagged`: a recording is deleted after 24 hours unless the run failed, had a warning, or its answer was marked.',
    all: `Recordings are kept for ${days}, and the oldest are deleted beyond RECORDINGS_MAX_BYTES. A message that was answered without a run, or before RECORD_RUNS was set, has none.`,
  };
  return failed(
    `there is a trace of '${printable(id)}', but no recording of its run`,
    why[settings.RECORD_RUNS],
  );
}

async function askAboutProvider(provider: string | null, yes: boolean): Promise<void> {
  if (provider === null || yes) return;
  const answer = await confirm(
    `Send the recorded conversation to ${printable(provider)}, which the recorded run did not use?`,
  );
  if (answer === true) return;
  if (answer === null)
    throw usageError(
      `the recorded conversation would be sent to ${printable(provider)}, which the recorded run did not use, and there is no terminal to ask on`,
      'Pass --yes.',
    );
  throw failed('not run');
}
