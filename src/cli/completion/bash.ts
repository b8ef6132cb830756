import { valueCases } from './value-cases.ts';
import type { Vocabulary } from './vocabulary.ts';

/** The completion script for bash 3.2 and later, with or without the package bash-completion. */
export function bashCompletion(vocabulary: Vocabulary): string {
  const { commands, valued } = vocabulary;
  const paths = commands.map(({ at }) => at).filter((at) => at !== '');
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
