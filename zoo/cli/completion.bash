_zoo_words() {
    local IFS=$'\n' line="${COMP_LINE:0:COMP_POINT}" skip="$1"
    shift
    local -a words
    IFS=' ' read -r -a words <<< "$line"
    [[ "$line" == *' ' ]] && words+=("")
    COMPREPLY=($("$@" completion words -- "${words[@]:$skip}" 2>/dev/null))
    # The shell takes '=' for the end of a word, so only what follows it is replaced.
    local last="${words[-1]}"
    [[ "$last" == *=* ]] && COMPREPLY=("${COMPREPLY[@]#${last%%=*}=}")
    [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *[=.] ]] && compopt -o nospace
}
_zoo() { _zoo_words 1 zoo; }
_zoo_python() {
    if [[ "${COMP_WORDS[1]}" == -m && "${COMP_WORDS[2]}" == zoo ]]; then _zoo_words 3 "${COMP_WORDS[0]}" -m zoo; fi
}
complete -o default -o bashdefault -F _zoo zoo
complete -o default -o bashdefault -F _zoo_python python python3
