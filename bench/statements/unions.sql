Sets and recursion.

--- union_all
-- id = orders.id, archive.id
-- amount = orders.amount, archive.amount
CREATE TABLE {out} AS SELECT id, amount FROM orders UNION ALL SELECT id, amount FROM archive

--- union_distinct
-- region = orders.region, targets.region
CREATE TABLE {out} AS SELECT region FROM orders UNION SELECT region FROM targets

--- union_by_position
-- # The names of the second do not count.
-- a = orders.id, archive.qty
-- b = orders.qty, archive.id
CREATE TABLE {out} AS SELECT id AS a, qty AS b FROM orders UNION ALL SELECT qty AS b, id AS a FROM archive

--- union_of_three
-- kind =
-- id = orders.id, archive.id, customers.id
CREATE TABLE {out} AS
SELECT 'o' AS kind, id FROM orders UNION ALL SELECT 'a', id FROM archive UNION ALL SELECT 'c', id FROM customers WHERE vip

--- union_of_one_table
-- v = orders.id, orders.qty
CREATE TABLE {out} AS SELECT id AS v FROM orders WHERE amount > 1 UNION ALL SELECT qty FROM orders WHERE amount < 1

--- union_of_expressions
-- v = orders.amount, orders.qty, archive.amount
-- w = archive.day
CREATE TABLE {out} AS SELECT amount * qty AS v, CAST(NULL AS DATE) AS w FROM orders UNION ALL SELECT -amount, day FROM archive

--- union_then_aggregate
-- region = orders.region, archive.region
-- total = orders.amount, archive.amount
-- total ~ orders.region, archive.region
CREATE TABLE {out} AS
SELECT region, sum(amount) AS total
FROM (SELECT region, amount FROM orders UNION ALL SELECT region, amount FROM archive) GROUP BY region

--- union_then_join
-- id = orders.id, archive.id
-- owner == targets
-- * ~ orders.region, archive.region, targets.region
CREATE TABLE {out} AS
SELECT u.id, t.owner FROM (SELECT id, region FROM orders UNION ALL SELECT id, region FROM archive) u
JOIN targets t ON u.region = t.region

--- union_of_unions
-- v = orders.id, archive.id, customers.id, items.order_id
CREATE TABLE {out} AS
(SELECT id AS v FROM orders UNION ALL SELECT id FROM archive) UNION ALL (SELECT id FROM customers UNION ALL SELECT order_id FROM items)

--- intersect
-- region == orders
-- * ~ targets.region
CREATE TABLE {out} AS SELECT region FROM orders INTERSECT SELECT region FROM targets

--- except
-- region == orders
-- * ~ targets.region
CREATE TABLE {out} AS SELECT region FROM orders EXCEPT SELECT region FROM targets

--- intersect_all
-- # Rows of both sides are put together and counted: the value is either's.
-- id = orders.id, [archive.id]
-- qty = orders.qty, [archive.qty]
CREATE TABLE {out} AS SELECT id, qty FROM orders INTERSECT ALL SELECT id, qty FROM archive

--- except_all
-- id = orders.id, [archive.id]
-- qty = orders.qty, [archive.qty]
CREATE TABLE {out} AS SELECT id, qty FROM orders EXCEPT ALL SELECT id, qty FROM archive

--- recursive_cte
-- # What flows round the loop stays within the loop; the reader may say that it does not know.
-- parent = edges.parent
-- child = edges.child
-- depth =
-- ! unknown
CREATE TABLE {out} AS
WITH RECURSIVE walk(parent, child, depth) AS (
  SELECT parent, child, 1 FROM edges
  UNION ALL
  SELECT w.parent, e.child, w.depth + 1 FROM walk w JOIN edges e ON w.child = e.parent WHERE w.depth < 5)
SELECT parent, child, depth FROM walk

--- cte
-- name == customers
-- total = orders.amount
-- total ~ orders.cust, customers.id
CREATE TABLE {out} AS
WITH t AS (SELECT cust, sum(amount) AS total FROM orders GROUP BY cust)
SELECT c.name, t.total FROM customers c JOIN t ON t.cust = c.id

--- cte_used_twice
-- region == orders
-- total = orders.amount
-- other = orders.amount
CREATE TABLE {out} AS
WITH t AS (SELECT region, sum(amount) AS total FROM orders GROUP BY region)
SELECT a.region, a.total, b.total AS other FROM t a JOIN t b ON a.region = b.region

--- cte_of_cte
-- area = orders.region
-- t = orders.amount
-- * ~ orders.qty
CREATE TABLE {out} AS
WITH a AS (SELECT region, amount, qty FROM orders WHERE qty > 1), b AS (SELECT region AS area, amount FROM a)
SELECT area, sum(amount) AS t FROM b GROUP BY area

--- cte_hides_a_table
-- # The name of the CTE is that of another table.
-- id = orders.id
-- name = orders.note
CREATE TABLE {out} AS WITH customers AS (SELECT id, note AS name FROM orders) SELECT id, name FROM customers

--- insert_with_cte
-- id == orders
-- v = orders.amount
CREATE TABLE {out} (id INT, v DOUBLE) USING parquet;
WITH t AS (SELECT id, amount FROM orders) INSERT INTO {out} SELECT id, amount FROM t
