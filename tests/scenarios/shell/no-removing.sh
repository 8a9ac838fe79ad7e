#!/bin/sh
if grep -q '"command":"rm '; then
  echo "nothing is removed here"
  exit 1
fi
