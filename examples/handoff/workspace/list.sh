#!/bin/sh
# Lists the backups, and how long they stay.
. ./settings
ls backups
echo "kept for $days days"
