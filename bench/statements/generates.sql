Rows made of one: what is taken apart flows.

--- explode
-- id == events
-- tag = events.tags
CREATE TABLE {out} AS SELECT id, explode(tags) AS tag FROM events

--- explode_alone
-- tag = events.tags
CREATE TABLE {out} AS SELECT explode(tags) AS tag FROM events

--- explode_map
-- id == events
-- k, v = events.props
CREATE TABLE {out} AS SELECT id, explode(props) AS (k, v) FROM events

--- posexplode
-- id == events
-- at = [events.tags]
-- tag = events.tags
CREATE TABLE {out} AS SELECT id, posexplode(tags) AS (at, tag) FROM events

--- lateral_view
-- id == events
-- tag = events.tags
-- * ~ events.tags
CREATE TABLE {out} AS SELECT id, tag FROM events LATERAL VIEW explode(tags) t AS tag WHERE tag <> 'q'

--- lateral_view_outer_twice
-- tag = events.tags
-- x = events.points
CREATE TABLE {out} AS
SELECT tag, p.x AS x FROM events LATERAL VIEW OUTER explode(tags) t AS tag LATERAL VIEW OUTER explode(points) u AS p

--- explode_of_expression
-- id == orders
-- word = orders.note, orders.region
CREATE TABLE {out} AS SELECT id, explode(split(concat(note, ' ', region), ' ')) AS word FROM orders

--- inline_points
-- id == events
-- x, y = events.points
CREATE TABLE {out} AS SELECT id, inline(points) FROM events

--- inline_of_structs
-- # An array written out: what stands where is known.
-- k =
-- v = orders.amount, orders.qty
CREATE TABLE {out} AS
SELECT inline(array(named_struct('k', 'amount', 'v', amount), named_struct('k', 'qty', 'v', CAST(qty AS DOUBLE)))) FROM orders

--- stack
-- # The names are literals, the values stand by position.
-- id == orders
-- k =
-- v = orders.amount, orders.qty
CREATE TABLE {out} AS SELECT id, stack(2, 'amount', amount, 'qty', CAST(qty AS DOUBLE)) AS (k, v) FROM orders

--- unpivot
-- id == orders
-- k =
-- v = orders.amount, orders.qty
CREATE TABLE {out} AS
SELECT id, k, v FROM (SELECT id, amount, CAST(qty AS DOUBLE) AS qty FROM orders) UNPIVOT (v FOR k IN (amount, qty))

--- unpivot_several
-- id = wide.c1
-- kind =
-- a = wide.c2, wide.c4
-- b = wide.c3, wide.c5
CREATE TABLE {out} AS
SELECT id, kind, a, b FROM (SELECT c1 AS id, c2, c3, c4, c5 FROM wide)
UNPIVOT ((a, b) FOR kind IN ((c2, c3) AS `one`, (c4, c5) AS `two`))

--- unpivot_with_nulls
-- region == orders
-- k =
-- v = orders.id, orders.cust
CREATE TABLE {out} AS
SELECT region, k, v FROM (SELECT region, id, cust FROM orders) UNPIVOT INCLUDE NULLS (v FOR k IN (id, cust))

--- json_tuple
-- id == events
-- a, b = events.js
CREATE TABLE {out} AS SELECT id, t.a, t.b FROM events LATERAL VIEW json_tuple(js, 'a', 'b') t AS a, b

--- explode_in_from
-- id == events
-- tag = events.tags
CREATE TABLE {out} AS SELECT e.id, t.tag FROM events e, LATERAL explode(e.tags) AS t(tag)

--- explode_then_aggregate
-- tag = events.tags
-- n = events.id
-- n ~ events.tags
CREATE TABLE {out} AS SELECT tag, count(id) AS n FROM events LATERAL VIEW explode(tags) t AS tag GROUP BY tag

--- explode_of_collect
-- region == orders
-- v = orders.amount
-- v ~ orders.region
CREATE TABLE {out} AS
SELECT region, explode(l) AS v FROM (SELECT region, collect_list(amount) AS l FROM orders GROUP BY region)

--- sequence_of_days
-- id == orders
-- d = orders.day, orders.qty
CREATE TABLE {out} AS SELECT id, explode(sequence(day, date_add(day, qty))) AS d FROM orders

--- nested_explodes
-- v = orders.note
CREATE TABLE {out} AS SELECT explode(v) AS v FROM (SELECT explode(array(array(note), array('x', note))) AS v FROM orders)

--- explode_in_wide_table
-- # What is kept beside is cut.
-- c{1..40} = wide.c{1..40}
-- v = wide.c41, wide.c42
CREATE TABLE {out} AS
SELECT {1..40| c@}, explode(array(c41, c42)) AS v
FROM wide

--- script
-- # Another program sees all and says all.
-- a, b = orders.id, orders.region
-- ! opaque
CREATE TABLE {out} AS SELECT TRANSFORM (id, region) USING 'cat' AS (a INT, b STRING) FROM orders
