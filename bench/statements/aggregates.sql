Aggregates: arguments flow, keys control what is aggregated.

--- group_by
-- region == orders
-- total = orders.amount
-- total ~ orders.region
CREATE TABLE {out} AS SELECT region, sum(amount) AS total FROM orders GROUP BY region

--- global_aggregate
-- total = orders.amount
-- most = orders.qty
CREATE TABLE {out} AS SELECT sum(amount) AS total, max(qty) AS most FROM orders

--- count_star_only
-- n =
CREATE TABLE {out} AS SELECT count(*) AS n FROM orders

--- count_star_by_key
-- region == orders
-- n =
-- n ~ orders.region
CREATE TABLE {out} AS SELECT region, count(*) AS n FROM orders GROUP BY region

--- count_column
-- n = orders.note
CREATE TABLE {out} AS SELECT count(note) AS n FROM orders

--- count_distinct
-- region == orders
-- n = orders.cust
-- n ~ orders.region
CREATE TABLE {out} AS SELECT region, count(DISTINCT cust) AS n FROM orders GROUP BY region

--- several_distincts
-- # An Expand with a row for each distinct.
-- region == orders
-- custs = orders.cust
-- days = orders.day
-- total = orders.amount
-- custs, days, total ~ orders.region
CREATE TABLE {out} AS
SELECT region, count(DISTINCT cust) AS custs, count(DISTINCT day) AS days, sum(amount) AS total FROM orders GROUP BY region

--- distinct_of_two_columns
-- n = orders.cust, orders.day
-- total = orders.qty
CREATE TABLE {out} AS SELECT count(DISTINCT cust, day) AS n, sum(DISTINCT qty) AS total FROM orders

--- filter_clause
-- region == orders
-- large = orders.amount
-- n =
-- large ~ orders.qty, orders.region
-- n ~ orders.note, orders.region
CREATE TABLE {out} AS
SELECT region, sum(amount) FILTER (WHERE qty > 3) AS large, count(*) FILTER (WHERE note IS NOT NULL) AS n
FROM orders GROUP BY region

--- distinct_with_filter
-- custs = orders.cust
-- total = orders.amount
-- custs ~ orders.qty
CREATE TABLE {out} AS
SELECT count(DISTINCT cust) FILTER (WHERE qty > 1) AS custs, sum(amount) AS total FROM orders

--- having
-- region == orders
-- total = orders.amount
-- * ~ orders.region, orders.qty
CREATE TABLE {out} AS SELECT region, sum(amount) AS total FROM orders GROUP BY region HAVING max(qty) > 2

--- expression_of_aggregates
-- region == orders
-- price = orders.amount, orders.qty
-- price ~ orders.region
CREATE TABLE {out} AS SELECT region, sum(amount) / sum(qty) AS price FROM orders GROUP BY region

--- group_by_expression
-- month = orders.day
-- total = orders.amount
-- total ~ orders.day
CREATE TABLE {out} AS
SELECT date_trunc('MONTH', day) AS month, sum(amount) AS total FROM orders GROUP BY date_trunc('MONTH', day)

--- group_key_not_selected
-- total = orders.amount
-- total ~ orders.region
CREATE TABLE {out} AS SELECT sum(amount) AS total FROM orders GROUP BY region

--- group_by_all
-- region, day == orders
-- total = orders.amount
-- total ~ orders.region, orders.day
CREATE TABLE {out} AS SELECT region, day, sum(amount) AS total FROM orders GROUP BY ALL

--- distinct
-- region, day == orders
CREATE TABLE {out} AS SELECT DISTINCT region, day FROM orders

--- rollup
-- region, day == orders
-- total = orders.amount
-- total ~ orders.region, orders.day
CREATE TABLE {out} AS SELECT region, day, sum(amount) AS total FROM orders GROUP BY ROLLUP (region, day)

--- cube
-- region, cust == orders
-- total = orders.amount
-- n =
-- total, n ~ orders.region, orders.cust
CREATE TABLE {out} AS SELECT region, cust, sum(amount) AS total, count(*) AS n FROM orders GROUP BY CUBE (region, cust)

--- grouping_sets
-- region, cust, day == orders
-- total = orders.amount
-- total ~ orders.region, orders.cust, orders.day
CREATE TABLE {out} AS
SELECT region, cust, day, sum(amount) AS total FROM orders GROUP BY GROUPING SETS ((region, cust), (day), ())

--- grouping_id
-- # Which set a row is of is no column's.
-- region, cust == orders
-- g =
-- gid =
-- total = orders.amount
-- total ~ orders.region, orders.cust
CREATE TABLE {out} AS
SELECT region, cust, grouping(region) AS g, grouping_id() AS gid, sum(amount) AS total
FROM orders GROUP BY ROLLUP (region, cust)

--- rollup_of_expressions
-- area = orders.region
-- month = orders.day
-- total = orders.amount, orders.qty
-- total ~ orders.region, orders.day
CREATE TABLE {out} AS
SELECT upper(region) AS area, month(day) AS month, sum(amount * qty) AS total
FROM orders GROUP BY upper(region), month(day) WITH ROLLUP

--- rollup_aggregates_its_key
-- # The key is an argument too: Spark doubles the column below the Expand.
-- qty == orders
-- total = orders.qty
CREATE TABLE {out} AS SELECT qty, sum(qty) AS total FROM orders GROUP BY ROLLUP (qty)

--- pivot
-- region == orders
-- y1 = orders.amount, (orders.qty)
-- y2 = orders.amount, (orders.qty)
-- y1, y2 ~ orders.region
CREATE TABLE {out} AS
SELECT * FROM (SELECT region, qty, amount FROM orders) PIVOT (sum(amount) FOR qty IN (1 AS y1, 2 AS y2))

--- pivot_several_aggregates
-- cust == orders
-- a_total, b_total = orders.amount, (orders.region)
-- a_most, b_most = orders.qty, (orders.region)
-- a_total, b_total, a_most, b_most ~ orders.cust
CREATE TABLE {out} AS
SELECT * FROM (SELECT cust, region, amount, qty FROM orders)
PIVOT (sum(amount) AS total, max(qty) AS most FOR region IN ('north' AS a, 'south' AS b))

--- collect
-- cust == orders
-- days = orders.day
-- pairs = orders.region, orders.amount
-- days, pairs ~ orders.cust
CREATE TABLE {out} AS
SELECT cust, collect_set(day) AS days, collect_list(struct(region, amount)) AS pairs FROM orders GROUP BY cust

--- max_by
-- region == orders
-- best = orders.id, (orders.amount)
-- best ~ orders.region
CREATE TABLE {out} AS SELECT region, max_by(id, amount) AS best FROM orders GROUP BY region

--- percentiles
-- med = orders.amount
-- p = orders.amount
-- m = orders.region
CREATE TABLE {out} AS
SELECT percentile_approx(amount, 0.5) AS med, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) AS p, mode(region) AS m
FROM orders

--- listagg
-- cust == orders
-- notes = orders.note, (orders.day)
-- notes ~ orders.cust
CREATE TABLE {out} AS SELECT cust, listagg(note, ',') WITHIN GROUP (ORDER BY day) AS notes FROM orders GROUP BY cust

--- two_argument_aggregates
-- c, s = orders.amount, orders.qty
CREATE TABLE {out} AS SELECT corr(amount, qty) AS c, regr_slope(amount, qty) AS s FROM orders

--- aggregate_of_aggregate
-- top = orders.amount
-- top ~ orders.region, orders.cust
CREATE TABLE {out} AS
SELECT max(total) AS top FROM (SELECT cust, sum(amount) AS total FROM orders WHERE region = 'north' GROUP BY cust)

--- aggregate_over_join
-- city == customers
-- total = orders.amount
-- buyers = customers.id
-- total, buyers ~ customers.city, orders.cust
CREATE TABLE {out} AS
SELECT c.city, sum(o.amount) AS total, count(DISTINCT c.id) AS buyers
FROM orders o JOIN customers c ON o.cust = c.id GROUP BY c.city

--- time_windows
-- start = events.ts
-- n =
-- n ~ events.ts
CREATE TABLE {out} AS SELECT window.start AS start, count(*) AS n FROM events GROUP BY window(ts, '10 minutes')

--- session_windows
-- id == events
-- begin = events.ts
-- tags = events.tags
-- tags ~ events.id, events.ts
CREATE TABLE {out} AS
SELECT id, session_window.start AS begin, collect_list(tags) AS tags FROM events GROUP BY id, session_window(ts, '5 minutes')

--- key_used_twice
-- region == orders
-- again = orders.region
-- loud = orders.region
-- total = orders.amount
CREATE TABLE {out} AS SELECT region, region AS again, upper(region) AS loud, sum(amount) AS total FROM orders GROUP BY region

--- aggregate_with_case
-- many = orders.amount, (orders.qty)
-- few = (orders.qty)
CREATE TABLE {out} AS
SELECT sum(CASE WHEN qty > 3 THEN amount ELSE 0 END) AS many, sum(CASE WHEN qty <= 3 THEN 1 ELSE 0 END) AS few FROM orders

--- bool_and_any
-- every_vip = customers.vip
-- some = customers.city
-- n = customers.parent
CREATE TABLE {out} AS SELECT bool_and(vip) AS every_vip, any_value(city) AS some, count_if(parent > 1) AS n FROM customers
