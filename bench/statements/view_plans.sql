Views of all kinds of queries: their plans are logical and analysed, not physical.

--- view_with_cte
-- name == customers
-- total = orders.amount
-- total ~ orders.cust, customers.id
CREATE VIEW {out} AS
WITH t AS (SELECT cust, sum(amount) AS total FROM orders GROUP BY cust) SELECT c.name, t.total FROM customers c JOIN t ON t.cust = c.id

--- view_with_cte_twice
-- a, b = orders.amount
-- region == orders
CREATE VIEW {out} AS
WITH t AS (SELECT region, max(amount) AS m FROM orders GROUP BY region)
SELECT x.region, x.m AS a, y.m + 1 AS b FROM t x JOIN t y ON x.region = y.region

--- view_with_recursion
-- parent = edges.parent, edges.child
-- child = edges.child
-- ! unknown
CREATE VIEW {out} AS
WITH RECURSIVE walk(parent, child) AS (
  SELECT parent, child FROM edges UNION ALL SELECT w.child, e.child FROM walk w JOIN edges e ON w.child = e.parent)
SELECT parent, child FROM walk

--- view_of_star
-- region == targets
-- goal == targets
-- owner == targets
CREATE VIEW {out} AS SELECT * FROM targets

--- view_of_joined_using
-- region == orders
-- id == orders
-- owner == targets
-- * ~ orders.region, targets.region
CREATE VIEW {out} AS SELECT region, id, owner FROM orders LEFT JOIN targets USING (region)

--- view_of_full_join_using
-- region = orders.region, targets.region
-- owner == targets
CREATE VIEW {out} AS SELECT region, owner FROM orders FULL JOIN targets USING (region)

--- view_of_semi_and_anti
-- id == orders
-- * ~ orders.cust, customers.id, orders.region, targets.region
CREATE VIEW {out} AS
SELECT id FROM orders o LEFT SEMI JOIN customers c ON o.cust = c.id LEFT ANTI JOIN targets t ON o.region = t.region

--- view_of_exists
-- name == customers
-- * ~ orders.cust, customers.id, orders.qty
CREATE VIEW {out} AS
SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id AND o.qty > 1)

--- view_of_correlated_scalar
-- name == customers
-- best = orders.amount
-- best ~ orders.cust, customers.id
CREATE VIEW {out} AS SELECT name, (SELECT max(amount) FROM orders o WHERE o.cust = c.id) AS best FROM customers c

--- view_of_lateral
-- id == orders
-- name == customers
-- * ~ customers.id, orders.cust
CREATE VIEW {out} AS SELECT o.id, l.name FROM orders o, LATERAL (SELECT name FROM customers c WHERE c.id = o.cust) l

--- view_of_rollup
-- region, day == orders
-- g =
-- total = orders.amount
-- total ~ orders.region, orders.day
CREATE VIEW {out} AS
SELECT region, day, grouping_id() AS g, sum(amount) AS total FROM orders GROUP BY ROLLUP (region, day)

--- view_of_pivot
-- region == orders
-- y1, y2 = orders.amount, (orders.qty)
CREATE VIEW {out} AS
SELECT * FROM (SELECT region, qty, amount FROM orders) PIVOT (sum(amount) FOR qty IN (1 AS y1, 2 AS y2))

--- view_of_unpivot
-- id == orders
-- k =
-- v = orders.cust, orders.qty
CREATE VIEW {out} AS SELECT id, k, v FROM (SELECT id, cust, qty FROM orders) UNPIVOT (v FOR k IN (cust, qty))

--- view_of_distinct_aggregates
-- region == orders
-- n = orders.cust
-- m = orders.day
-- n ~ orders.region
CREATE VIEW {out} AS
SELECT region, count(DISTINCT cust) AS n, count(DISTINCT day) FILTER (WHERE qty > 1) AS m FROM orders GROUP BY region

--- view_of_having
-- region == orders
-- total = orders.amount
-- * ~ orders.region, orders.qty
CREATE VIEW {out} AS SELECT region, sum(amount) AS total FROM orders GROUP BY region HAVING max(qty) > 1

--- view_of_intersect
-- region == orders
-- * ~ targets.region
CREATE VIEW {out} AS SELECT region FROM orders INTERSECT SELECT region FROM targets

--- view_of_except
-- id == orders
-- * ~ archive.id
CREATE VIEW {out} AS SELECT id FROM orders EXCEPT SELECT id FROM archive

--- view_of_union_distinct
-- a = orders.id, archive.qty
CREATE VIEW {out} AS SELECT id AS a FROM orders UNION SELECT qty FROM archive

--- view_of_top
-- id == orders
-- * ~ orders.amount
CREATE VIEW {out} AS SELECT id FROM orders ORDER BY amount DESC LIMIT 3

--- view_of_distinct
-- region, day == orders
CREATE VIEW {out} AS SELECT DISTINCT region, day FROM orders

--- view_of_lateral_view
-- id == events
-- k, v = events.props
-- at = [events.tags]
-- tag = events.tags
CREATE VIEW {out} AS
SELECT id, k, v, at, tag FROM events LATERAL VIEW explode(props) p AS k, v LATERAL VIEW OUTER posexplode(tags) t AS at, tag

--- view_of_lambdas
-- a = events.tags, events.id
-- b = events.info
CREATE VIEW {out} AS SELECT transform(tags, x -> concat(x, id)) AS a, info.c.d AS b FROM events

--- view_of_case
-- size = (orders.qty)
-- v = orders.amount, (orders.region)
CREATE VIEW {out} AS
SELECT CASE WHEN qty > 1 THEN 'l' ELSE 's' END AS size, if(region = 'x', amount, 0) AS v FROM orders

--- view_of_windows
-- r =
-- before = orders.amount
-- share = orders.amount
-- r ~ orders.region, orders.amount
-- before ~ orders.cust, orders.day
-- share ~ orders.region
CREATE VIEW {out} AS
SELECT rank() OVER (PARTITION BY region ORDER BY amount) AS r, lag(amount) OVER (PARTITION BY cust ORDER BY day) AS before,
  amount / sum(amount) OVER (PARTITION BY region) AS share
FROM orders

--- view_of_lateral_aliases
-- a = orders.amount, orders.qty
-- b = orders.amount, orders.qty, orders.id
CREATE VIEW {out} AS SELECT amount * qty AS a, a + id AS b FROM orders

--- view_of_paths
-- n = <files/view_of_paths>.n
-- -> <files/view_of_paths>
-- n = orders.note
INSERT OVERWRITE DIRECTORY '{dir}/files/view_of_paths' USING parquet SELECT note AS n FROM orders;
CREATE VIEW {out} AS SELECT n FROM parquet.`{dir}/files/view_of_paths`

--- view_of_literals
-- v = orders.note
-- w =
CREATE VIEW {out} AS SELECT concat('[a#1, b#2] AS x#3, ', note) AS v, '(3) Project\nArguments: [id#1]' AS w FROM orders

--- view_of_odd_names
-- `x y` = odd.`a.b`, odd.`x,y`
-- z = odd.`two words`
CREATE VIEW {out} AS SELECT `a.b` + `x,y` AS `x y`, `two words` AS z FROM odd

--- view_of_nothing
-- a, b =
CREATE VIEW {out} AS SELECT 1 AS a, 'x' AS b

--- view_of_values
-- a =
-- n = customers.name
-- # a VALUES list joined
CREATE VIEW {out} AS SELECT v.a, c.name AS n FROM VALUES (1), (2) AS v(a) JOIN customers c ON c.id = v.a

--- view_over_three_views
-- big = view_middle.t
-- -> src.view_middle
-- t = v_regions.total
-- * ~ v_regions.n
CREATE VIEW src.view_middle AS SELECT total AS t FROM v_regions WHERE n > 0;
CREATE VIEW {out} AS SELECT t * 2 AS big FROM src.view_middle

--- view_then_table_of_it
-- a = orders.id
-- b = orders.amount
-- -> src.view_below
-- a = orders.id
-- b = orders.amount
CREATE VIEW src.view_below AS SELECT id AS a, amount AS b FROM orders;
CREATE TABLE {out} AS SELECT a, b FROM src.view_below

--- view_of_temporary_view
-- # Temporary views of temporary views, into a table.
-- v = orders.amount, orders.qty
-- w = customers.city
-- * ~ orders.cust, customers.id
CREATE OR REPLACE TEMPORARY VIEW first_step AS SELECT cust, amount * qty AS v FROM orders;
CREATE OR REPLACE TEMPORARY VIEW second_step AS SELECT f.v, c.city AS w FROM first_step f JOIN customers c ON f.cust = c.id;
CREATE TABLE {out} AS SELECT v, w FROM second_step

--- view_of_hints_and_samples
-- id == orders
-- name == customers
CREATE VIEW {out} AS
SELECT /*+ BROADCAST(c) */ o.id, c.name FROM orders TABLESAMPLE (50 PERCENT) o JOIN customers c ON o.cust = c.id

--- view_of_self_join
-- child = customers.name
-- parent = customers.city
CREATE VIEW {out} AS SELECT a.name AS child, b.city AS parent FROM customers a JOIN customers b ON a.parent = b.id

--- view_of_in
-- id == orders
-- * ~ orders.cust, customers.id, orders.region, targets.region
CREATE VIEW {out} AS
SELECT id FROM orders WHERE cust IN (SELECT id FROM customers) AND region NOT IN (SELECT region FROM targets)
