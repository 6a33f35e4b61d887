"""View texts with their expected lineage. The names in them are ambiguous on purpose."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from navlin.sql.bounded import SqlReader
from tests.support.sql_scopes import Truth, read, truths

REPORTS = """
SELECT c.name, sum(o.amount) AS total FROM customers c JOIN orders o ON c.id = o.customer WHERE o.region = 'EU'
  GROUP BY c.name ORDER BY total DESC LIMIT 10
  => name: customers.name; total: orders.amount
  / customers.id, customers.name, orders.amount, orders.customer, orders.region / customers orders
SELECT o.id FROM orders o WHERE o.amount > (SELECT avg(i.amount) FROM orders i WHERE i.region = o.region)
  => id: orders.id / orders.amount, orders.region / orders
SELECT region, n FROM (SELECT region, count(*) AS n FROM orders GROUP BY region) t WHERE n > 10
  => region: orders.region; n: / orders.region / orders
SELECT id, rank() OVER (PARTITION BY region ORDER BY amount DESC) AS r FROM orders
  => id: orders.id; r: ~ orders.amount, orders.region / / orders
SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY customer ORDER BY amount) AS rn FROM orders) x WHERE rn = 1
  => id: orders.id; rn: ~ orders.amount, orders.customer / orders.amount, orders.customer / orders
SELECT CASE WHEN c.region = 'EU' THEN o.amount ELSE 0 END AS eu FROM orders o LEFT JOIN customers c ON o.customer = c.id
  => eu: customers.region, orders.amount / customers.id, orders.customer / orders customers
SELECT count(DISTINCT customer) AS n FROM orders
  => n: orders.customer / / orders
SELECT a.id, b.amount FROM orders a JOIN orders b ON a.customer = b.customer AND a.id < b.id
  => id: orders.id; amount: orders.amount / orders.customer, orders.id / orders
SELECT c.name, r.reason, p.paid FROM customers c LEFT JOIN refunds r ON r.customer = c.id
  LEFT JOIN payments p ON p.order_id = r.order_id
  => name: customers.name; reason: refunds.reason?; paid: payments.paid
  / customers.id, payments.order_id, refunds.customer?, refunds.order_id? / customers payments refunds
SELECT name, reason, paid FROM customers LEFT JOIN refunds ON customer = customers.id
  LEFT JOIN payments ON paid = refunds.order_id
  => name: customers.name; reason: refunds.reason?; paid: payments.paid
  / customers.id, payments.paid, refunds.customer?, refunds.order_id? / customers payments refunds
SELECT t.region, s.total FROM (SELECT region, customer FROM orders) t
  LEFT JOIN (SELECT customer, sum(amount) AS total FROM orders GROUP BY customer) s ON t.customer = s.customer
  => region: orders.region; total: orders.amount / orders.customer / orders
SELECT u.k, count(*) AS n FROM (SELECT id AS k FROM orders UNION ALL SELECT order_id AS k FROM payments) u GROUP BY u.k
  => k: orders.id, payments.order_id; n: / orders.id, payments.order_id / orders payments
SELECT sum(x.amount) AS s FROM (SELECT o.amount, o.id FROM orders o WHERE o.region = 'EU') x
  JOIN customers c ON c.id = x.id
  => s: orders.amount / customers.id, orders.id, orders.region / orders ~customers
SELECT DISTINCT o.region, p.kind FROM orders o JOIN payments p ON p.order_id = o.id
  => region: orders.region; kind: payments.kind / orders.id, payments.order_id / orders payments
SELECT o.id FROM orders o, customers c WHERE o.customer = c.id
  => id: orders.id / customers.id, orders.customer / orders ~customers
SELECT sum(CASE WHEN region = 'x' THEN amount END) AS s FROM orders
  => s: orders.amount, orders.region / / orders
SELECT a.id FROM orders AS a, customers AS b, refunds AS c WHERE a.customer = b.id AND c.x = a.id
  => id: orders.id / customers.id, orders.customer, orders.id, refunds.x? / orders ~customers ~refunds
SELECT id FROM (SELECT id FROM orders ORDER BY amount LIMIT 10) x
  => id: orders.id / orders.amount / orders
SELECT region AS r, sum(amount) AS s FROM orders GROUP BY 1 HAVING s > 0 ORDER BY 2 DESC
  => r: orders.region; s: orders.amount / orders.amount, orders.region / orders
SELECT max(amount) AS amount FROM orders HAVING max(amount) > 10
  => amount: orders.amount / orders.amount / orders
SELECT sum(amount) OVER w AS s FROM orders WINDOW w AS (PARTITION BY region ORDER BY id)
  => s: orders.amount ~ orders.id, orders.region / / orders
"""

HIVE = """
SELECT `o`.`id` AS `the id` FROM `s`.`orders` `o`
  => the id: orders.id / / orders
SELECT `_u1`.`id` FROM (SELECT `orders`.`id` FROM `s`.`orders`) `_u1`
  => id: orders.id / / orders
SELECT id, j.a FROM orders LATERAL VIEW json_tuple(detail, 'a', 'b') j AS a, b
  => id: orders.id; a: orders.detail / / orders
SELECT id, k, v FROM orders LATERAL VIEW stack(2, 'amount', amount, 'region', region) s AS k, v
  => id: orders.id; k: ; v: orders.amount, orders.region / / orders
SELECT id, m.key FROM orders LATERAL VIEW explode(detail) m
  => id: orders.id; key: orders.detail / / orders
FROM orders SELECT id, amount
  => id: orders.id; amount: orders.amount / / orders
SELECT TRANSFORM (id, amount) USING 'cat' AS (a, b) FROM orders
  => a: orders.amount, orders.id; b: orders.amount, orders.id / / orders
SELECT /*+ MAPJOIN(c) */ o.id FROM orders o JOIN customers c ON o.customer = c.id
  => id: orders.id / customers.id, orders.customer / orders ~customers
SELECT o.id FROM orders TABLESAMPLE (10 PERCENT) o
  => id: orders.id / / orders
SELECT INPUT__FILE__NAME AS f, id FROM orders
  => f: ; id: orders.id / / orders
SELECT INPUT__FILE__NAME AS f FROM refunds
  => f: / / refunds
SELECT o.INPUT__FILE__NAME AS f, o.BLOCK__OFFSET__INSIDE__FILE AS b FROM orders o
  => f: ; b: / / orders
SELECT r.INPUT__FILE__NAME AS f FROM refunds r
  => f: / / refunds
SELECT id FROM orders WHERE EXISTS (SELECT INPUT__FILE__NAME FROM refunds WHERE INPUT__FILE__NAME = 'x')
  => id: orders.id / / orders ~refunds
SELECT region, customer, sum(amount) AS t, GROUPING__ID AS g FROM orders GROUP BY region, customer
  GROUPING SETS ((region), (customer))
  => region: orders.region; customer: orders.customer; t: orders.amount; g: / orders.customer, orders.region / orders
SELECT region, sum(amount) AS t FROM orders GROUP BY region WITH ROLLUP
  => region: orders.region; t: orders.amount / orders.region / orders
SELECT year(ts) AS y FROM events GROUP BY year(ts)
  => y: events.ts / events.ts / events
SELECT year(ts) AS year FROM events GROUP BY year
  => year: events.ts / ? / events
SELECT id, date_format(ts, 'yyyy') AS year FROM events WHERE year > 2000
  => id: events.id; year: events.ts / events.year / events
SELECT id, ts AS day FROM events ORDER BY day
  => id: events.id; day: events.ts / events.ts / events
SELECT extract(day FROM ts) AS d, ts + INTERVAL 1 DAY AS t, cast(ts AS date) AS c FROM events
  => d: events.ts; t: events.ts; c: events.ts / / events
SELECT e.key, m.value FROM events e LATERAL VIEW explode(props) m AS key, value
  => key: events.key; value: events.props / / events
SELECT value FROM events LATERAL VIEW explode(props) m AS k, v
  => value: events.value / / events
SELECT pos, p.i FROM events LATERAL VIEW posexplode(props) p AS i, v
  => pos: events.pos; i: events.props / / events
SELECT name, col FROM customers LATERAL VIEW explode(array(region)) e
  => name: customers.name; col: customers.region / / customers
SELECT id FROM orders DISTRIBUTE BY customer SORT BY amount
  => id: orders.id / orders.amount, orders.customer / orders
SELECT id AS customer FROM refunds JOIN orders USING (id) SORT BY customer
  => customer: refunds.id? / orders.id, refunds.id? / ~orders refunds
SELECT x.v FROM (SELECT max(amount) AS v FROM orders GROUP BY region) x WHERE x.v > 1
  => v: orders.amount / orders.amount, orders.region / orders
SELECT x._c0 AS v FROM (SELECT amount + 1 FROM orders) x
  => v: orders.amount / / orders
SELECT x._c0 AS v FROM (SELECT amount + 1, id + 1 FROM orders) x
  => v: ? / / orders
SELECT amount FROM (SELECT cast(amount AS int) FROM orders) x JOIN refunds r
  => amount: ? / / orders refunds
SELECT (SELECT max(key) FROM (SELECT explode(detail) FROM orders) x) AS m FROM events
  => m: ? / / events orders
SELECT tools.mask(amount, o.region) AS m, o.detail.f AS f, tools.parse(o.detail).x AS x FROM orders o
  => m: orders.amount, orders.region; f: orders.detail; x: orders.detail / / orders
SELECT max(tools.mask(amount)) AS m FROM orders o WHERE tools.known(o.customer) GROUP BY tools.part(region)
  => m: orders.amount / orders.customer, orders.region / orders
SELECT x.m FROM (SELECT tools.mask(amount) AS m, tools.mask(id) FROM orders) x
  => m: orders.amount / / orders
SELECT id, e.v FROM orders LATERAL VIEW tools.unfold(detail) e AS v
  => id: orders.id; v: orders.detail / / orders
WITH few (k) AS (SELECT id, region, amount FROM orders) SELECT k, amount FROM few
  => k: orders.id; amount: orders.amount / / orders
WITH few (k) AS (SELECT id, region FROM orders) SELECT * FROM few
  => k: orders.id; region: orders.region / / orders
SELECT o.ROW__ID.writeid AS w, id FROM orders o WHERE ROW__ID.bucketid = 1
  => w: ; id: orders.id / / orders
SELECT id, `array`[pos] AS a FROM (SELECT id, detail AS `array`, amount AS pos FROM orders) x
  => id: orders.id; a: orders.amount, orders.detail / / orders
SELECT trunc(amount) AS t, last_value(id, true) OVER (PARTITION BY region) AS l FROM orders
  => t: orders.amount; l: orders.id ~ orders.region / / orders
SELECT cast(ts AS timestamplocaltz) AS t, 'AS timestamplocaltz' AS words FROM events
  => t: events.ts; words: / / events
SELECT id FROM orders FOR SYSTEM_VERSION AS OF 7 o WHERE o.detail <> 'FOR SYSTEM_VERSION AS OF'
  => id: orders.id / orders.detail / orders
"""

IMPALA = """
SELECT item FROM s.orders.items WHERE pos > 1
  => item: orders.items / orders.items / orders
SELECT i.part.x.y AS y FROM s.orders.detail.deep.items i
  => y: orders.detail / / orders
SELECT o.id, d.x FROM orders o, o.detail.deep.deeper.items d
  => id: orders.id; x: orders.detail / / orders
SELECT snapshot_id FROM s.orders.snapshots
  => snapshot_id: orders.snapshots.snapshot_id? / / orders.snapshots
SELECT made_at FROM lake.s.orders.snapshots
  => made_at: lake.s.orders.snapshots.made_at? / / lake.s.orders.snapshots
SELECT extract(ts, 'year') AS y, extract(e.day, 'month') AS m, extract(hour FROM ts) AS h FROM events e
  => y: events.ts; m: events.day; h: events.ts / / events
SELECT o.id, v.part FROM orders o JOIN (VALUES (1 AS k, 'x' AS part), (2, 'y')) v ON v.k = o.amount
  => id: orders.id; part: / orders.amount / orders
SELECT v.k, o.id FROM orders o, (VALUES ((1 AS k), (2))) v
  => k: ; id: orders.id / / orders
SELECT FILE__POSITION AS p, o.ICEBERG__DATA__SEQUENCE__NUMBER AS n, id FROM orders o
  => p: ; n: ; id: orders.id / / orders
SELECT [STRAIGHT_JOIN] o.id FROM orders o JOIN [SHUFFLE] customers c ON o.customer = c.id
  => id: orders.id / customers.id, orders.customer / orders ~customers
SELECT STRAIGHT_JOIN o.id FROM orders o JOIN /* +BROADCAST */ customers c ON o.customer = c.id
  => id: orders.id / customers.id, orders.customer / orders ~customers
SELECT o.id, i.item FROM orders o, o.items i WHERE i.pos < 3
  => id: orders.id; item: orders.items / orders.items / orders
SELECT p.x FROM orders o, o.items i, i.parts p
  => x: orders.items / / orders
SELECT o.id, i.item FROM orders o LEFT JOIN o.items i
  => id: orders.id; item: orders.items / / orders
SELECT o.id, (SELECT count(*) FROM o.items) AS n FROM orders o
  => id: orders.id; n: / / orders
SELECT o.id, (SELECT max(i.price) FROM o.items i WHERE i.kind = o.region) AS m FROM orders o
  => id: orders.id; m: orders.items ~ orders.region / / orders
SELECT v.m, c.name FROM orders o, customers c, (SELECT max(price) AS m FROM o.items) v
  => m: orders.items; name: customers.name / / orders customers
SELECT id FROM orders o WHERE o.id IN (SELECT i.id FROM o.items i, customers c WHERE c.id = i.owner)
  => id: orders.id / customers.id, orders.id, orders.items / orders ~customers
SELECT group_concat(name, ', ') AS names FROM customers GROUP BY region
  => names: customers.name / customers.region / customers
SELECT a.id FROM orders a LEFT ANTI JOIN payments p ON a.id = p.order_id
  => id: orders.id / orders.id, payments.order_id / orders ~payments
SELECT count(*) AS n, ndv(customer) AS c FROM orders
  => n: ; c: orders.customer / / orders
SELECT id FROM orders WHERE amount NOT IN (SELECT amount FROM payments WHERE payments.order_id = orders.id)
  => id: orders.id / orders.amount, orders.id, payments.amount, payments.order_id / orders ~payments
SELECT id, lag(amount, 1) OVER (ORDER BY id) AS before FROM orders
  => id: orders.id; before: orders.amount ~ orders.id / / orders
WITH t AS (SELECT 1 AS one) SELECT t.one, o.id FROM t, orders o
  => one: ; id: orders.id / / orders
SELECT id FROM orders ORDER BY amount LIMIT 5 OFFSET 2
  => id: orders.id / orders.amount / orders
SELECT region FROM orders o LEFT SEMI JOIN refunds r ON o.id = r.order_id AND r.kind = region
  => region: orders.region / orders.id, orders.region, refunds.kind?, refunds.order_id? / orders ~refunds
SELECT id FROM orders FOR SYSTEM_TIME AS OF '2020-01-01'
  => id: orders.id / / orders
"""

SPARK = """
SELECT * EXCEPT (detail, items) FROM orders
  => id: orders.id; customer: orders.customer; amount: orders.amount; region: orders.region / / orders
SELECT explode(items) AS item, id FROM orders
  => item: orders.items; id: orders.id / / orders
SELECT posexplode(items) AS (p, i), id FROM orders
  => p: orders.items; i: orders.items; id: orders.id / / orders
SELECT filter(items, i -> i > amount) AS f FROM orders
  => f: orders.amount, orders.items / / orders
SELECT transform(items, id -> id + 1) AS f FROM orders
  => f: orders.items / / orders
SELECT aggregate(items, 0, (amount, x) -> amount + x + id) AS f FROM orders
  => f: orders.id, orders.items / / orders
SELECT exists(items, i -> i = region) AS e FROM orders
  => e: orders.items, orders.region / / orders
SELECT named_struct('id', amount).id AS v FROM orders
  => v: orders.amount / / orders
SELECT struct(amount AS id) AS st FROM orders
  => st: orders.amount / / orders
SELECT max(struct(amount, id)).id AS latest FROM orders
  => latest: orders.amount, orders.id / / orders
SELECT a.b FROM (SELECT struct(amount AS b) AS a FROM orders)
  => b: orders.amount / / orders
SELECT first_value(amount) IGNORE NULLS OVER (PARTITION BY region) AS f FROM orders
  => f: orders.amount ~ orders.region / / orders
SELECT id FROM orders QUALIFY row_number() OVER (PARTITION BY customer ORDER BY amount) = 1
  => id: orders.id / orders.amount, orders.customer / orders
SELECT r.id, o.amount FROM range(10) r JOIN orders o ON r.id = o.id
  => id: ; amount: orders.amount / orders.id / orders
SELECT x FROM range(3) r JOIN refunds
  => x: ? / / refunds
SELECT region, sum(amount) AS t FROM orders GROUP BY ALL
  => region: orders.region; t: orders.amount / orders.region / orders
SELECT region, id FROM orders ORDER BY ALL
  => region: orders.region; id: orders.id / orders.id, orders.region / orders
SELECT id FROM orders VERSION AS OF 3
  => id: orders.id / / orders
SELECT timestampadd(DAY, value, ts) AS t FROM events
  => t: events.ts, events.value / / events
SELECT dateadd(day, 1, ts) AS t FROM events
  => t: events.ts / / events
SELECT datediff(day, ts, ts) AS d FROM events
  => d: events.ts / / events
SELECT date_trunc('day', ts) AS t, extract(year FROM ts) AS y FROM events
  => t: events.ts; y: events.ts / / events
SELECT o.id, x.top FROM orders o LEFT JOIN LATERAL
  (SELECT max(p.paid) AS top FROM payments p WHERE p.order_id = o.id AND kind = region) x ON true
  => id: orders.id; top: payments.paid / orders.id, orders.region, payments.kind, payments.order_id / orders payments
SELECT o.id, x.top FROM orders o, LATERAL (SELECT max(f.paid) AS top FROM refunds f WHERE kind = region) x
  => id: orders.id; top: refunds.paid? / refunds.kind? ? / orders refunds
SELECT amount * 2 AS twice, twice + 1 AS more, more + twice AS most FROM orders
  => twice: orders.amount; more: orders.amount; most: orders.amount / / orders
SELECT detail AS d, d.x AS x FROM orders
  => d: orders.detail; x: orders.detail / / orders
SELECT amount AS id, sum(id) OVER (PARTITION BY region) AS s FROM orders
  => id: orders.amount; s: orders.id ~ orders.region / / orders
SELECT stack(2, id, amount) AS (a) FROM orders
  => a: orders.amount, orders.id / / orders
SELECT id FROM orders WHERE region IN ('a', 'b') AND amount IS NOT NULL
  => id: orders.id / orders.amount, orders.region / orders
FROM orders |> WHERE orders.amount > 1 |> SELECT id AS k, region
  => k: orders.id; region: orders.region / orders.amount / orders
TABLE orders |> EXTEND amount + 1 AS more |> SELECT id, more
  => id: orders.id; more: orders.amount / / orders
SELECT id FROM orders |> EXTEND id + 1 AS next
  => id: orders.id; next: orders.id / / orders
FROM orders o |> AS x |> JOIN customers c ON x.customer = c.id |> SELECT x.id, c.name
  => id: orders.id; name: customers.name / customers.id, orders.customer / orders customers
FROM orders |> SELECT sum(amount) OVER w AS s WINDOW w AS (PARTITION BY region)
  => s: orders.amount ~ orders.region / / orders
FROM orders |> LIMIT 9 |> ORDER BY amount |> AGGREGATE sum(amount) AS s, count(*) AS n GROUP BY region AS r
  |> WHERE s > 1
  => r: orders.region; s: orders.amount; n: / orders.amount, orders.region / orders
FROM customers |> SET name = upper(region) |> DROP region
  => id: customers.id; name: customers.region / / customers
TABLE customers |> SELECT id |> UNION ALL (FROM orders |> SELECT customer) |> WHERE id > 1
  => id: customers.id, orders.customer / customers.id, orders.customer / customers orders
SELECT region FROM customers |> EXCEPT (SELECT region FROM orders) |> SELECT region AS r
  => r: customers.region / orders.region / customers ~orders
WITH big AS (TABLE orders |> WHERE amount > (FROM payments |> AGGREGATE max(paid) AS m)) SELECT id FROM big
  => id: orders.id / orders.amount, payments.paid / orders ~payments
FROM orders LATERAL VIEW explode(items) i AS item |> SELECT orders.id, item
  => id: orders.id; item: orders.items / / orders
SELECT * FROM (TABLE customers) c
  => id: customers.id; name: customers.name; region: customers.region / / customers
"""

UNKNOWN_TABLES = """
SELECT id FROM refunds r WHERE r.id IN (SELECT id FROM orders)
  => id: refunds.id? / orders.id, refunds.id? / ~orders refunds
SELECT id FROM refunds WHERE EXISTS (SELECT 1 FROM orders WHERE customer = buyer)
  => id: refunds.id? / orders.customer, refunds.buyer? / ~orders refunds
SELECT id FROM refunds WHERE EXISTS (SELECT 1 FROM orders WHERE orders.id = refunds.order_id AND weight > 1)
  => id: refunds.id? / orders.id, refunds.order_id?, refunds.weight? / ~orders refunds
SELECT id FROM refunds WHERE EXISTS (SELECT 1 FROM returns WHERE weight > 1)
  => id: refunds.id? / ? / refunds ~returns
SELECT x.a FROM (SELECT r.a, t.b FROM refunds r JOIN returns t ON r.id = t.id) x
  => a: refunds.a? / refunds.id?, returns.id? / refunds ~returns
SELECT a FROM refunds r JOIN returns t ON r.id = t.id
  => a: ? / refunds.id?, returns.id? / refunds returns
WITH x AS (SELECT * FROM refunds), y AS (SELECT * FROM x) SELECT y.amount, o.id FROM y JOIN orders o
  => amount: refunds.amount?; id: orders.id / / refunds orders
WITH x AS (SELECT * FROM refunds) SELECT amount FROM x JOIN orders o ON x.id = o.id
  => amount: orders.amount / orders.id, refunds.id? / orders ~refunds
SELECT x.total FROM (SELECT customer, sum(amount) AS total FROM refunds GROUP BY customer) x
  => total: refunds.amount? / refunds.customer? / refunds
SELECT customer AS c, count(*) AS n FROM refunds GROUP BY customer ORDER BY n
  => c: refunds.customer?; n: / refunds.customer? / refunds
SELECT upper(k) AS u FROM refunds GROUP BY u
  => u: refunds.k? / ? / refunds
SELECT customer FROM refunds GROUP BY customer HAVING sum(amount) > 1
  => customer: refunds.customer? / refunds.amount?, refunds.customer? / refunds
SELECT r.k, count(*) AS n FROM refunds r GROUP BY r.k
  => k: refunds.k?; n: / refunds.k? / refunds
SELECT r.k AS r FROM refunds r ORDER BY r.z
  => r: refunds.k? / ? / refunds
SELECT id FROM orders WHERE id IN (SELECT order_id FROM payments UNION ALL SELECT id FROM refunds)
  => id: orders.id / orders.id, payments.order_id ? / orders ~payments ~refunds
SELECT id FROM orders WHERE id IN (SELECT x.k FROM (SELECT order_id AS k FROM refunds) x)
  => id: orders.id / orders.id, refunds.order_id? / orders ~refunds
SELECT id FROM orders WHERE id IN (SELECT x.k FROM (SELECT amount AS k FROM refunds) x)
  => id: orders.id / orders.id ? / orders ~refunds
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM refunds LATERAL VIEW explode(tags) t AS tag WHERE tag = name)
  => id: customers.id / refunds.tags? ? / customers ~refunds
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM refunds LATERAL VIEW explode(tags) t AS tag WHERE tag = c.name)
  => id: customers.id / customers.name, refunds.tags? / customers ~refunds
SELECT (SELECT count(*) FROM refunds f WHERE f.customer = c.id) AS n, c.name FROM customers c
  => n: ~ customers.id, refunds.customer?; name: customers.name / / customers refunds
SELECT CASE WHEN amount IN (SELECT amount FROM refunds) THEN region END AS r FROM orders
  => r: orders.amount, orders.region ? / / orders refunds
SELECT o.id, (SELECT max(r.at) FROM refunds r WHERE r.order_id = o.id AND amount > 0) AS at FROM orders o
  => id: orders.id; at: refunds.at? ? ~ orders.id, refunds.order_id? / / orders refunds
SELECT name FROM customers WHERE id = ANY (SELECT id FROM refunds)
  => name: customers.name / customers.id ? / customers ~refunds
SELECT sum(amount) OVER (PARTITION BY name) AS s FROM refunds CROSS JOIN customers
  => s: refunds.amount? ~ customers.name / / refunds ~customers
SELECT id, amount FROM (SELECT * FROM orders) o LEFT JOIN (SELECT id AS rid, reason FROM refunds) r ON id = rid
  => id: orders.id; amount: orders.amount / orders.id, refunds.id? / orders ~refunds
SELECT reason FROM (SELECT * FROM orders) o LEFT JOIN (SELECT * FROM refunds) r ON o.id = r.order_id
  => reason: refunds.reason? / orders.id, refunds.order_id? / refunds ~orders
SELECT detail.reason AS v FROM (SELECT * FROM refunds) r JOIN orders o ON o.id = r.id
  => v: orders.detail / orders.id, refunds.id? / orders ~refunds
SELECT r.detail.reason AS v FROM (SELECT * FROM refunds) r JOIN orders o ON o.id = r.id
  => v: refunds.detail? / orders.id, refunds.id? / refunds ~orders
SELECT *, amount FROM refunds JOIN customers
  => id: customers.id; name: customers.name; region: customers.region; amount: refunds.amount?; … / / refunds customers
SELECT t.* FROM (SELECT o.id, r.* FROM orders o JOIN refunds r) t
  => id: orders.id; … / / orders refunds
"""

LEVELS = """
SELECT t.id, t2.id AS id2 FROM orders t JOIN (SELECT t.id FROM customers t) t2 ON t.id = t2.id
  => id: orders.id; id2: customers.id / customers.id, orders.id / orders customers
SELECT t.id FROM orders t JOIN (SELECT t.id FROM refunds t) t2 ON t.id = t2.id
  => id: orders.id / orders.id, refunds.id? / orders ~refunds
WITH o AS (SELECT paid FROM payments) SELECT o.amount FROM orders o
  => amount: orders.amount / / orders
WITH a AS (SELECT id AS x FROM orders), b AS (SELECT id AS x FROM customers) SELECT a.x FROM b a
  => x: customers.id / / customers
SELECT c.id FROM (WITH c AS (SELECT id FROM customers) SELECT id FROM c) x JOIN c
  => id: c.id? / / c customers
SELECT c.name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id
  AND EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.paid > c.id))
  => name: customers.name / customers.id, orders.customer, orders.id, payments.order_id, payments.paid
  / customers ~orders ~payments
WITH C AS (SELECT id FROM orders) SELECT c.ID FROM c
  => ID: orders.id / / orders
SELECT id FROM (SELECT id FROM (SELECT id FROM (SELECT id FROM orders) a) b) c
  => id: orders.id / / orders
SELECT (SELECT (SELECT max(o.amount) FROM customers) FROM payments) AS m FROM orders o
  => m: orders.amount / / customers orders payments
SELECT (SELECT (SELECT max(amount) FROM customers) FROM payments) AS m FROM orders o
  => m: payments.amount / / customers orders payments
SELECT (SELECT (SELECT max(amount) FROM customers) FROM refunds) AS m FROM orders o
  => m: ? / / customers orders refunds
WITH x AS (SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM payments WHERE order_id = id)) SELECT id FROM x
  => id: orders.id / orders.id, payments.order_id / orders ~payments
WITH x AS (SELECT customer AS id, amount FROM orders), y AS (SELECT x.amount FROM x JOIN customers USING (id))
  SELECT * FROM y
  => amount: orders.amount / customers.id, orders.customer / orders ~customers
SELECT x.id FROM (SELECT id, amount FROM orders) x WHERE amount > (SELECT avg(amount) FROM (SELECT amount FROM payments) y)
  => id: orders.id / orders.amount, payments.amount / orders ~payments
SELECT customers.id FROM customers WHERE id IN (SELECT customers.customer FROM orders customers)
  => id: customers.id / customers.id, orders.customer / customers ~orders
SELECT orders.id FROM orders JOIN (SELECT orders.paid AS p, orders.order_id FROM payments orders) x ON x.order_id = orders.id
  => id: orders.id / orders.id, payments.order_id / orders ~payments
"""

JOINED = """
SELECT o.id, c.id AS cid FROM orders o RIGHT JOIN customers c USING (id)
  => id: orders.id; cid: customers.id / customers.id, orders.id / orders customers
SELECT o.id, c.id AS cid FROM orders o FULL JOIN customers c USING (id)
  => id: orders.id; cid: customers.id / customers.id, orders.id / orders customers
SELECT id FROM orders JOIN customers USING (id) JOIN refunds USING (id)
  => id: orders.id / customers.id, orders.id, refunds.id? / orders ~customers ~refunds
SELECT id FROM orders FULL JOIN customers USING (id) FULL JOIN events USING (id)
  => id: customers.id, events.id, orders.id / customers.id, events.id, orders.id / customers events orders
SELECT id, region FROM orders JOIN customers USING (id, region)
  => id: orders.id; region: orders.region / customers.id, customers.region, orders.id, orders.region
  / orders ~customers
SELECT * FROM customers NATURAL JOIN events
  => id: customers.id; region: customers.region; name: customers.name; ts: events.ts; day: events.day;
  year: events.year; value: events.value; key: events.key; pos: events.pos; col: events.col; props: events.props
  / customers.id, customers.region, events.id, events.region / customers events
SELECT * FROM (SELECT id, name FROM customers) a JOIN (SELECT id, amount FROM orders) b USING (id)
  JOIN (SELECT order_id AS id, kind FROM payments) d ON a.id = d.id
  => id: customers.id; name: customers.name; amount: orders.amount; id: payments.order_id; kind: payments.kind
  / customers.id, orders.id, payments.order_id / customers orders payments
SELECT id FROM (SELECT id FROM customers) a JOIN (SELECT id FROM orders) b USING (id)
  JOIN (SELECT order_id AS id FROM payments) d ON a.id = d.id
  => id: ? / customers.id, orders.id, payments.order_id / customers orders payments
SELECT o.id FROM customers c, orders o JOIN payments p ON p.order_id = o.id WHERE c.id = o.customer
  => id: orders.id / customers.id, orders.customer, orders.id, payments.order_id / orders ~customers ~payments
SELECT c.name, x.id FROM customers c LEFT JOIN (orders x JOIN payments p ON x.id = p.order_id) ON c.id = x.customer
  => name: customers.name; id: orders.id / customers.id, orders.customer, orders.id, payments.order_id
  / customers orders ~payments
SELECT j.id, j.paid FROM (orders JOIN payments ON id = order_id) j
  => id: orders.id; paid: payments.paid / orders.id, payments.order_id / orders payments
SELECT o.id FROM orders o JOIN customers c ON o.customer <=> c.id
  => id: orders.id / customers.id, orders.customer / orders ~customers
SELECT o.id FROM orders o LEFT OUTER JOIN refunds r ON 1 = 1
  => id: orders.id / / orders refunds
SELECT a.id, b.id AS other FROM orders a JOIN customers b ON a.region = b.region AND region = 'x'
  => id: orders.id; other: customers.id / customers.region, orders.region ? / orders customers
SELECT o.id FROM orders o JOIN refunds r ON reason = 'x' AND amount > 1
  => id: orders.id / orders.amount, refunds.reason? / orders ~refunds
SELECT c.id FROM customers c LEFT SEMI JOIN orders o ON c.id = o.customer LEFT SEMI JOIN payments p ON p.kind = name
  => id: customers.id / customers.id, customers.name, orders.customer, payments.kind / customers ~orders ~payments
SELECT id FROM orders LEFT SEMI JOIN customers USING (id)
  => id: orders.id / customers.id, orders.id / orders ~customers
SELECT id FROM refunds LEFT SEMI JOIN orders USING (id)
  => id: refunds.id? / orders.id, refunds.id? / ~orders refunds
"""

VALUES_AND_LITERALS = """
SELECT 1 AS one
  => one: / /
SELECT 'id' AS a, "region" AS b FROM orders
  => a: ; b: / / orders
SELECT current_date AS d, unix_timestamp() AS u, rand() AS r, id FROM orders
  => d: ; u: ; r: ; id: orders.id / / orders
SELECT current_timestamp AS t FROM refunds
  => t: / / refunds
SELECT IF(amount > 0, region, NULL) AS r FROM orders
  => r: orders.amount, orders.region / / orders
SELECT amount BETWEEN 1 AND id AS b FROM orders
  => b: orders.amount, orders.id / / orders
SELECT cast(detail.x AS string) AS x, o.items[0].name AS n, size(o.detail.list) AS l FROM orders o
  => x: orders.detail; n: orders.items; l: orders.detail / / orders
SELECT items[id] AS i FROM orders
  => i: orders.id, orders.items / / orders
SELECT concat_ws('-', name, region) AS k FROM customers
  => k: customers.name, customers.region / / customers
SELECT id /* , amount */ FROM orders /* JOIN refunds */ WHERE id = 1
  => id: orders.id / orders.id / orders
SELECT id FROM orders;
  => id: orders.id / / orders
(SELECT id FROM orders)
  => id: orders.id / / orders
((SELECT id FROM orders) UNION (SELECT order_id FROM payments))
  => id: orders.id, payments.order_id / / orders payments
SELECT id FROM ((orders))
  => id: orders.id / / orders
SELECT v.a, o.id FROM orders o JOIN (VALUES (1, 'x'), (2, 'y')) v (a, b) ON v.a = o.id
  => a: ; id: orders.id / orders.id / orders
SELECT amount AS id, id AS amount FROM orders ORDER BY id
  => id: orders.amount; amount: orders.id / orders.amount / orders
"""

SET_OPERATIONS = """
SELECT id, 'o' AS src FROM orders UNION ALL SELECT order_id, 'p' FROM payments
  => id: orders.id, payments.order_id; src: / / orders payments
SELECT * FROM customers UNION ALL SELECT * FROM refunds
  => id: customers.id ?; name: customers.name ?; region: customers.region ? / / customers refunds
SELECT id FROM (SELECT id FROM orders UNION ALL SELECT id FROM customers UNION ALL SELECT id FROM refunds) u WHERE id > 0
  => id: customers.id, orders.id, refunds.id? / customers.id, orders.id, refunds.id? / customers orders refunds
SELECT id FROM orders MINUS SELECT order_id FROM payments
  => id: orders.id / payments.order_id / orders ~payments
WITH a AS (SELECT id FROM orders) SELECT id FROM a UNION SELECT id FROM customers
  => id: customers.id, orders.id / / customers orders
SELECT id AS k FROM orders UNION ALL SELECT order_id FROM payments ORDER BY k
  => k: orders.id, payments.order_id / orders.id, payments.order_id / orders payments
SELECT amount, id FROM refunds UNION ALL SELECT amount, id FROM orders
  => amount: orders.amount, refunds.amount?; id: orders.id, refunds.id? / / orders refunds
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id
  UNION ALL SELECT 1 FROM refunds r WHERE r.order_id = o.id)
  => id: orders.id / orders.id, payments.order_id, refunds.order_id? / orders ~payments ~refunds
SELECT name, id FROM customers UNION ALL SELECT region, customer FROM orders WHERE amount > 1
  => name: customers.name, orders.region; id: customers.id, orders.customer / orders.amount / customers orders
SELECT u.name FROM (SELECT name FROM customers UNION ALL SELECT name FROM payments) u JOIN events e
  => name: customers.name ? / / customers events payments
"""

TABLES = {
    "reports": REPORTS,
    "hive": HIVE,
    "impala": IMPALA,
    "spark": SPARK,
    "unknown tables": UNKNOWN_TABLES,
    "levels": LEVELS,
    "joined": JOINED,
    "values": VALUES_AND_LITERALS,
    "set operations": SET_OPERATIONS,
}


@pytest.fixture(scope="module")
def reader() -> Iterator[SqlReader]:
    with SqlReader() as reader:
        yield reader


@pytest.mark.parametrize(
    ("kind", "truth"),
    [
        pytest.param(kind, truth, id=f"{kind}: {truth.text}")
        for kind, table in TABLES.items()
        for truth in truths(table)
    ],
)
def test_a_view_has_exactly_the_lineage_of_its_text(reader: SqlReader, kind: str, truth: Truth) -> None:
    dialects = ("spark", "hive") if kind == "spark" else ("hive", "spark")
    assert read(reader, truth.text, dialects) == truth
