import { version } from '../../daemon/version.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';

export const command: Command = {
  name: 'version',
  summary: 'Print the versions of the program, its runtime and its store, and the platform.',
  ignoresDev: true,
  description:
    '`schema` is the version of the schema of the embedded store. A store with a higher schema was written by a later version of agentd, and this version refuses to open it. The command reads no settings, and does not contact the daemon or its store. `agentd --version` prints only the version of agentd.',
  examples: [
    { line: 'agentd version', does: 'Prints the versions, for a bug report.' },
    {
      line: 'agentd version --json',
      does: 'Prints the versions for a script, for example to compare schemas before a downgrade.',
    },
  ],
  json: true,
  async run({ out }) {
    const { storeSchema } = await import('../../daemon/store/open.ts');
    const { platform, arch, version: node } = process;
    const versions = { version: version(), node, schema: await storeSchema(), platform, arch };
    out.data(versions, () =>
      [
        `agentd    ${versions.version}`,
        `Node.js   ${node}`,
        `schema    ${versions.schema}`,
        `platform  ${platform} ${arch}`,
      ].join('\n'),
    );
    return EXIT.ok;
  },
};
