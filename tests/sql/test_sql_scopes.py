"""Name resolution in each part of a query, also if unknown tables are involved."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from navlin.sql.bounded import SqlReader
from tests.support.sql_scopes import Truth, read, truths

DERIVED_TABLES = """
SELECT o.id, r.amount FROM orders o JOIN (SELECT id, amount FROM refunds) r ON o.id = r.id
  => id: orders.id; amount: refunds.amount? / orders.id, refunds.id? / orders refunds
SELECT r.amount FROM orders o JOIN (SELECT f.amount FROM refunds f) r
  => amount: refunds.amount? / / orders refunds
SELECT r.amount FROM orders o JOIN (SELECT o.amount FROM refunds) r
  => amount: refunds.o? / / orders refunds
SELECT r.amount FROM orders o JOIN (SELECT o.amount FROM payments) r
  => amount: ? / / orders payments
SELECT p.amount FROM orders o JOIN (SELECT amount FROM payments) p
  => amount: payments.amount / / orders payments
SELECT p.name FROM customers c JOIN (SELECT name FROM payments) p
  => name: ? / / customers payments
SELECT r.amount FROM (SELECT amount FROM refunds) r JOIN orders o
  => amount: refunds.amount? / / orders refunds
SELECT amount FROM (SELECT amount FROM refunds) r JOIN customers c
  => amount: refunds.amount? / / customers refunds
SELECT amount FROM orders o JOIN (SELECT * FROM refunds) r
  => amount: orders.amount / / orders refunds
SELECT x.v FROM (SELECT y.v FROM (SELECT amount AS v FROM refunds) y JOIN orders o) x
  => v: refunds.amount? / / orders refunds
SELECT x.v FROM orders o JOIN (SELECT v FROM (SELECT amount AS v FROM refunds) y) x
  => v: refunds.amount? / / orders refunds
SELECT x.v FROM orders o JOIN (SELECT v FROM (SELECT amount AS v FROM payments) y) x
  => v: payments.amount / / orders payments
SELECT r.b FROM orders o JOIN (SELECT id, amount FROM refunds) r (a, b)
  => b: refunds.amount? / / orders refunds
SELECT p.b FROM (SELECT order_id, paid FROM payments) p (a, b)
  => b: payments.paid / / payments
SELECT * FROM (SELECT id FROM orders) o JOIN (SELECT * FROM refunds) r
  => id: orders.id; … / / orders refunds
SELECT x.amount FROM (SELECT * FROM refunds) x
  => amount: refunds.amount? / / refunds
SELECT x.amount FROM (SELECT r.*, o.amount FROM refunds r JOIN orders o) x
  => amount: orders.amount / / orders refunds
SELECT x.amount FROM (SELECT *, paid AS amount FROM payments) x
  => amount: ? / / payments
-- One inside a subquery may see what is around the subquery (Spark), never what stands beside it.
SELECT (SELECT max(x.v) FROM (SELECT amount AS v FROM customers) x) AS m FROM orders
  => m: orders.amount / / orders customers
SELECT (SELECT max(x.v) FROM (SELECT amount AS v FROM refunds) x) AS m FROM orders
  => m: ? / / orders refunds
SELECT (SELECT max(x.v) FROM payments, (SELECT paid AS v FROM customers) x) AS m FROM orders
  => m: ? / / orders payments customers
"""

COMMON_TABLES = """
WITH r AS (SELECT id, amount FROM refunds) SELECT o.id, r.amount FROM orders o JOIN r ON o.id = r.id
  => id: orders.id; amount: refunds.amount? / orders.id, refunds.id? / orders refunds
WITH c AS (SELECT amount FROM payments) SELECT c.amount FROM orders o JOIN c
  => amount: payments.amount / / orders payments
WITH orders AS (SELECT paid AS amount FROM payments) SELECT amount FROM orders
  => amount: payments.paid / / payments
WITH orders AS (SELECT paid AS amount FROM payments) SELECT amount FROM s.orders
  => amount: orders.amount / / orders
WITH orders AS (SELECT region AS amount FROM orders) SELECT amount FROM orders
  => amount: orders.region / / orders
WITH refunds AS (SELECT amount FROM refunds) SELECT o.id, r.amount FROM orders o JOIN refunds r
  => id: orders.id; amount: refunds.amount? / / orders refunds
WITH a AS (SELECT amount FROM payments), b AS (SELECT amount FROM a) SELECT amount FROM b
  => amount: payments.amount / / payments
WITH b AS (SELECT amount FROM a), a AS (SELECT amount FROM payments) SELECT amount FROM b
  => amount: a.amount? / / a
WITH c (a, b) AS (SELECT id, amount FROM orders) SELECT b FROM c
  => b: orders.amount / / orders
WITH c (a, b) AS (SELECT * FROM refunds) SELECT b, o.id FROM c JOIN orders o
  => b: ?; id: orders.id / / refunds orders
WITH c AS (SELECT amount AS v FROM orders)
  SELECT v FROM (WITH c AS (SELECT paid AS v FROM payments) SELECT v FROM c) x
  => v: payments.paid / / payments
SELECT (WITH c AS (SELECT amount FROM refunds) SELECT max(amount) FROM c) AS m FROM orders
  => m: refunds.amount? / / orders refunds
SELECT (WITH c AS (SELECT amount FROM customers) SELECT max(amount) FROM c) AS m FROM orders
  => m: ? / / orders customers
SELECT id FROM orders o WHERE EXISTS (WITH c AS (SELECT order_id FROM payments) SELECT 1 FROM c WHERE order_id = o.id)
  => id: orders.id / orders.id, payments.order_id / orders ~payments
WITH RECURSIVE r AS (SELECT id, customer FROM orders
  UNION ALL SELECT o.id, r.customer FROM orders o JOIN r ON o.customer = r.id) SELECT * FROM r
  => id: orders.id; customer: orders.customer / orders.customer, orders.id / orders
WITH RECURSIVE r AS (SELECT id FROM orders UNION ALL SELECT n.id FROM refunds n JOIN r ON n.parent = r.id)
  SELECT id FROM r
  => id: orders.id, refunds.id? / orders.id, refunds.id?, refunds.parent? / orders refunds
"""

SUBQUERIES = """
SELECT id, (SELECT max(amount) FROM refunds) AS m FROM orders
  => id: orders.id; m: ? / / orders refunds
SELECT id, (SELECT max(f.amount) FROM refunds f) AS m FROM orders
  => id: orders.id; m: refunds.amount? / / orders refunds
SELECT id, (SELECT max(o.amount) FROM refunds) AS m FROM orders o
  => id: orders.id; m: orders.amount / / orders refunds
SELECT id, (SELECT max(amount) FROM customers) AS m FROM orders
  => id: orders.id; m: orders.amount / / orders customers
SELECT id, (SELECT max(p.amount) FROM payments p WHERE p.order_id = id) AS m FROM orders
  => id: orders.id; m: payments.amount ~ orders.id, payments.order_id / / orders payments
SELECT id, (SELECT max(f.amount) FROM refunds f WHERE f.order_id = id) AS m FROM orders
  => id: orders.id; m: refunds.amount? ? ~ refunds.order_id? / / orders refunds
SELECT id, (SELECT max(f.amount) FROM refunds f WHERE f.order_id = o.id) AS m FROM orders o
  => id: orders.id; m: refunds.amount? ~ orders.id, refunds.order_id? / / orders refunds
SELECT (SELECT max(o.amount) FROM payments o) AS m FROM orders o
  => m: payments.amount / / orders payments
SELECT (SELECT max(o.region) FROM payments o) AS m FROM orders o
  => m: orders.region / / orders payments
SELECT (SELECT max(o.amount) FROM refunds o) AS m FROM orders o
  => m: refunds.amount? / / orders refunds
SELECT (SELECT max(region) FROM orders o JOIN customers c) AS m FROM payments
  => m: ? / / orders customers payments
SELECT id FROM orders WHERE id IN (SELECT order_id FROM payments)
  => id: orders.id / orders.id, payments.order_id / orders ~payments
SELECT id FROM orders WHERE id IN (SELECT order_id FROM payments WHERE kind = region)
  => id: orders.id / orders.id, orders.region, payments.kind, payments.order_id / orders ~payments
SELECT id FROM orders WHERE id IN (SELECT order_id FROM refunds)
  => id: orders.id / orders.id, refunds.order_id? / orders ~refunds
SELECT id FROM orders WHERE id IN (SELECT amount FROM refunds)
  => id: orders.id / orders.id ? / orders ~refunds
SELECT id FROM orders o WHERE id NOT IN (SELECT o.amount FROM refunds)
  => id: orders.id / orders.id, orders.amount / orders ~refunds
SELECT id FROM orders o WHERE EXISTS (SELECT * FROM payments p WHERE p.order_id = o.id)
  => id: orders.id / orders.id, payments.order_id / orders ~payments
SELECT id FROM orders o WHERE NOT EXISTS (SELECT p.kind FROM payments p WHERE p.order_id = o.id)
  => id: orders.id / orders.id, payments.order_id / orders ~payments
SELECT id FROM orders o WHERE EXISTS (SELECT * FROM refunds f WHERE f.order_id = o.id)
  => id: orders.id / orders.id, refunds.order_id? / orders ~refunds
SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM refunds WHERE order_id = id)
  => id: orders.id / refunds.order_id? ? / orders ~refunds
SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM payments WHERE order_id = id)
  => id: orders.id / orders.id, payments.order_id / orders ~payments
SELECT id FROM orders o WHERE EXISTS
  (SELECT 1 FROM refunds WHERE EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND kind = region))
  => id: orders.id / orders.id, payments.kind, payments.order_id ? / orders ~payments ~refunds
SELECT customer, sum(amount) AS total FROM orders GROUP BY customer
  HAVING sum(amount) > (SELECT avg(paid) FROM payments)
  => customer: orders.customer; total: orders.amount / orders.amount, orders.customer, payments.paid
  / orders ~payments
SELECT o.id FROM orders o JOIN customers c ON o.customer = c.id AND c.id IN (SELECT customer FROM refunds)
  => id: orders.id / customers.id, orders.customer ? / orders customers ~refunds
SELECT id, CASE WHEN EXISTS (SELECT 1 FROM refunds WHERE weight > 0) THEN 1 ELSE 0 END AS e FROM orders
  => id: orders.id; e: ~ refunds.weight? / / orders ~refunds
"""

LATERAL = """
SELECT o.id, x.v FROM orders o, LATERAL (SELECT o.amount AS v) x
  => id: orders.id; v: orders.amount / / orders
SELECT o.id, x.v FROM orders o, LATERAL (SELECT amount AS v FROM customers) x
  => id: orders.id; v: orders.amount / / orders customers
SELECT o.id, x.v FROM orders o, LATERAL (SELECT amount AS v FROM refunds) x
  => id: orders.id; v: ? / / orders refunds
SELECT o.id, x.v FROM orders o, LATERAL (SELECT o.amount AS v FROM refunds) x
  => id: orders.id; v: orders.amount / / orders refunds
SELECT x.v FROM customers c, LATERAL (SELECT amount AS v FROM customers) x, orders o
  => v: ? / / customers orders
SELECT x.v FROM orders o JOIN LATERAL (SELECT paid AS v FROM payments p WHERE p.order_id = o.id) x
  => v: payments.paid / orders.id, payments.order_id / payments ~orders
SELECT x.v FROM orders o, LATERAL (SELECT y.v FROM customers c, (SELECT amount AS v) y) x
  => v: orders.amount / / orders customers
-- Functions that make rows see what stands to their left, and no further.
SELECT id, item FROM orders LATERAL VIEW explode(items) e AS item
  => id: orders.id; item: orders.items / / orders
SELECT id, item FROM refunds LATERAL VIEW explode(items) e AS item
  => id: refunds.id?; item: refunds.items? / / refunds
SELECT e.item, f.part FROM orders LATERAL VIEW explode(items) e AS item LATERAL VIEW explode(item) f AS part
  => item: orders.items; part: orders.items / / orders
SELECT item FROM refunds r LATERAL VIEW explode(items) e AS item JOIN orders o ON o.id = r.id
  => item: refunds.items? / orders.id, refunds.id? / ~orders refunds
SELECT item FROM refunds r JOIN orders o ON o.id = r.id LATERAL VIEW explode(items) e AS item
  => item: orders.items / orders.id, refunds.id? / orders ~refunds
SELECT id, pos, item FROM orders LATERAL VIEW OUTER posexplode(items) e AS pos, item
  => id: orders.id; pos: orders.items; item: orders.items / / orders
SELECT id, x.a FROM orders LATERAL VIEW inline(items) x AS a, b
  => id: orders.id; a: orders.items / / orders
SELECT amount FROM customers LATERAL VIEW explode(array(1)) e AS amount
  => amount: / / customers
SELECT id, n FROM orders CROSS JOIN UNNEST(items) AS u (n)
  => id: orders.id; n: orders.items / / orders
SELECT id, e.item FROM orders, LATERAL explode(items) AS e (item)
  => id: orders.id; item: orders.items / / orders
SELECT x.item FROM orders o JOIN (SELECT item FROM refunds LATERAL VIEW explode(items) e AS item) x
  => item: refunds.items? / / orders refunds
-- What is nested in a row is a table to Impala, in a subquery and in a derived table too.
SELECT i.part FROM orders o, o.items i
  => part: orders.items / / orders
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM o.items i WHERE i.part > 1)
  => id: orders.id / orders.items / orders
SELECT v.n FROM orders o, (SELECT count(*) AS n FROM o.items) v
  => n: / / orders
SELECT v.part FROM orders o, (SELECT i.part FROM o.items i) v
  => part: orders.items / / orders
SELECT i.part FROM orders k JOIN k.items i
  => part: ? / / orders
SELECT x.name FROM orders s JOIN s.customers x
  => name: customers.name / / orders customers
SELECT r.id FROM refunds r WHERE EXISTS (SELECT 1 FROM r.parts p WHERE p.x = 1)
  => id: refunds.id? / ? / refunds
"""

SET_OPERATIONS = """
SELECT id FROM orders UNION ALL SELECT id FROM refunds
  => id: orders.id, refunds.id? / / orders refunds
SELECT id, amount FROM orders UNION ALL SELECT * FROM refunds
  => id: orders.id ?; amount: orders.amount ? / / orders refunds
SELECT * FROM refunds UNION ALL SELECT id, amount FROM orders
  => … / / orders refunds
SELECT u.id FROM customers c JOIN (SELECT id FROM refunds UNION SELECT id FROM orders) u
  => id: orders.id, refunds.id? / / customers orders refunds
SELECT id, amount FROM orders UNION ALL SELECT order_id, paid FROM payments ORDER BY amount
  => id: orders.id, payments.order_id; amount: orders.amount, payments.paid / orders.amount, payments.paid
  / orders payments
SELECT id FROM orders EXCEPT SELECT id FROM refunds
  => id: orders.id / refunds.id? / orders ~refunds
SELECT id FROM orders INTERSECT SELECT order_id FROM payments
  => id: orders.id / payments.order_id / orders ~payments
"""

MERGED_COLUMNS = """
SELECT id, name FROM orders JOIN customers USING (id)
  => id: orders.id; name: customers.name / customers.id, orders.id / orders customers
SELECT id, name FROM orders RIGHT JOIN customers USING (id)
  => id: customers.id; name: customers.name / customers.id, orders.id / ~orders customers
SELECT id, name FROM orders FULL JOIN customers USING (id)
  => id: customers.id, orders.id; name: customers.name / customers.id, orders.id / orders customers
SELECT id, amount FROM orders JOIN refunds USING (id)
  => id: orders.id; amount: orders.amount / orders.id, refunds.id? / orders ~refunds
SELECT id FROM refunds JOIN orders USING (id)
  => id: refunds.id? / orders.id, refunds.id? / ~orders refunds
SELECT region, name FROM orders NATURAL JOIN customers
  => region: orders.region; name: customers.name
  / customers.id, customers.region, orders.id, orders.region / orders customers
SELECT amount FROM orders NATURAL JOIN refunds
  => amount: orders.amount / ? / orders refunds
SELECT amount FROM refunds NATURAL JOIN orders
  => amount: ? / / orders refunds
SELECT amount FROM orders NATURAL LEFT JOIN refunds
  => amount: orders.amount / ? / orders refunds
SELECT amount FROM orders NATURAL RIGHT JOIN refunds
  => amount: ? / / orders refunds
SELECT amount FROM orders NATURAL FULL JOIN refunds
  => amount: orders.amount ? / / orders refunds
SELECT o.amount FROM refunds NATURAL JOIN orders o
  => amount: orders.amount / ? / orders refunds
"""

JOINS = """
SELECT region FROM orders JOIN customers
  => region: ? / / orders customers
SELECT amount FROM orders JOIN refunds
  => amount: orders.amount / / orders refunds
SELECT amount FROM refunds JOIN returns
  => amount: ? / / refunds returns
SELECT weight FROM orders JOIN refunds
  => weight: refunds.weight? / / orders refunds
SELECT o.weight FROM orders o JOIN refunds r
  => weight: ? / / orders refunds
SELECT r.amount FROM orders o JOIN refunds r
  => amount: refunds.amount? / / orders refunds
-- What a condition of a join names is joined already.
SELECT r.id FROM refunds r JOIN customers c ON kind = c.name JOIN payments p ON p.order_id = r.id
  => id: refunds.id?
  / customers.name, payments.order_id, refunds.id?, refunds.kind? / refunds ~customers ~payments
SELECT c.name FROM orders o JOIN customers c ON customer = c.id JOIN payments p ON order_id = o.id
  => name: customers.name / customers.id, orders.customer, orders.id, payments.order_id
  / ~orders customers ~payments
SELECT x.id FROM customers c JOIN (refunds x JOIN payments p ON name = p.kind) ON c.id = x.id
  => id: refunds.id? / customers.id, payments.kind, refunds.id?, refunds.name? / ~customers refunds ~payments
-- The side of a semi join that only decides is seen by its condition alone.
SELECT amount FROM refunds LEFT SEMI JOIN orders ON refunds.id = orders.id
  => amount: refunds.amount? / orders.id, refunds.id? / ~orders refunds
SELECT amount FROM refunds LEFT ANTI JOIN orders ON refunds.id = orders.id
  => amount: refunds.amount? / orders.id, refunds.id? / ~orders refunds
SELECT amount FROM orders RIGHT SEMI JOIN refunds ON orders.id = refunds.id
  => amount: refunds.amount? / orders.id, refunds.id? / ~orders refunds
SELECT p.paid, region FROM payments p LEFT SEMI JOIN orders o ON p.order_id = o.id
  => paid: payments.paid; region: ? / orders.id, payments.order_id / ~orders payments
SELECT * FROM customers c LEFT SEMI JOIN refunds r ON c.id = r.customer
  => id: customers.id; name: customers.name; region: customers.region
  / customers.id, refunds.customer? / customers ~refunds
SELECT * FROM orders RIGHT ANTI JOIN payments ON id = order_id
  => order_id: payments.order_id; paid: payments.paid; amount: payments.amount; kind: payments.kind
  / orders.id, payments.order_id / ~orders payments
"""

ALIASES = """
SELECT customers.amount FROM orders customers
  => amount: orders.amount / / orders
SELECT orders.amount FROM orders o
  => amount: ? / / orders
SELECT orders.name, customers.amount FROM orders customers JOIN customers orders
  => name: customers.name; amount: orders.amount / / orders customers
SELECT refunds.amount FROM orders refunds
  => amount: orders.amount / / orders
SELECT orders.amount FROM refunds orders
  => amount: refunds.amount? / / refunds
SELECT O.AMOUNT FROM Orders o
  => AMOUNT: orders.amount / / orders
SELECT s.orders.amount FROM orders
  => amount: orders.amount / / orders
SELECT t.orders.amount FROM orders
  => amount: ? / / orders
SELECT x.b FROM orders AS x (a, b, c, d, e, f)
  => b: orders.customer / / orders
SELECT x.b, amount FROM refunds AS x (a, b) JOIN orders o
  => b: ?; amount: orders.amount / / orders refunds
SELECT x.y FROM VALUES (1, 2) AS x (y, z) JOIN orders
  => y: / / orders
"""

STARS = """
SELECT * FROM refunds
  => … / / refunds
SELECT *, c.id AS k FROM customers c JOIN refunds r
  => id: customers.id; name: customers.name; region: customers.region; k: customers.id; …
  / / customers refunds
SELECT c.*, r.amount FROM customers c JOIN refunds r
  => id: customers.id; name: customers.name; region: customers.region; amount: refunds.amount?
  / / customers refunds
SELECT r.* FROM orders o JOIN refunds r
  => … / / orders refunds
SELECT *, upper(name) AS big FROM customers
  => id: customers.id; name: customers.name; region: customers.region; big: customers.name / / customers
SELECT upper(name) AS big, * FROM customers
  => big: customers.name; id: customers.id; name: customers.name; region: customers.region / / customers
SELECT count(*) AS n FROM refunds
  => n: / / refunds
SELECT count(*) AS n, max(amount) AS m FROM refunds JOIN orders
  => n: ; m: orders.amount / / refunds orders
SELECT * FROM customers JOIN payments
  => id: customers.id; name: customers.name; region: customers.region; order_id: payments.order_id;
  paid: payments.paid; amount: payments.amount; kind: payments.kind / / customers payments
SELECT x.* FROM refunds r JOIN (SELECT name FROM customers) x
  => name: customers.name / / customers refunds
SELECT detail.* FROM orders
  => … / / orders
"""

FIELDS = """
SELECT detail.a.b AS v FROM orders
  => v: orders.detail / / orders
SELECT o.detail.a AS v, s.orders.detail.a AS w FROM orders o JOIN s.orders
  => v: orders.detail; w: orders.detail / / orders
SELECT detail.a AS v FROM refunds
  => v: refunds.detail? / / refunds
SELECT r.detail.a AS v FROM refunds r JOIN orders o
  => v: refunds.detail? / / refunds orders
SELECT detail.a AS v FROM refunds JOIN orders
  => v: orders.detail / / refunds orders
SELECT (SELECT max(detail.a) FROM refunds) AS v FROM orders
  => v: ? / / orders refunds
SELECT (SELECT max(detail.a) FROM payments) AS v FROM orders
  => v: orders.detail / / orders payments
SELECT items[0].part AS p, detail['k'] AS k FROM orders
  => p: orders.items; k: orders.detail / / orders
SELECT detail.amount FROM orders detail
  => amount: orders.amount / / orders
-- A field of the inner column to Spark and Impala, a column of the outer table to Hive.
SELECT (SELECT max(region.id) FROM orders) AS v FROM customers region
  => v: ? / / customers orders
"""

CLAUSES = """
SELECT amount AS region FROM orders ORDER BY region
  => region: orders.amount / orders.amount / orders
SELECT id FROM orders ORDER BY amount
  => id: orders.id / orders.amount / orders
SELECT o.region FROM orders o JOIN customers c ORDER BY region
  => region: orders.region / orders.region / orders customers
SELECT o.id AS amount FROM orders o JOIN refunds r ORDER BY amount
  => amount: orders.id / orders.id / orders refunds
SELECT id AS k FROM orders JOIN refunds ORDER BY weight
  => k: orders.id / refunds.weight? / orders ~refunds
SELECT id FROM orders ORDER BY 1
  => id: orders.id / orders.id / orders
-- A column to Impala, the alias to Hive and Spark.
SELECT customer AS amount FROM orders ORDER BY amount + 1
  => amount: orders.customer / ? / orders
SELECT customer AS amount FROM orders DISTRIBUTE BY amount SORT BY amount
  => amount: orders.customer / orders.customer / orders
SELECT customer AS amount FROM orders CLUSTER BY amount
  => amount: orders.customer / orders.customer / orders
SELECT sum(amount) AS total FROM orders GROUP BY customer HAVING total > 1
  => total: orders.amount / orders.amount, orders.customer / orders
SELECT max(customer) AS amount FROM orders GROUP BY id HAVING amount > 1
  => amount: orders.customer / orders.id ? / orders
SELECT max(customer) AS amount FROM orders GROUP BY id HAVING max(amount) > 1
  => amount: orders.customer / orders.amount, orders.id / orders
SELECT upper(region) AS region, count(*) AS n FROM orders GROUP BY region
  => region: orders.region; n: / orders.region / orders
SELECT customer AS c FROM orders GROUP BY c
  => c: orders.customer / orders.customer / orders
-- The alias to Impala, the column to Hive and Spark.
SELECT customer AS region, count(*) AS n FROM orders GROUP BY region
  => region: orders.customer; n: / ? / orders
SELECT name AS label FROM customers WHERE label = 'x'
  => label: customers.name / ? / customers
SELECT o.id AS total FROM orders o JOIN refunds r WHERE total > 1
  => total: orders.id / refunds.total? / orders ~refunds
SELECT sum(amount) OVER (PARTITION BY kind ORDER BY id) AS t FROM orders JOIN refunds
  => t: orders.amount ~ orders.id, refunds.kind? / / orders ~refunds
"""

LATERAL_ALIASES = """
SELECT amount AS a, a + 1 AS b FROM orders
  => a: orders.amount; b: orders.amount / / orders
SELECT amount AS region, region AS x FROM orders
  => region: orders.amount; x: orders.region / / orders
SELECT id AS a, a + 1 AS b FROM refunds
  => a: refunds.id?; b: ? / / refunds
SELECT o.id AS a, a + 1 AS b FROM orders o JOIN refunds r
  => a: orders.id; b: ? / / orders refunds
SELECT b + 1 AS a, amount AS b FROM orders
  => a: ?; b: orders.amount / / orders
SELECT (SELECT max(x) FROM (SELECT paid AS id, id + 1 AS x FROM payments) y) AS v FROM orders
  => v: payments.paid / / orders payments
"""

TABLES = {
    "derived tables": DERIVED_TABLES,
    "common table expressions": COMMON_TABLES,
    "subqueries": SUBQUERIES,
    "lateral": LATERAL,
    "set operations": SET_OPERATIONS,
    "merged columns": MERGED_COLUMNS,
    "joins": JOINS,
    "aliases": ALIASES,
    "stars": STARS,
    "fields": FIELDS,
    "clauses": CLAUSES,
    "lateral aliases": LATERAL_ALIASES,
}


@pytest.fixture(scope="module")
def reader() -> Iterator[SqlReader]:
    with SqlReader() as reader:
        yield reader


@pytest.mark.parametrize(
    "truth",
    [
        pytest.param(truth, id=f"{place}: {truth.text}")
        for place, table in TABLES.items()
        for truth in truths(table)
    ],
)
def test_a_name_resolves_as_in_the_engines_or_not_at_all(reader: SqlReader, truth: Truth) -> None:
    assert read(reader, truth.text) == truth
