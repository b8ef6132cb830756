import type { OptionWords, ValueKind, Vocabulary } from './vocabulary.ts';

/** The completion script for fish 3 and later. */
export function fishCompletion({ commands, valued }: Vocabulary): string {
  const paths = commands.map(({ at }) => at).filter((at) => at !== '');
  const [program] = commands;
  const common = new Set(program?.options.map(({ flags }) => flags.join()));
  const lines = commands.flatMap(({ at, next, options, args }) => [
    ...next.map(({ word, sentence }) => offer(at, 1, `-a ${word} -d ${quoted(sentence)}`)),
    ...args.flatMap((kind, index) => (kind === 'free' ? [] : [offer(at, index + 1, valuesFor(kind))])),
    ...options
      .filter(({ flags }) => at === '' || !common.has(flags.join()))
      .map((option) => `complete -c agentd ${at === '' ? '' : `-n ${when(at)} `}${optionOf(option)}`),
  ]);
  return `# Completion of agentd for fish, made by \`agentd completion fish\`.

# Is this the command of the line? If a position is given: is the current word at that position after the command?
function __agentd_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l at
    set -l place 1
    set -l option ''
    for word in $words
        if test -n "$option"
            set option ''
            continue
        end
        switch $word
            case ${valued.join(' ')}
                set option $word
            case '-*'
            case '*'
                if test $place -eq 1; and contains -- (string join ' ' $at $word) ${paths.map((path) => `'${path}'`).join(' ')}
                    set -a at $word
                else
                    set place (math $place + 1)
                end
        end
    end
    test "$argv[1]" = (string join ' ' $at | string collect --allow-empty); or return 1
    test (count $argv) -eq 1; or test $argv[2] -eq $place
end

complete -c agentd -f
${lines.join('\n')}
`;
}

function offer(at: string, place: number, what: string): string {
  return `complete -c agentd -n ${when(at, place)} ${what}`;
}

function when(at: string, place?: number): string {
  return `"__agentd_at '${at}'${place === undefined ? '' : ` ${place}`}"`;
}

function optionOf({ flags, sentence, value }: OptionWords): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const taken = value === null ? [] : [value === 'file' ? '-r' : '-x', valuesFor(value)];
  return [...names, ...taken, `-d ${quoted(sentence)}`].filter(Boolean).join(' ');
}

function valuesFor(kind: ValueKind): string {
  if (kind === 'free') return '';
  if (kind === 'file') return '-F';
  if (kind === 'directory') return `-a '(__fish_complete_directories)'`;
  return `-a '${kind.join(' ')}'`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
