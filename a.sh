#!/bin/sh -e
echo "$0 $# $2"
false
echo no
