#!/bin/sh
# Creates the user, and stops the service before its files are replaced. dpkg and rpm both run this before they unpack.
set -e
getent group navlin > /dev/null || groupadd --system navlin
getent passwd navlin > /dev/null ||
    useradd --system --gid navlin --home-dir /var/lib/navlin --no-create-home --shell /usr/sbin/nologin navlin
if [ -d /run/systemd/system ] && systemctl --quiet is-active navlin; then
    : > /run/navlin.restart
    systemctl stop navlin
fi
