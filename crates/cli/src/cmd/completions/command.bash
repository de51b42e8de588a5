
# The words of the command behind `run` and `compat TOOL` are completed as its own.
_plimsoll() {
    local at=0 values ended=0 cur=${COMP_WORDS[COMP_CWORD]}
    case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
@CASES@
    esac
    while (( at > 0 && at < COMP_CWORD && ! ended )); do
        case ${COMP_WORDS[at]} in
            --) ended=1 ;;
            -*) [[ " $values " == *" ${COMP_WORDS[at]} "* && ${COMP_WORDS[at + 1]} != "=" ]] && (( at++ )) ;;
            *) break ;;
        esac
        (( at++ ))
        # What readline parts a word at.
        while (( ! ended )) && [[ ${COMP_WORDS[at]} == [=:]* ]]; do
            (( at += 2 ))
        done
    done
    if (( at == 0 || at > COMP_CWORD )) || { (( at == COMP_CWORD && ! ended )) && [[ -z $cur || $cur == -* ]]; }; then
        _plimsoll_words "$@"
    elif declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$at"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$at"
    elif (( at == COMP_CWORD )); then
        COMPREPLY=( $(compgen -c -- "$cur") )
    else
        COMPREPLY=( $(compgen -f -- "$cur") )
    fi
}

_plimsoll_words() {
    local cur=${COMP_WORDS[COMP_CWORD]} at=$COMP_CWORD
    # Back to the option whose value this is.
    while (( at > 1 )) && [[ ${COMP_WORDS[at - 1]} == "=" || ${COMP_WORDS[at]} == "=" ]]; do
        (( at-- ))
    done
    if [[ ${COMP_WORDS[at]} == --limit || ${COMP_WORDS[at - 1]} == --limit ]]; then
        local option=$at
        [[ ${COMP_WORDS[at]} == --limit ]] || option=$(( at - 1 ))
        compopt +o default +o bashdefault 2>/dev/null
        COMPREPLY=()
        # Behind NAME= only a person knows.
        [[ ${COMP_WORDS[option + 1]} == "=" ]] && (( option++ ))
        if (( COMP_CWORD == option + 1 || COMP_CWORD == option )); then
            COMPREPLY=( $(compgen -W "@LIMITS@" -- "${cur#=}") )
            compopt -o nospace 2>/dev/null
        fi
    else
        _plimsoll_options "$@"
    fi
}
