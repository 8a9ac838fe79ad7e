#!/bin/sh
# Says who asks: the agent and its profile stand in the question.
sed 's/.*"agent":"\([^"]*\)","profile":"\([^"]*\)".*/\1 (\2) may not write/'
exit 1
