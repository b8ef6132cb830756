import { version } from '../../daemon/version.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';

export const command: Command = {
  name: 'version',
  summary: 'Print the versions of the program, its runtime and its store, and the platform.',
  ignoresDev: true,
  description:
    'The schema is that of the embedded store: a store with a higher number was written by a later version of agentd, which this one refuses to open. It reads no settings, and does not contact the daemon or its store. `agentd --version` prints the version of agentd alone.',
  examples: [
    { line: 'agentd version', does: 'Prints the versions, for a bug report.' },
    {
      line: 'agentd version --json',
      does: 'Prints them for a script, which may compare schemas before a downgrade.',
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
