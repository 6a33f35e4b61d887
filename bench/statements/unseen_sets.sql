Rows of one side and of the other.

--- unseen_minus_of_aliases
-- a = orders.id
-- b = orders.region
-- * ~ archive.id, archive.region
CREATE TABLE {out} AS SELECT id AS a, region AS b FROM orders MINUS SELECT id, region FROM archive

--- unseen_except_all_twice
-- id = orders.id, [archive.id], [items.order_id]
-- qty = orders.qty, [archive.qty], [items.qty]
CREATE TABLE {out} AS
(SELECT id, qty FROM orders EXCEPT ALL SELECT id, qty FROM archive) EXCEPT ALL SELECT order_id, qty FROM items

--- unseen_intersect_all_of_unions
-- id = orders.id, archive.id, [items.order_id]
CREATE TABLE {out} AS
(SELECT id FROM orders UNION ALL SELECT id FROM archive) INTERSECT ALL SELECT order_id FROM items

--- unseen_intersect_before_union
-- # INTERSECT binds closer than UNION.
-- id = orders.id, archive.id, [items.order_id]
CREATE TABLE {out} AS SELECT id FROM orders UNION SELECT id FROM archive INTERSECT SELECT order_id FROM items

--- unseen_symmetric_difference
-- id = orders.id, archive.id
-- region = orders.region, archive.region
CREATE TABLE {out} AS
(SELECT id, region FROM orders EXCEPT SELECT id, region FROM archive)
UNION ALL (SELECT id, region FROM archive EXCEPT SELECT id, region FROM orders)

--- unseen_symmetric_difference_marked
-- side =
-- id = orders.id, archive.id
-- qty = orders.qty, archive.qty
CREATE TABLE {out} AS
SELECT 'left' AS side, * FROM (SELECT id, qty FROM orders EXCEPT ALL SELECT id, qty FROM archive)
UNION ALL SELECT 'right', * FROM (SELECT id, qty FROM archive EXCEPT ALL SELECT id, qty FROM orders)

--- unseen_except_all_then_rollup
-- region = orders.region, [archive.region]
-- n = orders.id, [archive.id]
-- total = orders.qty, [archive.qty]
CREATE TABLE {out} AS
SELECT region, count(DISTINCT id) AS n, sum(qty) AS total
FROM (SELECT id, region, qty FROM orders EXCEPT ALL SELECT id, region, qty FROM archive) GROUP BY ROLLUP (region)

--- unseen_intersect_all_joined
-- name == customers
-- id = orders.cust, [archive.qty]
-- * ~ customers.id, orders.cust
CREATE TABLE {out} AS
SELECT c.name, x.id FROM (SELECT cust AS id FROM orders INTERSECT ALL SELECT qty FROM archive) x JOIN customers c ON c.id = x.id

--- unseen_union_of_what_was_excepted
-- v = orders.note, customers.name
-- w = orders.region, customers.city
-- * ~ targets.owner
CREATE TABLE {out} AS
SELECT note AS v, region AS w FROM orders EXCEPT (SELECT owner, region FROM targets)
UNION SELECT name, city FROM customers

--- unseen_union_of_literals_and_columns
-- kind =
-- a = orders.id, items.qty
-- b = orders.note, customers.city
CREATE TABLE {out} AS
SELECT 1 AS kind, id AS a, note AS b FROM orders UNION ALL SELECT 2, NULL, city FROM customers UNION ALL SELECT 3, qty, 'sku' FROM items

--- unseen_union_through_ctes_used_twice
-- id = orders.id, archive.id
-- total = orders.amount, archive.amount
-- mean = orders.amount, archive.amount
CREATE TABLE {out} AS
WITH both AS (SELECT id, amount, region FROM orders UNION ALL SELECT id, amount, region FROM archive),
sums AS (SELECT region, avg(amount) AS mean, sum(amount) AS total FROM both GROUP BY region)
SELECT b.id, s.total, s.mean FROM both b JOIN sums s ON b.region <=> s.region

--- unseen_distinct_of_a_union_of_one_table
-- who = orders.cust, orders.id
-- * ~ orders.qty
CREATE TABLE {out} AS SELECT DISTINCT who FROM (SELECT cust AS who FROM orders WHERE qty > 1 UNION ALL SELECT id FROM orders WHERE qty > 2)
