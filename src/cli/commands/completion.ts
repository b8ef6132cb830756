import type { Command } from '../command.ts';
import { bashCompletion } from '../completion/bash.ts';
import { fishCompletion } from '../completion/fish.ts';
import { readVocabulary } from '../completion/vocabulary.ts';
import { zshCompletion } from '../completion/zsh.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
const SHELLS = Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[];

export const command: Command = {
  name: 'completion',
  summary: 'Print a script with which a shell completes the commands of agentd.',
  ignoresDev: true,
  description:
    'Commands, options, and the values that are known beforehand: names of bundled channels, levels of the log, and the like. It is made of what this version takes: make it anew after an update, or have each start of the shell do so (`source <(agentd completion bash)` in `~/.bashrc`). In zsh it is read after `compinit`, or kept as `_agentd` in a folder of `fpath`. No settings are read, and nothing is asked of the daemon or its store.',
  args: [{ name: 'shell', sentence: SHELLS.join(', '), required: true, values: SHELLS }],
  examples: [
    {
      line: 'agentd completion bash > ~/.local/share/bash-completion/completions/agentd',
      does: 'Keeps it where bash looks, with the package bash-completion.',
    },
    {
      line: 'agentd completion zsh > ~/.zfunc/_agentd',
      does: 'Keeps it in a folder of `fpath`.',
    },
    {
      line: 'agentd completion fish > ~/.config/fish/completions/agentd.fish',
      does: 'Keeps it where fish looks.',
    },
  ],
  async run({ args: [shell = ''], out }) {
    const name = SHELLS.find((known) => known === shell);
    if (name === undefined)
      throw new CliError(
        EXIT.usage,
        `there is no completion for '${shell}'`,
        `There is for ${SHELLS.join(', ')}.`,
      );
    out.write(SCRIPTS[name](await readVocabulary()));
    return EXIT.ok;
  },
};
