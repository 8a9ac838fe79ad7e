#!/bin/sh
echo "Hello"
