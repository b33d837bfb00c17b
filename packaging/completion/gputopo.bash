# bash completion for gputopo: commands, options, models and benchmarks come from the command itself, so they are always
# this version's.
_gputopo() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words= before=
  local command=${COMP_WORDS[1]}
  # bash takes "sim:h200" for three words.
  [[ $current == : ]] && current='' previous=:
  case $previous in
    --format)
      case $command in
        compare | devices | analyze) words='table json' ;;
        bench) words='table json csv html' ;;
        *) words='table json csv markdown html' ;;
      esac ;;
    --method) words='default thesis' ;;
    --attribute) words='size line_size fetch_granularity latency' ;;
    --device) words="auto cuda:0 $(gputopo models 2>/dev/null | awk '/^[a-z0-9]/ { print "sim:" $1 }')" ;;
    --truth | :) words=$(gputopo models 2>/dev/null | awk '/^[a-z0-9]/ { print $1 }') ;;
    --only)
      # The last of a list, behind those that are there.
      [[ $current == *,* ]] && before=${current%,*},
      words='l1 texture read_only constant_l1 constant_l1_5 l2 shared device_memory instruction_l0 instruction_l1 instruction_l1_5 instruction_l2 tlb_l1 tlb_l2 tlb_l3' ;;
    -o | --output | --record | --evidence | --hwloc-xml | --mt4g | --prometheus)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return ;;
  esac
  if [[ -z $words ]]; then
    if [[ $current == -* ]]; then
      ((COMP_CWORD == 1)) && command=
      words=$(gputopo $command --help 2>/dev/null | awk '/^ +-/ { if (match($0, /--[a-z][a-z0-9-]*/)) print substr($0, RSTART, RLENGTH) }')
    elif ((COMP_CWORD == 1)); then
      words=$(gputopo --help 2>/dev/null | awk '/^[A-Z]/ { listed = /^Subcommands:/ } listed && /^  [a-z]/ { print $1 }')
    elif [[ $command == bench ]]; then
      words=$(gputopo bench --list 2>/dev/null | awk '/^[a-z]/ && !seen[$1]++ { print $1 }')
    else
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
    fi
  fi
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "${current#"$before"}")
  return 0
}
complete -o filenames -F _gputopo gputopo
