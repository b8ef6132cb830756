import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { operatorLog } from '../../daemon/admin/operator-call.ts';
import {
  newProvider,
  type RecordedRun,
  type ReplayChanges,
  replaySettings,
  replayTimes,
  settingsOfAgent,
} from '../../daemon/admin/replay.ts';
import { type Configuration, readConfiguration, type Settings } from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { withRegistry } from '../../daemon/admin/tools.ts';
import { EXIT, usageError } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';
import { namedAgent } from '../names/named-agent.ts';
import { wholeNumber } from '../names/typed-values.ts';
import { readRecording } from '../recorded-run.ts';
import { expectConsent } from '../terminal.ts';
import { replayInWords, replayView } from '../views/replay-view.ts';

export const command = defineCommand({
  description: [
    'Runs the agent again on the recording of a message (RECORD_RUNS): with the same history, memory, person and time, and with the settings of now. Shows both answers and both lists of calls side by side. Exit code 1 if an answer or a list of calls differs.',
    'A tool call with the same name and arguments gets its recorded result. Another call that reads is answered `not recorded`; with --live-reads it is made, with the default credentials and reduced to the public fields. A call that writes is never made: it gets its recorded result, or is held. Nothing is sent to the person, stored, or counted toward AGENT_DAILY_TOKENS. The model itself is called, and AGENT_FALLBACK_MODEL is not used.',
    'If the configuration lists several agents, the one that answered runs again, with its instructions, tools and model; --agent tries another one.',
    'ID is the id of a message with or without its channel, of a turn or of a request, as `agentd explain` shows it. The command adds a line to the audit log.',
  ].join('\n\n'),
  args: { '<id>': 'id of a message, a turn or a request' },
  options: {
    '--agent <name>': 'try this agent instead of the one that answered',
    '--model <model>':
      'try this model instead of that of the agent; another provider must be confirmed, or takes --yes',
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
    const changes = await readChanges(options);
    const configuration = await readConfiguration(configLocation(options));
    expectModel(configuration.settings, changes);
    const { recording, recorded } = await readRecording(id, {
      settings: configuration.settings,
      command: 'replay',
      options,
    });
    const entry = agentOfRun(configuration, recorded, options.agent);
    const configured = await settingsOfAgent(entry, configuration.settings);
    const settings = replaySettings(configured, changes);
    await askAboutProvider(newProvider(settings, configured, recorded), options.yes === true);
    const log = operatorLog(out.note);
    const replayed = await withRegistry(
      configuration,
      (registry) =>
        replayTimes(recorded, times, {
          configuration,
          entry,
          settings,
          registry,
          log,
          live_reads: options.liveReads === true,
        }),
      { log },
    );
    const view = replayView(recording, recorded, replayed);
    out.data(view, () => replayInWords(view, out));
    return view.differs ? EXIT.no : EXIT.ok;
  },
});

function agentOfRun(configuration: Configuration, { given }: RecordedRun, wanted: string | undefined) {
  if (wanted !== undefined) return namedAgent(configuration, wanted, '--agent names');
  return namedAgent(configuration, given.agent ?? '', 'the recorded run used the agent');
}

async function readChanges({ model, instructions }: Partial<ReplayChanges>): Promise<ReplayChanges> {
  const file = instructions === undefined ? undefined : resolve(instructions);
  if (file !== undefined && !(await stat(file).catch(() => null))?.isFile())
    throw usageError(
      `there is no file ${printable(file)}`,
      'Pass the path of a text file to --instructions.',
    );
  return { model, instructions: file };
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
 * Asks before texts go to another provider. @throws CliError (2) if there is nobody to ask, (1) if the answer is no
 * @param unlike why the provider is another one, after its name
 */
export async function askAboutProvider(
  provider: string | null,
  yes: boolean,
  { what, unlike } = { what: 'the recorded conversation', unlike: 'which the recorded run did not use' },
): Promise<void> {
  if (provider === null || yes) return;
  const whom = `${printable(provider)}, ${unlike}`;
  await expectConsent(`Send ${what} to ${whom}?`, {
    unasked: [`${what} would be sent to ${whom}, and there is no terminal to ask on`, 'Pass --yes.'],
    declined: 'not run',
  });
}
