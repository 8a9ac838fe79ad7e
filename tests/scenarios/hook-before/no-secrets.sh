#!/bin/sh
# Refuses every call that names a secret file. What is asked is one line of JSON.
if grep -q '"path":"\.env"'; then
  echo "secrets are not for agents"
  exit 1
fi
