
# The words of the command behind `run` and `compat TOOL`, and nothing before it begins.
function __fish_plimsoll_command
    set -l words (commandline -opc)
    set -l values
    switch "$words[2..3]"
@CASES@
        case '*'
            return 1
    end
    while set -q words[1]
        switch $words[1]
            case --
                set -e words[1]
                break
            case '-*'
                contains -- $words[1] $values
                and set -e words[1]
                set -e words[1]
            case '*'
                break
        end
    end
    string escape -- $words
    return 0
end

function __fish_plimsoll_command_words
    set -l words (__fish_plimsoll_command)
    or return
    set -l current (commandline -ct)
    set -q words[1]
    or not string match -q -- '-*' $current
    and complete -C (string join -- ' ' $words $current)
end

functions -c __fish_plimsoll_using_subcommand __fish_plimsoll_using_verb
function __fish_plimsoll_using_subcommand
    set -l words (__fish_plimsoll_command)
    not set -q words[1]
    and __fish_plimsoll_using_verb $argv
end

complete -c plimsoll -n "__fish_plimsoll_using_verb run compat" -f -a "(__fish_plimsoll_command_words)"
