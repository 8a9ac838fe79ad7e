#!/bin/sh
# Deletes old backups.
find backups -name '*.tar' -mtime +7 -delete
