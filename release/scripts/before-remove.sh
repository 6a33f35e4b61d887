#!/bin/sh
# Stops the service before a removal. dpkg says "remove", rpm says how many versions stay. An upgrade has stopped it already.
set -e
case "$1" in
    remove | 0)
        if [ -d /run/systemd/system ]; then
            systemctl --quiet disable --now navlin || true
        fi
        ;;
esac
