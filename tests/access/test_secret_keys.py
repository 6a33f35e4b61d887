"""Configuration keys of Hadoop, Hive and Spark that look like secrets, each classified as a secret or not."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest

from navlin.java import pyspark_jars
from navlin.model.redaction import is_secret, redact
from tests.conftest import fetched

LOOKS: Final = re.compile(
    r"passw|secret|token|credential|signature|(?:access|private|encryption|account)[._-]?key|(?<![a-z])sas(?![a-z])"
    r"|(?:zk|zookeeper)\.auth\Z",
    re.IGNORECASE,
)
"""Only keys that match this pattern are tested. It matches every existing key that holds a secret."""

SECRETS: Final = set(
    """
fs.adl.oauth2.credential fs.adl.oauth2.refresh.token fs.gs.auth.client.secret fs.gs.auth.refresh.token fs.s3a.access.key
fs.s3a.encryption.key fs.s3a.proxy.password fs.s3a.secret.key fs.s3a.session.token ha.zookeeper.auth
hadoop.security.group.mapping.ldap.bind.password hadoop.security.group.mapping.ldap.ssl.keystore.password hadoop.tokens
hadoop.zk.auth hadoop.zk.ssl.keystore.password hadoop.zk.ssl.truststore.password hive.druid.metadata.password
hive.metastore.keystore.password hive.metastore.truststore.password hive.server2.keystore.password
hive.server2.thrift.client.password hive.server2.webui.keystore.password javax.jdo.option.ConnectionPassword
spark.authenticate.secret spark.connect.authenticate.token ssl.server.keystore.keypassword ssl.server.keystore.password
ssl.server.truststore.password
""".split()
)

NO_SECRETS: Final = set(
    """
dfs.block.access.key.update.interval dfs.block.access.token.enable dfs.block.access.token.lifetime
dfs.block.access.token.protobuf.enable dfs.ha.fencing.ssh.private-key-files dfs.namenode.audit.log.token.tracking.id
dfs.namenode.delegation.token.always-use dfs.namenode.delegation.token.max-lifetime
dfs.namenode.delegation.token.renew-interval dfs.webhdfs.oauth2.access.token.provider
fs.adl.oauth2.access.token.provider fs.adl.oauth2.access.token.provider.type fs.azure.local.sas.key.mode
fs.azure.sas.expiry.period fs.s3a.assumed.role.credentials.provider fs.s3a.aws.credentials.provider
fs.s3a.delegation.token.binding fs.s3a.security.credential.provider.path hadoop.caller.context.signature.max.size
hadoop.http.authentication.signature.secret.file hadoop.http.authentication.token.validity
hadoop.security.credential.clear-text-fallback hadoop.security.credential.provider.path
hadoop.security.credstore.java-keystore-provider.password-file hadoop.security.group.mapping.ldap.bind.password.alias
hadoop.security.group.mapping.ldap.bind.password.file hadoop.security.group.mapping.ldap.ssl.keystore.password.file
hadoop.security.group.mapping.ldap.ssl.truststore.password.file hadoop.security.secret-manager.key-generator.algorithm
hadoop.security.secret-manager.key-length hadoop.security.token.service.use_ip hadoop.token.files
hive.cluster.delegation.token.store.class hive.cluster.delegation.token.store.zookeeper.acl
hive.cluster.delegation.token.store.zookeeper.connectString hive.cluster.delegation.token.store.zookeeper.znode
hive.llap.daemon.delegation.token.lifetime hive.llap.remote.token.requires.signing hive.metastore.token.signature
hive.server2.job.credential.provider.path hive.spark.client.secret.bits mapreduce.job.complete.cancel.delegation.tokens
mapreduce.job.send-token-conf mapreduce.job.token.tracking.ids mapreduce.job.token.tracking.ids.enabled
spark.authenticate.secret.driver.file spark.authenticate.secret.executor.file spark.authenticate.secret.file
spark.authenticate.secretBitLength spark.io.encryption.keySizeBits spark.io.encryption.keygen.algorithm
spark.kerberos.renewal.credentials spark.kubernetes.container.image.pullSecrets
spark.kubernetes.kerberos.tokenSecret.itemKey spark.kubernetes.kerberos.tokenSecret.name
spark.security.credentials.renewalRatio spark.security.credentials.retryWait
spark.security.directCredentialProviders.enabled spark.yarn.am.tokenConfRegex
yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs
yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs
yarn.resourcemanager.delayed.delegation-token.removal-interval-ms
yarn.resourcemanager.delegation-token-renewer.thread-count
yarn.resourcemanager.delegation-token-renewer.thread-retry-interval
yarn.resourcemanager.delegation-token-renewer.thread-retry-max-attempts
yarn.resourcemanager.delegation-token-renewer.thread-timeout yarn.resourcemanager.delegation-token.always-cancel
yarn.resourcemanager.delegation-token.max-conf-size-bytes yarn.resourcemanager.delegation.token.max-lifetime
yarn.resourcemanager.delegation.token.remove-scan-interval yarn.resourcemanager.delegation.token.renew-interval
yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs
yarn.resourcemanager.webapp.delegation-token-auth-filter.enabled
yarn.resourcemanager.zk-delegation-token-node.split-index
""".split()
)

OF_OTHER_JARS: Final = {
    "fs.azure.account.key.acc.dfs.core.windows.net": True,
    "fs.azure.account.oauth2.client.secret.acc.dfs.core.windows.net": True,
    "fs.azure.sas.container.acc.blob.core.windows.net": True,
    "fs.azure.sas.fixed.token": True,
    "fs.azure.sas.fixed.token.acc.dfs.core.windows.net": True,
    "fs.azure.sas.expiry.period": False,
    "fs.azure.sas.token.provider.type": False,
    "fs.azure.sas.token.provider.type.acc.dfs.core.windows.net": False,
    "fs.azure.sas.token.renew.period.for.streams": False,
}
"""Keys of hadoop-azure, from its documentation. key → whether its value is a secret"""


@pytest.fixture(scope="module")
def keys() -> set[str]:
    """Return every key in the default files of Hadoop's jars, and in the constants of the classes in which Hive and
    Spark declare their keys."""
    hadoop = [*pyspark_jars().glob("hadoop-client-api-*.jar"), *fetched("hadoop").glob("*minicluster*.jar")]
    found = {key for jar in hadoop for key in _defaults(jar)}
    for pattern, declaring in (
        ("hive-*.jar", "conf/HiveConf"),
        ("spark-*.jar", r"config/|SQLConf|[Cc]onfig\$?\.class"),
    ):
        for jar in pyspark_jars().glob(pattern):
            found |= set(_constants(jar, declaring))
    return found


def _defaults(jar: Path) -> Iterator[str]:
    with zipfile.ZipFile(jar) as files:
        for name in files.namelist():
            if name.endswith("-default.xml"):
                for each in ElementTree.fromstring(files.read(name)).iter("name"):
                    yield (each.text or "").strip()


def _constants(jar: Path, declaring: str) -> Iterator[str]:
    """Yield the constants, of classes whose name matches ``declaring``, that look like keys."""
    with zipfile.ZipFile(jar) as files:
        for name in files.namelist():
            if name.endswith(".class") and re.search(declaring, name):
                for text in _texts(files.read(name)):
                    if re.fullmatch(r"(?:hive|javax|spark)\.[\w.-]*\w", text):
                        yield text


def _texts(compiled: bytes) -> Iterator[str]:
    """Yield the strings in the constant pool of a class."""
    (count,) = struct.unpack_from(">H", compiled, 8)
    at, entry = 10, 1
    while entry < count:
        kind = compiled[at]
        if kind == 1:
            (length,) = struct.unpack_from(">H", compiled, at + 1)
            yield compiled[at + 3 : at + 3 + length].decode(errors="replace")
            at += 3 + length
        else:
            at += {3: 5, 4: 5, 5: 9, 6: 9, 7: 3, 8: 3, 15: 4, 16: 3, 19: 3, 20: 3}.get(kind, 5)
        # An eight-byte number takes two entries.
        entry += 2 if kind in (5, 6) else 1


def test_every_suspicious_key_is_classified(keys: set[str]) -> None:
    assert len(keys) > 4_000
    assert not SECRETS & NO_SECRETS
    assert {key for key in keys if LOOKS.search(key)} == SECRETS | NO_SECRETS


def test_only_values_of_secret_keys_are_masked(keys: set[str]) -> None:
    assert {key for key in keys if is_secret(key)} == SECRETS
    assert {key for key in keys if redact(f"{key}=plain77") != f"{key}=plain77"} == SECRETS
    forms = (
        "<property><name>{}</name><value>plain77</value></property>",
        "SET {} = plain77;",
        '"{}": "plain77"',
    )
    for key in SECRETS | NO_SECRETS:
        for form in forms:
            assert ("plain77" in redact(form.format(key))) == (key in NO_SECRETS), form.format(key)


@pytest.mark.parametrize(("key", "secret"), OF_OTHER_JARS.items())
def test_keys_of_other_jars_are_classified(key: str, secret: bool) -> None:
    assert is_secret(key) == secret
    assert (redact(f"{key}=plain77") != f"{key}=plain77") == secret
