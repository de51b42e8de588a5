#!/bin/sh
# The sum of several tables of words.
set -eu
awk '{ sum[$1] += $2 } END { for (word in sum) print word "\t" sum[word] }' "$@" |
    sort -k2,2nr -k1,1
