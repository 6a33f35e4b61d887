#!/bin/sh
# Installs navlin on a host without internet, from the folder of this file: ./install.sh [PREFIX], by default /opt/navlin.
# It is also the upgrade: the configuration and the state stay. PYTHON names the Python, if it is not python3.11.
set -eu
# The service's user reads what root installs, whatever root's own umask is.
umask 022

prefix=${1:-/opt/navlin}
state=/var/lib/navlin
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
python=${PYTHON:-}

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

[ "$(id -u)" = 0 ] || fail "run this as root: it creates a user and a service"
case $prefix in
    /*) ;;
    *) fail "$prefix is no absolute path" ;;
esac
cd "$here"
sha256sum --check --quiet SHA256SUMS || fail "the bundle is damaged: copy it again"
if [ -z "$python" ]; then
    python=$(command -v python3.11) || fail "there is no python3.11: install it (Debian: python3 and python3-venv of bookworm;
RHEL 8 and 9: python3.11), or name one by PYTHON"
fi
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' ||
    fail "the wheels are for Python 3.11, and $python is another version"
"$python" -c 'import ensurepip, venv' 2> /dev/null ||
    fail "$python has no venv module (Debian: install python3-venv)"
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
version=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
[ "${version:-0}" -ge 17 ] || fail "there is no Java 17 or newer: install a runtime (JRE), or set JAVA_HOME"
# The environment is made anew, so nothing else may be in its folder.
if [ -n "$(ls -A "$prefix" 2> /dev/null)" ] && [ ! -e "$prefix/pyvenv.cfg" ]; then
    fail "$prefix holds something else: name a folder that is new, empty, or of an earlier installation"
fi

getent group navlin > /dev/null || groupadd --system navlin
getent passwd navlin > /dev/null ||
    useradd --system --gid navlin --home-dir "$state" --no-create-home --shell /usr/sbin/nologin navlin
running=
if [ -d /run/systemd/system ] && systemctl --quiet is-active navlin; then
    running=yes
    systemctl stop navlin
fi

echo "installing into $prefix"
"$python" -m venv --clear "$prefix"
"$prefix/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps wheels/*.whl
mkdir -p "$prefix/jars" /usr/local/bin "$prefix/share"
cp -r jars/solr "$prefix/jars/solr"
cp -r prometheus systemd manual conf *.json "$prefix/share/"
chmod -R go+rX "$prefix"
ln -sf "$prefix/bin/navlin" /usr/local/bin/navlin

install -d -m 0755 /etc/navlin
[ -e /etc/navlin/navlin.toml ] || install -m 0640 -g navlin conf/navlin.toml /etc/navlin/navlin.toml
install -d -m 0700 -o navlin -g navlin "$state"
if [ -d /etc/systemd/system ]; then
    sed "s|/opt/navlin|$prefix|g" systemd/navlin.service > /etc/systemd/system/navlin.service
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    [ -z "$running" ] || systemctl start navlin
fi
echo "installed navlin $("$prefix/bin/navlin" --version). Edit /etc/navlin/navlin.toml, then: systemctl enable --now navlin"
