_zoo_words() {
    local -a possible
    possible=("${(@f)$("${(@)argv[2,-1]}" completion words -- "${(@)words[$1,CURRENT]}" 2>/dev/null)}")
    possible=(${possible:#})
    if (( $#possible )); then compadd -S '' -a -- possible; else _files; fi
}
_zoo() { _zoo_words 2 zoo; }
_zoo_python() {
    if [[ $words[2] == -m && $words[3] == zoo ]]; then _zoo_words 4 "$words[1]" -m zoo; else _files; fi
}
compdef _zoo zoo
compdef _zoo_python python python3
