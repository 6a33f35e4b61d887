"""Self-signed certificates made by Java's keytool, trusted only by tests."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from navlin.java import find_java

PASSWORD: Final = "changeit"
KEY: Final = """
import java.io.File;
import java.security.KeyStore;
import java.util.Base64;

public class Key {
    public static void main(String[] args) throws Exception {
        char[] word = args[1].toCharArray();
        byte[] key = KeyStore.getInstance(new File(args[0]), word).getKey("server", word).getEncoded();
        String lines = Base64.getMimeEncoder(64, new byte[] {10}).encodeToString(key);
        System.out.println("-----BEGIN PRIVATE KEY-----\\n" + lines + "\\n-----END PRIVATE KEY-----");
    }
}
"""
"""Java program that prints the private key in a key store, which keytool cannot do."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A server's self-signed certificate: a store for Java, and two PEM files."""

    store: Path
    certificate: Path
    key: Path


def certificate(folder: Path, names: str = "ip:127.0.0.1") -> Certificate:
    """Create a certificate in ``folder`` for these names, in keytool's syntax: ``dns:host,ip:127.0.0.1``."""
    folder.mkdir(parents=True, exist_ok=True)
    store, pem, key = folder / "store.p12", folder / "certificate.pem", folder / "key.pem"
    keytool = shutil.which("keytool")
    assert keytool, "every Java has it"
    access = ["-keystore", str(store), "-storetype", "PKCS12", "-storepass", PASSWORD]
    for command in (
        "-genkeypair -alias server -keyalg EC -groupname secp256r1 -validity 2 -dname CN=server"
        f" -ext san={names} -ext bc:c=ca:true -ext ku:c=digitalSignature,keyCertSign",
        f"-exportcert -rfc -alias server -file {pem}",
    ):
        subprocess.run([keytool, *command.split(), *access], check=True, capture_output=True)
    (folder / "Key.java").write_text(KEY)
    program = [find_java(), str(folder / "Key.java"), str(store), PASSWORD]
    key.write_bytes(subprocess.run(program, check=True, capture_output=True).stdout)
    return Certificate(store, pem, key)
