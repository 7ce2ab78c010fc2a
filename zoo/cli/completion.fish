function __zoo_words
    set -l words (commandline -opc) (commandline -ct)
    if test "$words[2]" = -m -a "$words[3]" = zoo
        $words[1] -m zoo completion words -- $words[4..] 2>/dev/null
    else if test (basename $words[1]) = zoo
        zoo completion words -- $words[2..] 2>/dev/null
    end
end
complete -c zoo -a '(__zoo_words)'
for program in python python3
    complete -c $program -n 'string match -q -- "* -m zoo *" (commandline -pc)' -a '(__zoo_words)'
end
