"""A JDBC URL gives the name of its database as OpenLineage's clients write it, and never a password."""
# ruff: noqa: E501 - URLs as they are

from __future__ import annotations

import pytest

from navlin.model.databases import Database, database_of, database_table_key, namespace_with_ports, shown_url
from navlin.model.keys import dataset_key
from navlin.model.source import SDK, Estate, Source, source_id
from navlin.model.sql_names import joined_name, listed_names, table_parts

# fmt: off
URLS = {
    "jdbc:mysql://db/shop": ("mysql://db:3306", "shop", "jdbc:mysql://db/shop"),
    "jdbc:mysql://DB1:3307/shop?useSSL=false&password=hunter2": ("mysql://db1:3307", "shop", "jdbc:mysql://db1:3307/shop"),
    "jdbc:mysql://etl:hunter2@db/shop": ("mysql://db:3306", "shop", "jdbc:mysql://db/shop"),
    "jdbc:mysql://etl:hunter2/x@db/shop": ("mysql://db:3306", "shop", "jdbc:mysql://db/shop"),
    "jdbc:mysql:loadbalance://db1,db2:3307/shop": ("mysql://db1:3306,db2:3307", "shop", "jdbc:mysql:loadbalance://db1,db2:3307/shop"),
    "jdbc:mysql://db": ("mysql://db:3306", "", "jdbc:mysql://db"),
    "jdbc:mariadb://db/shop": ("mariadb://db:3306", "shop", "jdbc:mariadb://db/shop"),
    "jdbc:postgresql://db.example:5433/shop": ("postgres://db.example:5433", "shop", "jdbc:postgresql://db.example:5433/shop"),
    "jdbc:postgresql://db/shop?user=etl&password=hunter2": ("postgres://db:5432", "shop", "jdbc:postgresql://db/shop"),
    "jdbc:postgresql://db1,db2/shop": ("postgres://db1:5432,db2:5432", "shop", "jdbc:postgresql://db1,db2/shop"),
    "jdbc:postgresql://[2001:db8::1]/shop": ("postgres://[2001:db8::1]:5432", "shop", "jdbc:postgresql://[2001:db8::1]/shop"),
    "jdbc:redshift://c.eu.redshift.amazonaws.com/dev": ("redshift://c.eu.redshift.amazonaws.com:5439", "dev", "jdbc:redshift://c.eu.redshift.amazonaws.com/dev"),
    "jdbc:sqlserver://db:1433;databaseName=shop;user=sa;password={hunt;er2}": ("sqlserver://db:1433", "shop", "jdbc:sqlserver://db:1433;databaseName=shop"),
    "jdbc:sqlserver://db;password={x;databaseName=hunter2};database=shop": ("sqlserver://db:1433", "shop", "jdbc:sqlserver://db;databaseName=shop"),
    "jdbc:sqlserver://db\\EU;databaseName=shop": ("sqlserver://db/EU", "shop", "jdbc:sqlserver://db\\EU;databaseName=shop"),
    "jdbc:sqlserver://db\\EU:1434;databaseName=shop": ("sqlserver://db:1434/EU", "shop", "jdbc:sqlserver://db\\EU:1434;databaseName=shop"),
    "jdbc:sqlserver://;serverName=DB;portNumber=1440;databaseName=shop": ("sqlserver://db:1440", "shop", "jdbc:sqlserver://db:1440;databaseName=shop"),
    "jdbc:sqlserver://db": ("sqlserver://db:1433", "", "jdbc:sqlserver://db"),
    "jdbc:jtds:sqlserver://db:1433/shop;password=hunter2": ("sqlserver://db:1433", "shop", "jdbc:jtds:sqlserver://db:1433;databaseName=shop"),
    "jdbc:oracle:thin:@db:1522:ORCL": ("oracle://db:1522", "ORCL", "jdbc:oracle:thin:@db:1522:ORCL"),
    "jdbc:oracle:thin:@//db:1522/svc.example": ("oracle://db:1522", "svc.example", "jdbc:oracle:thin:@//db:1522/svc.example"),
    "jdbc:oracle:thin:@//db/svc": ("oracle://db:1521", "svc", "jdbc:oracle:thin:@//db/svc"),
    "jdbc:oracle:thin:@db/svc:dedicated": ("oracle://db:1521", "svc", "jdbc:oracle:thin:@//db/svc"),
    "jdbc:oracle:oci:scott/hunter2@db:1521:ORCL": ("oracle://db:1521", "ORCL", "jdbc:oracle:thin:@db:1521:ORCL"),
    'jdbc:oracle:thin:scott/"hunter2@x"@//db:1521/svc?oracle.net.x=1': ("oracle://db:1521", "svc", "jdbc:oracle:thin:@//db:1521/svc"),
    "jdbc:oracle:thin:@tcps://db:2484/svc?wallet_location=/w": ("oracle://db:2484", "svc", "jdbc:oracle:thin:@//db:2484/svc"),
    "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=DB)(PORT=1522))(CONNECT_DATA=(SERVICE_NAME=svc)))": ("oracle://db:1522", "svc", "jdbc:oracle:thin:@//db:1522/svc"),
    "jdbc:oracle:thin:etl/hunter2@(DESCRIPTION=(ADDRESS_LIST=(ADDRESS=(PORT=1522)(HOST=db1))(ADDRESS=(HOST=db2)(PORT=1523)))(CONNECT_DATA=(SID=ORCL)))": ("oracle://db1:1522,db2:1523", "ORCL", "jdbc:oracle:thin:@//db1:1522,db2:1523/ORCL"),
    "jdbc:oracle:thin:@ldap://oid:389/shop,cn=OracleContext,dc=x": ("oracle://oid:389", "shop", "jdbc:oracle:thin:@//oid:389/shop"),
    "jdbc:oracle:thin:@PROD": ("oracle://prod:1521", "", "jdbc:oracle:thin:@prod"),
    "jdbc:db2://db:50000/SHOP": ("db2://db:50000", "SHOP", "jdbc:db2://db:50000/SHOP"),
    "jdbc:db2://db:50000/SHOP:user=etl;password=hunter2;currentSchema=A;": ("db2://db:50000", "SHOP", "jdbc:db2://db:50000/SHOP"),
    "jdbc:db2://db/SHOP": ("db2://db:6789", "SHOP", "jdbc:db2://db/SHOP"),
    "jdbc:hsqldb:hsql://db1.example:9001/sales": ("hsqldb:hsql://db1.example:9001/sales", "", "jdbc:hsqldb:hsql://db1.example:9001/sales"),
    "jdbc:hsqldb:hsql://db/sales;password=hunter2": ("hsqldb:hsql://db/sales", "", "jdbc:hsqldb:hsql://db/sales"),
    "jdbc:hsqldb:mem:sales": ("hsqldb:mem:sales", "", "jdbc:hsqldb:mem:sales"),
    "jdbc:teradata://TD/DATABASE=shop,USER=etl,PASSWORD=hunter2": ("teradata://td:1025", "shop", "jdbc:teradata://td/shop"),
    "jdbc:netezza://nz:5480/shop": ("netezza://nz:5480", "shop", "jdbc:netezza://nz:5480/shop"),
    "jdbc:informix-sqli://ix:1533/shop:INFORMIXSERVER=s;password=hunter2": ("informix-sqli://ix:1533", "shop", "jdbc:informix-sqli://ix:1533/shop"),
    "JDBC:MySQL://db/Shop": ("mysql://db:3306", "Shop", "jdbc:mysql://db/Shop"),
}
"""URL → (namespace, database, URL as shown)."""
NONSENSE = (
    "", "jdbc:", "jdbc://", "nonsense", "jdbc:mysql://", "jdbc:mysql:///shop", "jdbc:mysql://etl:1234/hunter2@db/shop",
    "jdbc:mysql://etl:1234?hunter2@db/shop", "jdbc:mysql://(host=db,password=hunter2)/shop", "jdbc:mysql://db/a=hunter2@b",
    "jdbc:sqlserver://", "jdbc:sqlserver://;databaseName=shop", "jdbc:oracle:thin:scott/hunter2", "jdbc:oracle:thin:@(DESCRIPTION=",
    "jdbc:oracle:thin:@", "jdbc:oracle:thin:a@(b)@c", "jdbc:postgresql://db/shop\x00hunter2", "jdbc:mysql://" + "x" * 1_000_000,
    "jdbc:postgresql://db/" + "a/" * 300, "select * from t where password = 'hunter2'", "jdbc:mysql://db:99999999/shop", "://db/shop",
)  # fmt: skip
# fmt: on


@pytest.mark.parametrize("url", URLS)
def test_a_url_gives_the_database_as_openlineage_names_it(url: str) -> None:
    namespace, name, shown = URLS[url]
    assert database_of(url) == Database(namespace, name)
    assert shown_url(url) == shown


@pytest.mark.parametrize("url", URLS)
def test_no_secret_of_a_url_is_in_its_database(url: str) -> None:
    assert "hunter2" not in f"{database_of(url)} {shown_url(url)}"
    assert "er2" not in shown_url(url)


@pytest.mark.parametrize("url", NONSENSE, ids=range(len(NONSENSE)))
def test_a_url_that_cannot_be_read_names_no_database(url: str) -> None:
    assert (database_of(url), shown_url(url)) == (Database(), "")


@pytest.mark.parametrize(
    ("told", "namespace"),
    [
        ("sqlserver://DB", "sqlserver://db:1433"),
        ("mariadb://db", "mariadb://db:3306"),
        ("redshift://cluster", "redshift://cluster:5439"),
        ("postgres://a,b:5433", "postgres://a:5432,b:5433"),
        ("mysql://[::1]", "mysql://[::1]:3306"),
        ("sqlserver://db:1440", "sqlserver://db:1440"),
        ("sqlserver://db/EU", "sqlserver://db/EU"),
        ("kafka://broker", "kafka://broker"),
        ("postgres", "postgres"),
        ("mysql://", "mysql://"),
    ],
)
def test_the_namespace_of_a_database_has_a_port(told: str, namespace: str) -> None:
    assert namespace_with_ports(told) == namespace


@pytest.mark.parametrize(
    ("namespace", "parts", "name"),
    [
        ("postgres://db:5432", ("orders",), "shop.orders"),
        ("postgres://db:5432", ("public", "orders"), "shop.public.orders"),
        ("sqlserver://db:1433", ("crm", "dbo", "orders"), "crm.dbo.orders"),
        ("mysql://db:3306", ("crm", "orders"), "crm.orders"),
        ("oracle://db:1521", ("SCOTT", "a.b"), 'shop.SCOTT."a.b"'),
    ],
)
def test_a_table_is_named_with_its_database(namespace: str, parts: tuple[str, ...], name: str) -> None:
    assert Database(namespace, "shop").dataset_of(parts) == name


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("orders", ("orders",)),
        ('"ORDERS"', ("ORDERS",)),
        ("`orders`", ("orders",)),
        ("[dbo].[my orders]", ("dbo", "my orders")),
        ('"sales"."a""b"', ("sales", 'a"b')),
        ('"a"b"', ('a"b',)),
        ('"a.b"', ("a.b",)),
        ("WAREHOUSE.STOCK", ("WAREHOUSE", "STOCK")),
        ("2026_orders", ("2026_orders",)),
        ("orders-2026", ("orders-2026",)),
        (' "app" . people ', ("app", "people")),
        ("orders@link", ("orders@link",)),
        ("(select 1) t", ()),
        ("orders o", ()),
        ("a..b", ()),
        ("", ()),
        ('"a', ()),
        ("a;drop", ()),
        ('"' + "x" * 1_000_000 + '"', ()),
    ],
)
def test_the_quotes_of_a_tables_name_are_removed(text: str, parts: tuple[str, ...]) -> None:
    assert table_parts(text) == parts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"ID","CUSTOMER_ID"', ("ID", "CUSTOMER_ID")),
        ("`id`,`a,b`", ("id", "a,b")),
        ("[id],[a b]", ("id", "a b")),
        ("ID, NAME", ("ID", "NAME")),
        ('"a""b","c"', ('a"b', "c")),
        ('"a"b","c"', ('a"b', "c")),
        ("ID,,NAME", ()),
        ('"ID","NAME', ()),
        ("", ()),
    ],
)
def test_a_list_of_columns_is_split_outside_quotes(text: str, names: tuple[str, ...]) -> None:
    assert listed_names(text) == names


def test_a_part_with_a_dot_keeps_its_quotes() -> None:
    assert joined_name(("app", "a.b", "c")) == 'app."a.b".c'


def test_a_table_belongs_to_the_only_source_that_follows_openlineage() -> None:
    database = Database("postgres://db:5432", "shop")
    told = Source(source_id("c", "OL"), SDK, "OL", "c")
    key = database_table_key(Estate("c", (told,)), database, "shop.public.orders")
    assert key.identity == dataset_key(told, "postgres://db:5432", "shop.public.orders").identity
    assert not key.source.configured
    for others in ((), (told, Source(source_id("c", "OL-2"), SDK, "OL-2", "c"))):
        alone = database_table_key(Estate("c", others), database, "shop.public.orders")
        assert (alone.source.type, alone.source.name) == ("JDBC", "postgres://db:5432")
