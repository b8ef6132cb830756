import { existsSync, readFileSync } from 'node:fs';
import { usageError } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { SCRIPTS } from '../completion/scripts.ts';
import { readVocabulary } from '../completion/vocabulary.ts';

const SHELLS = Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[];

export const command = defineCommand({
  ignoresDev: true,
  description:
    'The script completes commands, options, and known values such as names of bundled channels and log levels. It is made for this version: create it again after an update, or have the shell do so at each start (`source <(agentd completion bash)` in `~/.bashrc`). In zsh, load it after `compinit`, or store it as `_agentd` in a folder of `fpath`. This command reads no settings, and does not contact the daemon or its store.',
  args: { '<shell>': { sentence: SHELLS.join(', '), values: SHELLS } },
  examples: {
    'agentd completion bash > ~/.local/share/bash-completion/completions/agentd':
      'Stores the script for bash, if the package bash-completion is installed.',
    'agentd completion zsh > ~/.zfunc/_agentd': 'Stores the script in a folder of `fpath`.',
    'agentd completion fish > ~/.config/fish/completions/agentd.fish': 'Stores the script for fish.',
  },
  async run({ args: [shell = ''], out }) {
    const name = SHELLS.find((known) => known === shell);
    if (name === undefined)
      throw usageError(`there is no completion for '${shell}'`, `Use one of: ${SHELLS.join(', ')}.`);
    out.write(readBuilt(name) ?? SCRIPTS[name](await readVocabulary()));
  },
});

/**
 * The script that the build has written next to the built module, because shells ask for it at each start, and it takes
 * all commands to make one. Null if this is the source.
 */
function readBuilt(shell: string): string | null {
  const file = new URL(`../completion/agentd.${shell}`, import.meta.url);
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}
