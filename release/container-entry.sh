#!/bin/sh
# Runs navlin as any user. Hadoop's classes need a name for the user, which one chosen by the platform may not have.
set -eu
if ! getent passwd "$(id -u)" > /dev/null; then
    printf 'navlin:x:%s:%s:navlin:/var/lib/navlin:/usr/sbin/nologin\n' "$(id -u)" "$(id -g)" > /tmp/passwd
    export NSS_WRAPPER_PASSWD=/tmp/passwd NSS_WRAPPER_GROUP=/etc/group LD_PRELOAD=libnss_wrapper.so
fi
exec /usr/bin/navlin "$@"
