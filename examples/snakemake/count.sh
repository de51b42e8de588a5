#!/bin/sh
# How often each word is in a text: one line a word, the most frequent first.
set -eu
tr -cs 'A-Za-z' '\n' < "$1" | tr 'A-Z' 'a-z' | sed '/^$/d' | sort | uniq -c |
    sort -k1,1nr -k2,2 | awk '{ print $2 "\t" $1 }'
