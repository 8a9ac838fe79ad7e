#!/bin/sh
# Refuses to change what does not lie under the folder in $1.
grep -q "\"path\":\"$1" || { echo "only $1 may be changed" >&2; exit 1; }
