import { resolve } from 'node:path';
import { printable } from '../../daemon/printable.ts';
import { usageError } from '../cli-error.ts';
import type { Command, OptionValues } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { answersTo, listOf, QUESTIONS } from '../init/answers.ts';
import { nextSteps } from '../init/next-steps.ts';
import { type Form, plannedFiles } from '../init/planned-files.ts';
import { chooseSecrets } from '../init/secrets.ts';
import { writeAll } from '../init/write-all.ts';

export const command: Command = {
  name: 'init',
  summary: 'Write a configuration and an env file with generated secrets.',
  ignoresDev: true,
  description:
    'Writes agentd.yaml, which explains every setting, and .env (mode 0600) with secrets of 256 bits, and prints the commands that come next. On a terminal it asks five questions; an option answers its question beforehand, and --yes takes the defaults of the others, as does a run without a terminal. What only a platform or a provider can give is listed in .env as a comment. With --secret-files each secret is written to a file of its own, which agentd.yaml names, as containers and Kubernetes want them. With --systemd the units of the service and of its nightly backup are written as well; see agentd-deploy(7). Files that exist are not changed: then nothing is written, and the exit code is 1.',
  options: [
    ...QUESTIONS.map((one) => ({
      flags: `--${one.option} <value>`,
      sentence: `${one.question}${one.default === '' ? '' : ` (default: ${one.default})`}`,
    })),
    {
      flags: '--directory <directory>',
      sentence: 'target directory; default: the working directory, with --systemd /etc/agentd',
      values: 'directory',
    },
    {
      flags: '--secret-files',
      sentence: 'write each secret to a file of its own in secrets/ (mode 0700), and no .env',
    },
    {
      flags: '--systemd',
      sentence:
        'write the files of a service of systemd: --secret-files, the units, and STATE_DIR=/var/lib/agentd',
    },
    { flags: '-y, --yes', sentence: 'ask nothing' },
  ],
  examples: [
    { line: 'agentd init', does: 'Asks, and writes both files into the working directory.' },
    {
      line: 'agentd init --yes --name Shop --origins https://www.example.com --directory .',
      does: 'Writes them without a question.',
    },
    {
      line: 'agentd init --systemd --name Shop',
      does: 'Asks the other questions, and writes the files of a service into /etc/agentd.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const form = formOf(options);
    const directory = resolve(directoryOf(options, form));
    const { loadPlugins } = await import('../../daemon/plugin/load.ts');
    const { settingGroups } = await import('../../daemon/settings/reference.ts');
    const loaded = await loadPlugins({ entries: [], platforms: null, folders: [] });
    const plugins = loaded.plugins.map(({ plugin }) => plugin);
    const answers = await answersTo(options);
    const channels =
      answers.channels === ''
        ? plugins.filter(({ capabilities }) => capabilities.delivery !== 'push').map(({ name }) => name)
        : listOf(answers.channels);
    const unknown = channels.find((name) => !plugins.some((plugin) => plugin.name === name));
    if (unknown !== undefined) {
      const known = plugins.map(({ name }) => name).join(', ');
      throw usageError(`there is no channel '${printable(unknown)}'`, `The channels are ${known}.`);
    }
    const groups = settingGroups(plugins);
    const settings = groups.flatMap(({ records }) => records);
    const secrets = chooseSecrets(answers, channels, settings);
    const plan = { directory, form, answers, channels, secrets, groups };
    const files = await plannedFiles(plan);
    await writeAll(files);
    const paths = files.map(({ path }) => path);
    out.data({ files: paths }, () =>
      [...paths.map((path) => `wrote ${printable(path)}`), ...nextSteps(plan, process.cwd())].join('\n'),
    );
    return EXIT.ok;
  },
};

function formOf({ systemd, secretFiles }: OptionValues): Form {
  if (systemd === true) return 'systemd';
  return secretFiles === true ? 'secret-files' : 'env';
}

function directoryOf({ directory }: OptionValues, form: Form): string {
  if (typeof directory === 'string') return directory;
  return form === 'systemd' ? '/etc/agentd' : '.';
}
