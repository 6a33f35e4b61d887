Window functions: arguments flow, partition, order and frame control.

--- row_number
-- id == orders
-- rn =
-- rn ~ orders.region, orders.amount
CREATE TABLE {out} AS SELECT id, row_number() OVER (PARTITION BY region ORDER BY amount DESC) AS rn FROM orders

--- ranks
-- # In Spark's plan the order's columns are arguments of rank().
-- r, d, p, c, n =
-- * ~ orders.region, orders.amount
CREATE TABLE {out} AS
SELECT rank() OVER w AS r, dense_rank() OVER w AS d, percent_rank() OVER w AS p, cume_dist() OVER w AS c, ntile(4) OVER w AS n
FROM orders WINDOW w AS (PARTITION BY region ORDER BY amount)

--- running_sum
-- id == orders
-- s = orders.amount
-- s ~ orders.cust, orders.day
CREATE TABLE {out} AS
SELECT id, sum(amount) OVER (PARTITION BY cust ORDER BY day ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s FROM orders

--- lag_and_lead
-- id == orders
-- before = orders.amount, orders.qty
-- next = orders.note
-- before, next ~ orders.cust, orders.day
CREATE TABLE {out} AS
SELECT id, lag(amount, 1, qty) OVER w AS before, lead(note) OVER w AS next
FROM orders WINDOW w AS (PARTITION BY cust ORDER BY day)

--- first_and_last
-- f = orders.note
-- l = orders.region
-- v = orders.id
-- f, l, v ~ orders.cust, orders.day
CREATE TABLE {out} AS
SELECT first_value(note) IGNORE NULLS OVER w AS f, last_value(region) OVER w AS l, nth_value(id, 2) OVER w AS v
FROM orders WINDOW w AS (PARTITION BY cust ORDER BY day)

--- window_over_whole
-- id == orders
-- share = orders.amount
CREATE TABLE {out} AS SELECT id, amount / sum(amount) OVER () AS share FROM orders

--- windows_of_several_kinds
-- by_region, by_cust = orders.amount
-- by_region ~ orders.region
-- by_cust ~ orders.cust, orders.day
CREATE TABLE {out} AS
SELECT sum(amount) OVER (PARTITION BY region) AS by_region, sum(amount) OVER (PARTITION BY cust ORDER BY day) AS by_cust FROM orders

--- top_of_each
-- # A WindowGroupLimit below the window.
-- id, amount == orders
-- * ~ orders.region, orders.amount
CREATE TABLE {out} AS
SELECT id, amount FROM (SELECT id, amount, row_number() OVER (PARTITION BY region ORDER BY amount DESC) AS rn FROM orders)
WHERE rn <= 2

--- window_over_aggregate
-- region == orders
-- total = orders.amount
-- place =
-- place ~ orders.amount, orders.region
CREATE TABLE {out} AS
SELECT region, sum(amount) AS total, rank() OVER (ORDER BY sum(amount) DESC) AS place FROM orders GROUP BY region

--- window_of_expressions
-- s = orders.amount, orders.qty
-- s ~ orders.region, orders.day
CREATE TABLE {out} AS
SELECT sum(amount * qty) OVER (PARTITION BY upper(region), month(day) ORDER BY day) AS s FROM orders

--- range_frame
-- s = orders.amount
-- s ~ orders.day
CREATE TABLE {out} AS
SELECT avg(amount) OVER (ORDER BY day RANGE BETWEEN INTERVAL 7 DAYS PRECEDING AND CURRENT ROW) AS s FROM orders

--- many_windows
-- # Twenty functions in one operator: below what Spark cuts.
-- w{1..20} = wide.c{1..20}
-- * ~ wide.c100, wide.c101
CREATE TABLE {out} AS
SELECT {1..20| sum(c@) OVER w AS w@}
FROM wide WINDOW w AS (PARTITION BY c100 ORDER BY c101)

--- too_many_windows
-- # Thirty: Spark prints 25 and no text says the rest.
-- w{1..30} = wide.c{1..30}
-- ! unknown
CREATE TABLE {out} AS
SELECT {1..30| sum(c@) OVER w AS w@}
FROM wide WINDOW w AS (PARTITION BY c100 ORDER BY c101)

--- one_window_in_a_wide_table
-- # The kept columns are cut, the one function is not.
-- c{1..60} = wide.c{1..60}
-- rn =
-- rn ~ wide.c2, wide.c3
CREATE TABLE {out} AS
SELECT {1..60| c@}, row_number() OVER (PARTITION BY c2 ORDER BY c3) AS rn
FROM wide
