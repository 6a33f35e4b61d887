# ruff: noqa: E501 (findings are printed in long lines; no SQL here reaches a database)
"""Attacks of kind 7: secrets, and files that are rotated or rewritten."""

from __future__ import annotations

import gzip
import json
import os
import re
import time
import uuid
from urllib.parse import quote

from tests.attacks.house import House, Room, house
from tests.attacks.records import event, impala_record, spark_log

# Manual: "the values that stand beside the name of a secret, or that are compared with it (in SQL, configurations, documents,
# calls, URLs, command lines), the literals in a cryptographic function, and what has the form of a known token or private key"
FORMS = [
    "select * from u where password = '{}'", "select * from u where '{}' = passwd", "where u.`Password` IN ('a', '{}')", "where secret_key LIKE '{}%'",
    "where api_key <> '{}'", "where pwd BETWEEN '{}' AND 'z'", "where password is not distinct from '{}'", "case when token = '{}' then 1 end",
    "create user x identified by '{}'", "alter user x with password '{}'", "set hive.server2.keystore.password={}", "SET `fs.s3a.secret.key` = {}",
    "options (url 'jdbc:pg://h/d', password '{}')", "options(\"password\" = \"{}\")", "tblproperties ('kafka.sasl.password'='{}')", "insert into u (name, password) values ('n', '{}')",
    "insert into u (password) select '{}'", "update u set password = '{}' where id = 1", "update u set (a, passwd) = ('n', '{}')", "merge into u using v on u.token = '{}' when matched then delete",
    "jdbc:postgresql://h/d?user=u&password={}", "https://user:{}@host/path", "mongodb+srv://u:{}@h/d", "https://h/p?sig={}&access_token=x", "s3a://KEY:{}@bucket/x",
    "<property><name>javax.jdo.option.ConnectionPassword</name><value>{}</value></property>", "<add key=\"password\" value=\"{}\"/>", "<add value=\"{}\" key=\"password\"/>",
    "{{\"password\": \"{}\"}}", "{{\\\"clientSecret\\\":\\\"{}\\\"}}", "&quot;password&quot;: &quot;{}&quot;", "password: {}", "password : !vault '{}'", "export DB_PASSWORD={}",
    "mysql -u root -p{}", "curl -u user:{} http://h", "curl -H 'Authorization: Bearer {}'", "sqoop import --password {} --table t", "beeline -u jdbc:hive2://h -n u -p {}", "spark-submit --conf spark.ssl.keyPassword={}",
    "md5('{}')", "select sha2(concat('{}', x), 256)", "aes_encrypt(name, '{}')", "pgp_sym_decrypt(c, '{}')", "hmac('{}', 'sha256')", "connect(user='u', passwd='{}')", "connect(host, password => '{}')",
    "dict(password=b'{}')", "$env:API_TOKEN = '{}'", "password\u00a0=\u00a0'{}'", "password /* not this */ = -- nor that\n '{}'", "PASSWORD='{}' || 'tail'", "password = E'{}'", "password = N'{}'", "password = $${}$$", "password = q'[{}]'",
]  # fmt: skip
TOKENS = [
    "AKIA{16U}", "ghp_{36}", "github_pat_{22}_{59}", "xoxb-123456789012-{24}", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{20}.{43}", "sk_live_{24}", "AIza{35}", "glpat-{20}", "npm_{36}", "dapi{32h}", "hvs.{24}", "navlin_{43}",
    "-----BEGIN RSA PRIVATE KEY-----\n{64}\n{64}\n-----END RSA PRIVATE KEY-----", "-----BEGIN OPENSSH PRIVATE KEY-----\\n{64}\\n-----END OPENSSH PRIVATE KEY-----", "SG.{22}.{43}",
]  # fmt: skip


def _word() -> str:
    return "Zq" + uuid.uuid4().hex[:20]


def _token(form: str) -> tuple[str, str]:
    """Return a token of the given form, and a part of the token that must not be found."""
    made: list[str] = []

    def fill(found: re.Match[str]) -> str:
        made.append((uuid.uuid4().hex * 3)[: int(found[1])])
        return made[-1].upper() if found[2] == "U" else made[-1]

    text = re.sub(r"\{(\d+)([Uh]?)\}", fill, form)
    longest = max(made, key=len)
    return text, (longest.upper() if "AKIA" in form else longest)


def _found(own: House, words: dict[str, str]) -> list[str]:
    """Return the secrets found in navlin's responses or files, except in the OpenLineage spool."""
    shown = b""
    for path in (
        "search?query=*&csv=true",
        "search?query=*&jsonl=true",
        "search?query=*&limit=1000",
        "rejects?limit=500",
        "incomplete?limit=500",
        "runs",
        "status",
        "export/openlineage",
        "export/atlas",
        "export/datahub",
        "unlinked",
    ):
        shown += own.ask("/api/navlin/v1/" + path, limit_s=120).body
    for query in (
        "type:OPERATION",
        "type:OPERATION_EXECUTION",
        "type:SUB_OPERATION",
        "type:DATASET",
        "type:TABLE",
    ):
        shown += own.ask("/api/v14/entities?limit=2000&query=" + quote(query), limit_s=120).body
    shown += own.log().encode()
    files = b""
    for file in own.state.rglob("*"):
        if file.is_file() and "jars" not in file.parts and file.stat().st_size < 50_000_000:
            files += file.read_bytes()
    out = []
    for word, form in words.items():
        if word.encode() in shown or own.total(word + "*") > 0:
            out.append("answer: " + form)
        elif word.encode() in files:
            out.append("file: " + form)
    return out


def marked_secrets(room: Room) -> None:
    """Secrets in the forms that the manual describes, and exactly where long texts are cut, through every entrance."""
    with house(room, people=("agent",)) as own:
        words: dict[str, str] = {}
        texts = []
        for form in FORMS:
            word = _word()
            words[word] = form
            texts.append(form.format(word))
        for form in TOKENS:
            text, word = _token(form)
            words[word] = form
            texts.append("select '" + text + "'")
        for limit in (
            1000,
            1024,
            4000,
            4096,
            16_384,
            32_766,
            32_768,
            65_535,
            65_536,
            100_000,
            262_144,
            1_000_000,
        ):
            word = _word()
            words[word[:-6]] = f"cut at {limit}"
            texts.append(
                "select '"
                + "x" * (limit - 20 - len("select '', 1 where password = '"))
                + "', 1 where password = '"
                + word
                + word
                + "'"
            )
        for i, text in enumerate(texts):
            kind = i % 4
            if len(text) > 900 or kind == 0:
                own.say(impala_record(f"shop.s{i}", "shop.o", text=f"insert into s{i} {text}"))
            if len(text) > 900 or kind == 1:
                own.send(
                    event(
                        "COMPLETE",
                        str(uuid.uuid4()),
                        f"j{i}",
                        ["d.b"],
                        [f"d.s{i}"],
                        f"insert into s{i} {text}",
                    )
                )
            if kind == 2:
                (own.spark / f"application_17{i:011d}_0001").write_bytes(
                    spark_log(f"app{i}", f"file:/data/s{i}", text)
                )
            if kind == 3:
                message = {
                    "_producer": "p",
                    "_schemaURL": "s",
                    "message": text,
                    "stackTrace": text,
                    "programmingLanguage": "x",
                }
                one = event(
                    "FAIL",
                    str(uuid.uuid4()),
                    f"job {text[:200]}",
                    ["d.b"],
                    [f"d.s{i}"],
                    f"insert into s{i} select 1",
                    errorMessage=message,
                )
                one["job"]["facets"]["documentation"] = {
                    "_producer": "p",
                    "_schemaURL": "s",
                    "description": text,
                }
                own.send(one)
        own.say(impala_record("shop.done"))
        own.wait_total('originalName:"done"', 1, 60)
        own.wait_total('parentPath:"/shop" AND type:TABLE', 14, 60)
        time.sleep(20)
        entity = "shop.done"
        for n, form in enumerate(FORMS[:12]):
            word = _word()
            words[word] = "an import: " + form
            line = own.home / f"words{n}.jsonl"
            exported = own.home / "exported.jsonl"
            own.ask("/api/navlin/v1/edit", {"entity": entity, "description": "old"})
            if n == 0:
                own.navlin("annotations", "export", str(exported))
            first = (
                json.loads(exported.read_text().splitlines()[0])
                if exported.exists() and exported.read_text()
                else {"identity": "x"}
            )
            line.write_text(json.dumps({**first, "description": form.format(word)}) + "\n")
            own.navlin("annotations", "import", str(line), "--overwrite")
        leaked = _found(own, words)
        room.see(
            own.total("type:OPERATION") > 20, f"{own.total('type:OPERATION')} operations are in the index"
        )
        for form in leaked:
            room.see(False, f"not blanked, {form[:110]!r}")
        room.see(not leaked, f"{len(words) - len(leaked)} of {len(words)} secrets are found nowhere")
        own.closing()


def secrets_of_what_is_refused(room: Room) -> None:
    """Secrets in unreadable input, in refused requests, in addresses and headers, and in a configuration with a mistake."""
    with house(room, people=("agent",)) as own:
        words: dict[str, str] = {}

        def secret(what: str) -> str:
            word = _word()
            words[word] = what
            return word

        own.say(b'{"queryText": "select 1 where password = \'' + secret("a cut line").encode() + b"'\n")
        own.say(
            b'{"queryText": "x", "password": "' + secret("a broken record").encode() + b'", "edges": [}\n'
        )
        own.say(
            secret("a line that is no record").encode()
            + b" password="
            + secret("a line of something else").encode()
            + b"\n"
        )
        own.say(
            json.dumps(
                {
                    "queryText": 1,
                    "user": "password=" + secret("a user's name"),
                    "vertices": "token=" + secret("vertices"),
                }
            ).encode()
            + b"\n"
        )
        (own.spark / "application_1700000000000_0001").write_bytes(
            b'{"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{"spark.hadoop.fs.s3a.secret.key":"'
            + secret("a Spark log that is cut").encode()
        )
        (own.events / "x.jsonl").write_text(
            '{"eventType":"START","password":"' + secret("an event that is cut") + "\n"
        )
        (own.impala / f"impala_lineage_log_1.0-password={secret('a name of a file')}").write_bytes(
            b"broken\n"
        )
        for body in (
            '{"password":"%s"',
            '[{"eventTime":"password=%s"}]',
            '[{"eventTime":"2024-01-01T00:00:00Z","run":{"runId":"password=%s"}}]',
            "token=%s",
        ):
            answer = own.send((body % secret("a refused event")).encode())
            room.see(answer.status == 400, f"refused with {answer.status}")
            own.ask("/api/v1/lineage/batch", (body % secret("a refused batch")).encode(), user="agent")
        own.ask("/api/navlin/v1/search?query=" + quote("password = '" + secret("a query") + "' AND ("))
        own.ask("/api/navlin/v1/nothing/password=" + secret("a path") + "?token=" + secret("a parameter"))
        own.ask("/api/navlin/v1/status", user=None, Authorization="Bearer " + secret("a wrong token"))
        own.ask(
            "/api/navlin/v1/status", user=None, Authorization="Basic " + secret("a header that is no Basic")
        )
        own.ask(
            "/login",
            {"name": secret("a password in the field of the name"), "password": secret("a wrong password")},
            user=None,
        )
        own.ask(
            "/login",
            ("name=admin&password=" + secret("a form") + "&%zz").encode(),
            user=None,
            Content_Type="application/x-www-form-urlencoded",
        )
        own.ask("/session", user=None, Cookie="navlin=" + secret("a cookie"))
        time.sleep(20)
        allowed = {
            w
            for w, what in words.items()
            if what in ("a name of a file", "a path", "a password in the field of the name")
        }
        leaked = _found(own, {w: f for w, f in words.items() if w not in allowed})
        for form in leaked:
            room.see(False, f"stands there, {form!r}")
        room.see(not leaked, f"{len(words) - len(leaked)} of {len(words)} secrets are found nowhere")
        good = own.config.read_text()
        for bad in (
            'uris = ["thrift://u:{}@h:1"]\nextractor = "hms"\nname = "H"',
            'urls = ["http://u:{}@h:1"]\nextractor = "yarn"\nname = "Y"',
            'name = "Z"\nextractor = "yarn"\nurls = ["http://h:1?token={}"]\npassword = "{}"',
        ):
            word = _word()
            other = own.home / "bad.toml"
            other.write_text(good + "\n[[source]]\n" + bad.replace("{}", word) + "\n")
            import subprocess

            from tests.attacks.house import CHECKOUT, NAVLIN

            out = subprocess.run(
                [*NAVLIN, "--config", str(other), "check"],
                cwd=CHECKOUT,
                capture_output=True,
                timeout=200,
                check=False,
            )
            room.see(
                word.encode() not in out.stdout + out.stderr,
                f"`navlin check` does not print the secret of {bad[:40]!r}",
            )
        room.see(not _found(own, dict.fromkeys(words.keys() - allowed, "log")) or bool(leaked), "nor later")
        own.closing()


def truncated_and_grown(room: Room) -> None:
    """A log is truncated and immediately longer than before; removed and recreated with its inode; rewritten with its own length and time."""
    with house(room) as own:
        tag = uuid.uuid4().hex[:8]
        log = own.impala / "impala_lineage_log_1.0-1"

        def lines(word: str, count: int) -> bytes:
            return b"".join(
                json.dumps(impala_record(f"shop.{tag}_{word}{i:03}")).encode() + b"\n" for i in range(count)
            )

        def told(word: str, count: int, what: str) -> None:
            found, took_s = own.wait_total(f"originalName:{tag}_{word}* AND type:TABLE", count, 30)
            rejects = [json.dumps(r) for r in own.rejects("IMPALA-1")]
            said = any(re.search(r"\d+ bytes|bytes", r) for r in rejects)
            room.see(
                found == count or said,
                f"{what}: {found} of {count} after {took_s:.0f} s, rejects that count bytes: {said}",
            )
            room.see(
                found == count, f"{what}: nothing is lost, for all of it is still there ({found} of {count})"
            )

        log.write_bytes(lines("a", 5))
        told("a", 5, "to begin with")
        log.write_bytes(lines("b", 40))  # truncate the log and write a longer one in one step
        told("b", 40, "truncated and at once longer")
        inode = log.stat().st_ino
        for n in range(5):
            log.unlink()
            log.write_bytes(lines(f"c{n}x", 60 + n))
            if log.stat().st_ino == inode:
                break
            time.sleep(7)
        told(f"c{n}x", 60 + n, f"made anew under the same name (same inode: {log.stat().st_ino == inode})")
        before = log.stat()
        same = lines("d", 60 + n)
        same = (same + b"\n" * before.st_size)[: before.st_size] if len(same) < before.st_size else same
        with log.open("r+b") as file:
            file.write(same)
        os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
        told("d", 60 + n, f"rewritten at its own length ({log.stat().st_size == before.st_size}) and time")
        application = "application_1700000000000_0001"
        spark = own.spark / (application + ".inprogress")
        first, second = (
            spark_log(application, f"file:/data/{tag}a"),
            spark_log(application, f"file:/data/{tag}b"),
        )
        spark.write_bytes(first[:-100])
        own.wait_total(f'"/data/{tag}a"', 1, 30)
        spark.write_bytes(second + spark_log(application, f"file:/data/{tag}c", execution=1))
        os.rename(spark, own.spark / application)
        for letter in "bc":
            seen = own.wait_total(f'"/data/{tag}{letter}"', 1, 30)[0] > 0
            said = application in json.dumps(own.rejects("SPARK-1"))
            room.see(
                seen or said,
                f"a Spark log begun anew under its name: {letter} is found ({seen}) or a reject ({said})",
            )
        spool = own.events / "mine.jsonl"

        def one(w: str) -> str:
            return (
                json.dumps(
                    event(
                        "COMPLETE",
                        str(uuid.uuid4()),
                        w,
                        ["d.b"],
                        [f"d.{tag}{w}"],
                        f"insert into {w} select 1",
                    )
                )
                + "\n"
            )

        spool.write_text(one("e0"))
        own.wait_total(f'originalName:"d.{tag}e0"', 1, 30)
        spool.write_text("".join(one(f"e{i}") for i in range(1, 9)))
        missing = [i for i in range(1, 9) if own.wait_total(f'originalName:"d.{tag}e{i}"', 1, 10)[0] < 1]
        room.see(
            not missing or bool(own.rejects("OL-1")),
            f"a file of events truncated and longer: missing {missing}",
        )
        room.see(not missing, f"none of its events is lost {missing}")
        own.closing()


def swapped_and_torn(room: Room) -> None:
    """Two logs swap names; one has two names; lines torn within a character; the last line without an end is rotated to gz, then zst."""
    with house(room) as own:
        tag = uuid.uuid4().hex[:8]

        def line(word: str) -> bytes:
            return (
                json.dumps(impala_record(f"shop.{tag}_{word}", text="insert \u00e9\u4e16\U0001f40d"))
                .replace("\\u00e9", "\u00e9")
                .encode()
                + b"\n"
            )

        def found(word: str, what: str, within_s: float = 30) -> None:
            n, took_s = own.wait_total(f'originalName:"{tag}_{word}" AND type:TABLE', 1, within_s)
            room.see(n == 1, f"{what} is found ({n}) after {took_s:.0f} s")

        one, two = own.impala / "impala_lineage_log_1.0-1", own.impala / "impala_lineage_log_1.0-2"
        one.write_bytes(line("a1"))
        two.write_bytes(line("b1") * 3)
        found("a1", "the first")
        middle = own.impala / "impala_lineage_log_1.0-m"
        os.rename(one, middle)
        os.rename(two, one)
        os.rename(middle, two)
        with one.open("ab") as a, two.open("ab") as b:
            a.write(line("b2"))
            b.write(line("a2"))
        found("b2", "a line behind an exchange of names")
        found("a2", "the other")
        os.link(one, own.impala / "impala_lineage_log_1.0-twin")
        with one.open("ab") as a:
            a.write(line("b3"))
        found("b3", "a line in a log of two names")
        time.sleep(8)
        counted = own.total(f"type:OPERATION_EXECUTION AND {tag}_b3")
        room.see(counted <= 1, f"it is counted once: {counted}")
        text = (
            json.dumps(
                impala_record(f"shop.{tag}_t1", user="Andr\u00e9\U0001f40d"), ensure_ascii=False
            ).encode()
            + b"\n"
        )
        at = text.index("\U0001f40d".encode()) + 2
        with one.open("ab", buffering=0) as bare:
            bare.write(text[:at])
            time.sleep(12)
            bare.write(text[at:])
        found("t1", "a line torn within a character for twelve seconds")
        with one.open("ab") as a:
            a.write(line("t2")[:-1])
        time.sleep(7)
        old = own.impala / "impala_lineage_log_1.0-1.old"
        os.rename(one, old)
        # Such a line is read an hour after the last write.
        os.utime(old, (time.time() - 3_700, time.time() - 3_700))
        one.write_bytes(line("t3"))
        found("t3", "the first line of the next log")
        found("t2", "the last line without an end, of a log that was renamed", 90)
        own.stop()
        with one.open("ab") as a:
            a.write(line("z1") + line("z2")[:-1])
        with gzip.open(own.impala / "impala_lineage_log_1.0-1.gz", "wb") as packed:
            packed.write(one.read_bytes())
        one.unlink()
        two.rename(own.impala / "impala_lineage_log_1.0-2.zst")
        own.start()
        found("z1", "a line written while navlin was down, in a log compressed since")
        found("z2", "its last line without an end")
        size = (own.impala / "impala_lineage_log_1.0-2.zst").stat().st_size
        room.see(
            not own.source("IMPALA-1").get("failing"),
            f"a log under the name of another packing ({size} bytes) fails nothing",
        )
        own.closing()


ATTACKS = dict(
    enumerate((marked_secrets, secrets_of_what_is_refused, truncated_and_grown, swapped_and_torn), 47)
)
