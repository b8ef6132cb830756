import { type OptionWords, type ValueKind, type Vocabulary, valueCases, type Word } from './vocabulary.ts';

/** The completion script for bash 3.2 and later, with or without the package bash-completion. */
function bashCompletion(vocabulary: Vocabulary): string {
  const { commands, paths, valued } = vocabulary;
  const words = commands.map(({ at, next, options }) => {
    const flags = options.flatMap((option) => option.flags);
    return `    '${at}') next='${next.map(({ word }) => word).join(' ')}' flags='${flags.join(' ')}' ;;`;
  });
  const values = valueCases(vocabulary).map(({ patterns, kind }) => {
    const set = typeof kind === 'string' ? `kind=${kind}` : `kind=words words='${kind.join(' ')}'`;
    return `    ${patterns.join(' | ')}) ${set} ;;`;
  });
  return `# Completion of agentd for bash, made by \`agentd completion bash\`.

_agentd() {
  local cur=\${COMP_WORDS[COMP_CWORD]} at='' option='' literal='' place=1
  local next='' flags='' words='' kind='' word i

  # Find the command, and the position of the current word.
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $option ]]; then
      # bash splits --level=warn into three words.
      [[ $word == '=' ]] || option=''
    elif [[ -z $literal && $word == '--' ]]; then
      literal=1
    elif [[ -z $literal && $word == -?* ]]; then
      case $word in
        ${valued.join(' | ')}) option=$word ;;
      esac
    else
      case "$literal$place:\${at:+$at }$word" in
        ${paths.map((path) => `'1:${path}'`).join(' | ')}) at="\${at:+$at }$word" ;;
        *) ((place++)) ;;
      esac
    fi
  done

  case $at in
${words.join('\n')}
  esac
  [[ -n $literal ]] && flags=''

  if [[ -n $option ]]; then
    [[ $cur == '=' ]] && cur=''
    place=$option kind=free next=''
  fi
  case "$at:$place" in
${values.join('\n')}
  esac
  [[ $place == 1 ]] || next=''

  COMPREPLY=()
  if [[ -z $option && -z $literal && $cur == -* ]]; then
    kind=words words=$flags
  elif [[ -z $kind || $kind == words ]]; then
    words="$next $words"
    # Without other candidates, offer the options.
    [[ -z \${words// /} && -z $kind && -z $cur ]] && words=$flags
    kind=words
  fi
  case $kind in
    words)
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$cur")
      ;;
    file | directory)
      compopt -o filenames 2>/dev/null
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "-\${kind:0:1}" -- "$cur")
      ;;
  esac
}

complete -F _agentd agentd
`;
}

/** The completion script for zsh 5. It is sourced after compinit, or stored as `_agentd` in a folder of fpath. */
function zshCompletion(vocabulary: Vocabulary): string {
  const { commands, paths, valued } = vocabulary;
  const words = commands.map(({ at, next, options }) => {
    const flags = options.flatMap((option) =>
      option.flags.map((word) => ({ word, sentence: option.sentence })),
    );
    return `    ('${at}')
      next=(${next.map(describeWord).join(' ')})
      flags=(${flags.map(describeWord).join(' ')})
      ;;`;
  });
  const values = valueCases(vocabulary).map(({ patterns, kind }) => {
    const set = typeof kind === 'string' ? `kind=${kind}` : `kind=words values=(${kind.join(' ')})`;
    return `    (${patterns.join('|')}) ${set} ;;`;
  });
  return `#compdef agentd
# Completion of agentd for zsh, made by \`agentd completion zsh\`.

_agentd() {
  local at='' option='' literal='' place=1 kind='' word
  local -i i
  local -a next flags values

  # Find the command, and the position of the current word.
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    if [[ -n $option ]]; then
      option=''
    elif [[ -z $literal && $word == '--' ]]; then
      literal=1
    elif [[ -z $literal && $word == -?* ]]; then
      case $word in
        (${valued.join('|')}) option=$word ;;
      esac
    else
      case "$literal$place:\${at:+$at }$word" in
        (${paths.map((path) => `'1:${path}'`).join('|')}) at="\${at:+$at }$word" ;;
        (*) ((place++)) ;;
      esac
    fi
  done

  case $at in
${words.join('\n')}
  esac

  if [[ -z $option && -z $literal && $PREFIX == --*=* ]]; then
    option=\${PREFIX%%=*}
    compset -P 1 '*='
  fi
  if [[ -n $option ]]; then
    place=$option kind=free
  fi
  case "$at:$place" in
${values.join('\n')}
  esac

  if [[ -z $option && -z $literal && $PREFIX == -* ]]; then
    _describe -o option flags
    return
  fi
  local -i ret=1
  if [[ $place == 1 && $#next -gt 0 ]]; then
    _describe -t commands command next && ret=0
  fi
  case $kind in
    (words) compadd -a values && ret=0 ;;
    (file) _files && ret=0 ;;
    (directory) _files -/ && ret=0 ;;
    ('')
      # Without other candidates, offer the options.
      if [[ -z $PREFIX && -z $literal && ( $place != 1 || $#next -eq 0 ) ]]; then
        _describe -o option flags && ret=0
      fi
      ;;
  esac
  return ret
}

if [[ $funcstack[1] == _agentd ]]; then
  _agentd "$@"
else
  compdef _agentd agentd
fi
`;
}

function describeWord({ word, sentence }: Word): string {
  return `'${word}:${sentence.replaceAll("'", `'\\''`)}'`;
}

/** The completion script for fish 3 and later. */
function fishCompletion({ commands, paths, valued }: Vocabulary): string {
  const [program] = commands;
  const common = new Set(program?.options.map(({ flags }) => flags.join()));
  const lines = commands.flatMap(({ at, next, options, args }) => [
    ...next.map(({ word, sentence }) => offer(at, 1, `-a ${word} -d ${quoteText(sentence)}`)),
    ...args.flatMap((kind, index) => (kind === 'free' ? [] : [offer(at, index + 1, valuesFor(kind))])),
    ...options
      .filter(({ flags }) => at === '' || !common.has(flags.join()))
      .map((option) => `complete -c agentd ${at === '' ? '' : `-n ${when(at)} `}${formatOption(option)}`),
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

function formatOption({ flags, sentence, value }: OptionWords): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const taken = value === null ? [] : [value === 'file' ? '-r' : '-x', valuesFor(value)];
  return [...names, ...taken, `-d ${quoteText(sentence)}`].filter(Boolean).join(' ');
}

function valuesFor(kind: ValueKind): string {
  if (kind === 'free') return '';
  if (kind === 'file') return '-F';
  if (kind === 'directory') return `-a '(__fish_complete_directories)'`;
  return `-a '${kind.join(' ')}'`;
}

function quoteText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Makes the script of each shell. */
export const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
