import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadBundled } from '../../daemon/admin/channels.ts';
import { settingsReference } from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { failed } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { answersTo, type Interviewer, listChannels, QUESTION_OPTIONS } from '../init/answers.ts';
import {
  CONFIGURATION,
  chooseSecrets,
  type Form,
  hiddenFromService,
  nextSteps,
  plannedFiles,
} from '../init/planned-files.ts';
import type { Output } from '../output.ts';
import { fileExists, writeNewFiles } from '../scaffold.ts';
import { askTerminal } from '../terminal.ts';

const OTHER_DIRECTORY = 'Name another directory with --directory.';

export const command = defineCommand({
  ignoresDev: true,
  description: [
    'Writes agentd.yaml, which explains every setting, and .env (mode 0600) with secrets of 256 bits, and prints the commands that come next. On a terminal it asks some questions, and asks again if an answer is wrong; an option answers its question beforehand. With --yes, or without a terminal, the other questions get their defaults. Values that only a platform or a provider can give you are listed in .env as comments.',
    'With --secret-files, each secret is written to a separate file, which agentd.yaml names; use it for containers and Kubernetes. With --systemd, the units of the service and of its nightly backup are written as well; see agentd-deploy(7).',
    'If one of the files exists, nothing is written, and the exit code is 1.',
  ].join('\n\n'),
  options: {
    ...QUESTION_OPTIONS,
    '--directory <directory>': {
      sentence: 'target directory; default: the working directory, or /etc/agentd with --systemd',
      values: 'directory',
    },
    '--secret-files': 'write each secret to a separate file in secrets/ (mode 0700), and no .env',
    '--systemd':
      'write the files of a systemd service: the units, secrets as with --secret-files, and STATE_DIR=/var/lib/agentd',
    '-y, --yes': 'ask nothing',
  },
  examples: {
    'agentd init': 'Asks, and writes both files into the working directory.',
    'agentd init --yes --name Shop --origins https://www.example.com --directory .':
      'Writes both files without asking.',
    'agentd init --systemd --name Shop':
      'Asks the other questions, and writes the files of a service into /etc/agentd.',
  },
  json: true,
  async run({ options, out }) {
    const form = chooseForm(options);
    const directory = resolve(options.directory ?? (form === 'systemd' ? '/etc/agentd' : '.'));
    const configuration = join(directory, CONFIGURATION);
    // Nobody should answer the questions in vain.
    if (existsSync(configuration)) throw fileExists(configuration, OTHER_DIRECTORY);
    const loaded = await loadBundled();
    const plugins = loaded.plugins.map(({ plugin }) => plugin);
    const answers = await answersTo(options, plugins, interviewerFor(options, out));
    const channels = listChannels(answers, plugins);
    const reference = await settingsReference(plugins);
    const settings = reference.groups.flatMap(({ records }) => records);
    const secrets = chooseSecrets(answers, channels, settings);
    const plan = { directory, form, answers, channels, secrets, reference };
    const files = await plannedFiles(plan);
    await writeNewFiles(files, OTHER_DIRECTORY);
    const hidden = hiddenFromService(plan);
    if (hidden !== null) out.note(hidden);
    const paths = files.map(({ path }) => path);
    out.data({ files: paths }, () =>
      [...paths.map((path) => `wrote ${printable(path)}`), ...nextSteps(plan, process.cwd())].join('\n'),
    );
  },
});

/** Null if no questions should be asked, or there is no terminal to ask on. */
function interviewerFor({ yes }: { yes?: true }, { note }: Output): Interviewer | null {
  if (yes || process.stdin.isTTY !== true || process.stderr.isTTY !== true) return null;
  const ask = async (question: string) => {
    const answer = await askTerminal(question, process.stdin, process.stderr);
    if (answer === null) throw failed('nothing was written: the questions were not answered');
    return answer;
  };
  return { ask, note };
}

function chooseForm({ systemd, secretFiles }: { systemd?: true; secretFiles?: true }): Form {
  if (systemd) return 'systemd';
  return secretFiles ? 'secret-files' : 'env';
}
