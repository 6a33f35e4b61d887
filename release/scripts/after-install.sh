#!/bin/sh
# Starts the service again if an upgrade has stopped it. A first installation starts nothing, because it has no sources.
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    if [ -e /run/navlin.restart ]; then
        rm /run/navlin.restart
        systemctl start navlin || echo "navlin did not start again: see journalctl -u navlin" >&2
    fi
fi
