import { commit, version } from '../../daemon/version.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';

export const command: Command = {
  name: 'version',
  summary: 'Print the versions of the program, its runtime and its store, its commit, and the platform.',
  ignoresDev: true,
  description:
    '`commit` is the commit from which the program was built, with `-dirty` if files were changed. `schema` is the version of the schema of the embedded store. A store with a higher schema was written by a later version of agentd, and this version refuses to open it. The command reads no settings, and does not contact the daemon or its store. `agentd --version` prints only the version of agentd.',
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
    const versions = {
      version: version(),
      commit: commit(),
      node,
      schema: await storeSchema(),
      platform,
      arch,
    };
    out.data(versions, () =>
      [
        `agentd    ${versions.version}`,
        `commit    ${versions.commit ?? 'unknown'}`,
        `Node.js   ${node}`,
        `schema    ${versions.schema}`,
        `platform  ${platform} ${arch}`,
      ].join('\n'),
    );
    return EXIT.ok;
  },
};
