#!/bin/sh
# Looks at what was written, and says what is wrong with it.
file=$(sed 's/.*"path":"\([^"]*\)".*/\1/')
grep -n "TBD" "$file" && echo "say it, or leave it out" && exit 1
grep -n "very" "$file"
exit 0
