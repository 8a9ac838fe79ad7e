#!/bin/sh
test -e report.md || { echo "report.md is missing"; exit 1; }
