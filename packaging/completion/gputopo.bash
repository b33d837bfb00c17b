# bash completion for gputopo: commands and options come from its own --help, so they are always this version's.
_gputopo() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=
  local command=${COMP_WORDS[1]}
  # bash takes "sim:h200" for three words.
  [[ $current == : ]] && current='' previous=:
  case $previous in
    --format)
      [[ $command == compare || $command == devices || $command == analyze ]] && words='table json' ||
        words='table json csv markdown html' ;;
    --method) words='default thesis' ;;
    --attribute) words='size line_size fetch_granularity latency' ;;
    --device) words="auto cuda:0 $(gputopo models 2>/dev/null | awk 'NR > 1 && NF { print "sim:" $1 }')" ;;
    --truth | :) words=$(gputopo models 2>/dev/null | awk 'NR > 1 && NF { print $1 }') ;;
    --only) words='l1 texture read_only constant_l1 constant_l1_5 l2 shared device_memory instruction_l0 instruction_l1 instruction_l1_5 instruction_l2 tlb_l1 tlb_l2 tlb_l3' ;;
    -o | --output | --record | --evidence | --hwloc-xml | --mt4g | --prometheus)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return ;;
  esac
  if [[ -z $words ]]; then
    if ((COMP_CWORD == 1)); then
      words=$(gputopo --help 2>/dev/null | awk '/^ +[a-z]/ { print $1 } { while (match($0, /--[a-z][a-z0-9-]*/)) { print substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH) } }')
    elif [[ $current == -* ]]; then
      words=$(gputopo "$command" --help 2>/dev/null | awk '/^ +-/ { while (match($0, /--[a-z][a-z0-9-]*/)) { print substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH) } }')
    else
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
    fi
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  return 0
}
complete -o filenames -F _gputopo gputopo
