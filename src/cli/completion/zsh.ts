import { valueCases } from './value-cases.ts';
import type { Vocabulary, Word } from './vocabulary.ts';

/** The completion script for zsh 5. It is sourced after compinit, or stored as `_agentd` in a folder of fpath. */
export function zshCompletion(vocabulary: Vocabulary): string {
  const { commands, valued } = vocabulary;
  const paths = commands.map(({ at }) => at).filter((at) => at !== '');
  const words = commands.map(({ at, next, options }) => {
    const flags = options.flatMap((option) =>
      option.flags.map((word) => ({ word, sentence: option.sentence })),
    );
    return `    ('${at}')
      next=(${next.map(described).join(' ')})
      flags=(${flags.map(described).join(' ')})
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

function described({ word, sentence }: Word): string {
  return `'${word}:${sentence.replaceAll("'", `'\\''`)}'`;
}
