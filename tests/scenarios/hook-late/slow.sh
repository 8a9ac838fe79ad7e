#!/bin/sh
echo "thinking about it"
sleep 60
