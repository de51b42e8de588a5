
_plimsoll_limits() {
    local -a limits=(@LIMITS@)
    compset -P '*,'
    if compset -P '*='; then
        _message VALUE
    else
        compadd -S '' -a limits
    fi
}
