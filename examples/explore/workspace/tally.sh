#!/bin/sh
# tally.sh LOG: how many entries the log has of each kind.
cut -d ' ' -f 2 "$1" | sort | uniq -c
