import { openRecording, type RecordedRun, type Recording, recordedWho } from '../daemon/admin/replay.ts';
import type { Settings } from '../daemon/admin/settings.ts';
import type { Store } from '../daemon/admin/store.ts';
import { printable } from '../daemon/admin/texts.ts';
import { noteAudit } from '../daemon/admin/who.ts';
import { failed } from './cli-error.ts';
import type { OptionValues } from './command.ts';
import { messageTraces } from './message-traces.ts';
import { wholeId } from './names/whole-id.ts';
import { withSealedStore } from './with-store.ts';

/**
 * Finds and opens a recording, and writes the line of the audit log. @throws CliError (1) that says what is missing
 */
export async function readRecording(
  given: string,
  { settings, command, options }: { settings: Settings; command: string; options: OptionValues },
): Promise<{ recording: Recording; recorded: RecordedRun }> {
  return withSealedStore(options, async (store, seal) => {
    const isKnown = async (one: string) => (await store.recordings.find(one)) !== null;
    const id = await wholeId(store, { kinds: ['recording'], given, options, isKnown });
    const recording = await store.recordings.find(id);
    if (recording === null) throw await nothingRecorded(id, store, settings);
    const recorded = await openRecording(seal, recording);
    const about = recording.turn_id;
    if (recorded === null)
      throw failed(
        `the recording of ${printable(about)} cannot be opened: no key here opens it`,
        'Run the command with the STATE_DIR or the TOKEN_ENCRYPTION_KEY of the daemon. A recording is not sealed again when a key is removed.',
      );
    await noteAudit(store, { command, about, who: recordedWho(recording, recorded) });
    return { recording, recorded };
  });
}

async function nothingRecorded(id: string, store: Store, settings: Settings): Promise<Error> {
  if ((await store.sessions.find(id)) !== null)
    return failed(
      `'${printable(id)}' is a session, and a recording is of one message`,
      `Name a request of the session; \`agentd explain ${printable(id)}\` shows them.`,
    );
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
