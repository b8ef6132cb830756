import { commit, storeLayout, version } from '../../daemon/admin/program.ts';
import { defineCommand } from '../command.ts';

export const command = defineCommand({
  ignoresDev: true,
  description:
    '`commit` is the commit from which the program was built, with `-dirty` if files were changed. `layout` names the tables of the embedded store. Versions with the same layout can use the same store; a store of another layout is refused. The command reads no settings, and does not contact the daemon or its store. `agentd --version` prints only the version of agentd.',
  examples: {
    'agentd version': 'Prints the versions, for a bug report.',
    'agentd version --json':
      'Prints the versions for a script, for example to compare layouts before a change of the version.',
  },
  json: true,
  async run({ out }) {
    const { platform, arch, version: node } = process;
    const versions = {
      version: version(),
      commit: commit(),
      node,
      layout: await storeLayout(),
      platform,
      arch,
    };
    out.data(versions, () =>
      [
        `agentd    ${versions.version}`,
        `commit    ${versions.commit ?? 'unknown'}`,
        `Node.js   ${node}`,
        `layout    ${versions.layout}`,
        `platform  ${platform} ${arch}`,
      ].join('\n'),
    );
  },
});
