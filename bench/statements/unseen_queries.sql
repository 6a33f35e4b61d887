Queries as people write them.

--- unseen_latest_of_each
-- id, cust, amount, day == orders
-- * ~ orders.cust, orders.day, orders.id
CREATE TABLE {out} AS
SELECT id, cust, amount, day
FROM (SELECT *, row_number() OVER (PARTITION BY cust ORDER BY day DESC, id DESC) AS rn FROM orders) ranked WHERE rn = 1

--- unseen_slowly_changing
-- key = people.key, changes.key
-- name = people.name, changes.name
-- city = people.city, changes.city
-- valid_from = people.valid_from, changes.day
-- valid_to = people.valid_to, changes.day, (changes.key)
-- is_current = people.is_current, (changes.key)
CREATE TABLE {out} AS
SELECT p.key, p.name, p.city, p.valid_from,
  CASE WHEN c.key IS NOT NULL THEN date_sub(c.day, 1) ELSE p.valid_to END AS valid_to,
  CASE WHEN c.key IS NOT NULL THEN false ELSE p.is_current END AS is_current
FROM people p LEFT JOIN changes c ON p.key = c.key AND p.city <> c.city AND p.is_current
UNION ALL
SELECT c.key, c.name, c.city, c.day, CAST(NULL AS DATE), true
FROM changes c LEFT ANTI JOIN people p ON p.key = c.key AND p.city = c.city AND p.is_current

--- unseen_merged_by_hand
-- key = people.key, changes.key
-- city = changes.city, people.city
-- seen = people.valid_from, changes.day
-- what = (people.key), (changes.key), (people.city), (changes.city)
-- * ~ people.key, changes.key, people.is_current
CREATE TABLE {out} AS
SELECT coalesce(c.key, p.key) AS key, coalesce(c.city, p.city) AS city, greatest(p.valid_from, c.day) AS seen,
  CASE WHEN p.key IS NULL THEN 'insert' WHEN c.key IS NULL THEN 'keep' WHEN p.city <> c.city THEN 'update' ELSE 'same' END AS what
FROM (SELECT * FROM people WHERE is_current) p FULL OUTER JOIN changes c ON p.key = c.key

--- unseen_sessions_by_lag
-- visitor, at, page == clicks
-- session = (clicks.at)
-- session ~ clicks.visitor
CREATE TABLE {out} AS
SELECT visitor, at, page,
  sum(CASE WHEN before IS NULL OR at > before + INTERVAL 30 MINUTES THEN 1 ELSE 0 END)
    OVER (PARTITION BY visitor ORDER BY at) AS session
FROM (SELECT *, lag(at) OVER (PARTITION BY visitor ORDER BY at) AS before FROM clicks)

--- unseen_sessions_summed
-- visitor == clicks
-- began, ended = clicks.at
-- pages = clicks.page
-- total = clicks.ms
-- began, ended, pages, total ~ clicks.visitor, clicks.at
CREATE TABLE {out} AS
WITH marked AS (
  SELECT *, if(at - lag(at) OVER w > INTERVAL '30' MINUTE, 1, 0) AS fresh FROM clicks WINDOW w AS (PARTITION BY visitor ORDER BY at)),
numbered AS (SELECT *, sum(fresh) OVER (PARTITION BY visitor ORDER BY at ROWS UNBOUNDED PRECEDING) AS session FROM marked)
SELECT visitor, min(at) AS began, max(at) AS ended, array_join(collect_list(page), '>') AS pages, sum(ms) AS total
FROM numbered GROUP BY visitor, session

--- unseen_funnel
-- visitor == clicks
-- a, b = clicks.at
-- a, b ~ clicks.page, clicks.visitor
-- took = clicks.at
-- took ~ clicks.page, clicks.visitor
CREATE TABLE {out} AS
SELECT visitor, min(at) FILTER (WHERE page = '/a') AS a, min(at) FILTER (WHERE page = '/b') AS b,
  timestampdiff(SECOND, min(at) FILTER (WHERE page = '/a'), min(at) FILTER (WHERE page = '/b')) AS took
FROM clicks GROUP BY visitor

--- unseen_tree_walked
-- id, name == customers
-- depth =
-- path = customers.name
-- * ~ customers.parent, customers.id
CREATE TABLE {out} AS
WITH RECURSIVE tree AS (
  SELECT id, name, 0 AS depth, name AS path FROM customers WHERE parent IS NULL
  UNION ALL
  SELECT c.id, c.name, t.depth + 1, concat(t.path, '/', c.name) FROM customers c JOIN tree t ON c.parent = t.id)
SELECT id, name, depth, path FROM tree

--- unseen_tree_that_swaps
-- # Each round of the loop puts the one into the other.
-- a, b = edges.parent, edges.child
CREATE TABLE {out} AS
WITH RECURSIVE turn(a, b, n) AS (
  SELECT parent, child, 1 FROM edges UNION ALL SELECT b, a, n + 1 FROM turn WHERE n < 4)
SELECT a, b FROM turn

--- unseen_numbers_from_recursion
-- n =
CREATE TABLE {out} AS
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10) SELECT n FROM numbers

--- unseen_self_joined_three_deep
-- who, boss, above, top = customers.name
-- * ~ customers.parent, customers.id
CREATE TABLE {out} AS
SELECT a.name AS who, b.name AS boss, c.name AS above, d.name AS top
FROM customers a LEFT JOIN customers b ON a.parent = b.id LEFT JOIN customers c ON b.parent = c.id
LEFT JOIN customers d ON c.parent = d.id

--- unseen_self_join_of_different_columns
-- x = orders.amount
-- y = orders.qty
-- z = orders.note
-- d = orders.day
-- * ~ orders.id, orders.cust
CREATE TABLE {out} AS
SELECT a.amount AS x, b.qty AS y, c.note AS z, greatest(a.day, b.day, c.day) AS d
FROM orders a JOIN orders b ON a.id = b.cust JOIN orders c ON b.id = c.cust

--- unseen_aliases_of_aliases
-- total = orders.amount, orders.qty
-- tax = orders.amount, orders.qty
-- gross = orders.amount, orders.qty
-- label = orders.region, orders.amount, orders.qty
CREATE TABLE {out} AS
SELECT amount * qty AS total, total * 0.25 AS tax, total + tax AS gross, concat(region, ':', CAST(gross AS STRING)) AS label FROM orders

--- unseen_lateral_aliases_in_a_group
-- region == orders
-- s = orders.amount
-- n = orders.note
-- mean = orders.amount, orders.note
-- s, n, mean ~ orders.region
CREATE TABLE {out} AS
SELECT region, sum(amount) AS s, count(note) AS n, s / (n + 1) AS mean FROM orders GROUP BY region HAVING count(*) > 0

--- unseen_group_by_all
-- region == orders
-- month = orders.day
-- total = orders.amount
-- kinds = orders.note
-- total, kinds ~ orders.region, orders.day
CREATE TABLE {out} AS
SELECT region, date_trunc('MONTH', day) AS month, sum(amount) AS total, count(DISTINCT note) AS kinds FROM orders GROUP BY ALL

--- unseen_ordered_lists
-- region == orders
-- notes = orders.note
-- middle = orders.amount
-- often = orders.qty
-- notes ~ orders.day, orders.region
-- middle, often ~ orders.region
CREATE TABLE {out} AS
SELECT region, listagg(note, ', ') WITHIN GROUP (ORDER BY day DESC) AS notes,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) AS middle, mode() WITHIN GROUP (ORDER BY qty) AS often
FROM orders GROUP BY region

--- unseen_distincts_with_filters
-- region == orders
-- a = orders.cust
-- b = orders.note
-- c = orders.day
-- n =
-- a ~ orders.qty, orders.region
-- b ~ orders.amount, orders.region
-- c, n ~ orders.region
CREATE TABLE {out} AS
SELECT region, count(DISTINCT cust) FILTER (WHERE qty > 1) AS a, count(DISTINCT note) FILTER (WHERE amount > 1) AS b,
  count(DISTINCT day) AS c, count(*) AS n FROM orders GROUP BY region

--- unseen_same_scalar_text_twice
-- id == orders
-- a = orders.amount
-- b = orders.amount, orders.qty
-- * ~ orders.amount
CREATE TABLE {out} AS
SELECT id, amount / (SELECT max(amount) FROM orders) AS a, qty * (SELECT max(amount) FROM orders) AS b
FROM orders WHERE amount < (SELECT max(amount) FROM orders)

--- unseen_same_scalar_text_of_two_tables
-- # The text is the same, the table is not: each names its own.
-- a = orders.amount
-- b = archive.amount
CREATE TABLE {out} AS
WITH x AS (SELECT amount FROM orders), y AS (SELECT amount FROM archive)
SELECT (SELECT max(amount) FROM x) AS a, (SELECT max(amount) FROM y) AS b

--- unseen_correlated_pair
-- name == customers
-- last = orders.day
-- best = orders.amount
-- last, best ~ orders.cust, customers.id
CREATE TABLE {out} AS
SELECT c.name, (SELECT max(o.day) FROM orders o WHERE o.cust = c.id) AS last,
  (SELECT max(o.amount) FROM orders o WHERE o.cust = c.id) AS best
FROM customers c

--- unseen_correlated_below_an_aggregate
-- city == customers
-- total = orders.amount
-- total ~ orders.cust, customers.id, customers.city
CREATE TABLE {out} AS
SELECT city, sum(spent) AS total
FROM (SELECT city, (SELECT sum(amount) FROM orders o WHERE o.cust = c.id) AS spent FROM customers c) GROUP BY city

--- unseen_lateral_top
-- name == customers
-- amount, day == orders
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS
SELECT c.name, t.amount, t.day
FROM customers c, LATERAL (SELECT amount, day FROM orders o WHERE o.cust = c.id ORDER BY day DESC LIMIT 1) t

--- unseen_lateral_of_lateral
-- name == customers
-- v = orders.amount, customers.id
-- w = orders.amount, customers.id, orders.qty
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS
SELECT c.name, a.v, b.w
FROM customers c, LATERAL (SELECT o.amount + c.id AS v, o.qty FROM orders o WHERE o.cust = c.id) a, LATERAL (SELECT a.v * a.qty AS w) b

--- unseen_in_and_not_in
-- id, amount == orders
-- * ~ orders.cust, customers.id, customers.vip, orders.region, targets.region, targets.goal
CREATE TABLE {out} AS
SELECT id, amount FROM orders
WHERE cust IN (SELECT id FROM customers WHERE vip) AND region NOT IN (SELECT region FROM targets WHERE goal > 100 AND region IS NOT NULL)

--- unseen_exists_of_exists
-- name == customers
-- * ~ customers.id, orders.cust, orders.id, items.order_id, items.price
CREATE TABLE {out} AS
SELECT name FROM customers c
WHERE EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id AND NOT EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id AND i.price > 9))

--- unseen_exists_as_a_flag
-- # A predicate that is itself the value.
-- id == orders
-- known = (orders.cust), (customers.id)
-- dear = (orders.id), (items.order_id), (items.price)
CREATE TABLE {out} AS
SELECT id, cust IN (SELECT id FROM customers) AS known,
  EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id AND i.price > 1) AS dear FROM orders o

--- unseen_qualify_by_hand
-- region, id == orders
-- share = orders.amount
-- share ~ orders.region
-- * ~ orders.region, orders.amount
CREATE TABLE {out} AS
SELECT region, id, share
FROM (SELECT region, id, amount / sum(amount) OVER (PARTITION BY region) AS share, dense_rank() OVER (PARTITION BY region ORDER BY amount DESC) AS r FROM orders)
WHERE r <= 2

--- unseen_pipe
-- region == orders
-- total = orders.amount, orders.qty
-- n =
-- * ~ orders.region, orders.note
CREATE TABLE {out} AS
FROM orders
|> WHERE note IS NOT NULL
|> EXTEND amount * qty AS v
|> DROP note, day
|> AGGREGATE sum(v) AS total, count(*) AS n GROUP BY region
|> WHERE n > 0
|> ORDER BY total DESC

--- unseen_pipe_that_sets
-- id = orders.id
-- amount = orders.amount, orders.qty
-- name = customers.name
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS
FROM orders
|> SET amount = amount * qty
|> AS o
|> JOIN customers c ON o.cust = c.id
|> SELECT o.id, amount, name

--- unseen_pipe_union_and_pivot
-- north, east = orders.amount, archive.amount
-- * ~ orders.region, archive.region
CREATE TABLE {out} AS
FROM orders
|> SELECT region, amount
|> UNION ALL (SELECT region, amount FROM archive)
|> PIVOT (sum(amount) FOR region IN ('north' AS north, 'east' AS east))

--- unseen_sql_function
-- id == orders
-- v = orders.amount, orders.qty
-- w = orders.note, orders.region
CREATE OR REPLACE TEMPORARY FUNCTION unseen_total(x DOUBLE, y INT) RETURNS DOUBLE RETURN round(x * y, 2);
CREATE OR REPLACE TEMPORARY FUNCTION unseen_first(x STRING, y STRING) RETURNS STRING RETURN coalesce(nullif(trim(x), ''), y);
CREATE TABLE {out} AS SELECT id, unseen_total(amount, qty) AS v, unseen_first(note, region) AS w FROM orders

--- unseen_sql_function_that_asks
-- name == customers
-- spent = orders.amount
-- spent ~ orders.cust, customers.id
CREATE FUNCTION out.unseen_spent(who INT) RETURNS DOUBLE RETURN SELECT sum(amount) FROM src.orders WHERE cust = who;
CREATE TABLE {out} AS SELECT name, out.unseen_spent(id) AS spent FROM customers

--- unseen_table_function
-- name == customers
-- id == orders
-- v = orders.amount
-- * ~ orders.cust, customers.id
CREATE TEMPORARY FUNCTION unseen_orders_of(who INT) RETURNS TABLE (id INT, v DOUBLE) RETURN SELECT id, amount FROM src.orders WHERE cust = who;
CREATE TABLE {out} AS SELECT c.name, t.id, t.v FROM customers c, LATERAL unseen_orders_of(c.id) t

--- unseen_variable
-- # A variable is a literal once it is set.
-- id == orders
-- v = orders.qty, [orders.amount]
-- * ~ orders.day
DECLARE OR REPLACE VARIABLE unseen_most DOUBLE DEFAULT 1.5;
SET VAR unseen_most = (SELECT max(amount) FROM orders);
CREATE TABLE {out} AS SELECT id, qty / unseen_most AS v FROM orders WHERE day > DATE'2025-01-01';
DROP TEMPORARY VARIABLE unseen_most

--- unseen_execute_immediate
-- id, region == orders
-- v = orders.amount
-- * ~ orders.qty
EXECUTE IMMEDIATE 'CREATE TABLE {out} (id INT, region STRING, v DOUBLE) USING parquet';
EXECUTE IMMEDIATE 'INSERT INTO {out} SELECT id, region, amount * :f FROM IDENTIFIER(:t) WHERE qty > :q' USING 2 AS f, 'src.orders' AS t, 0 AS q

--- unseen_grouping_sets_and_ids
-- region = orders.region
-- cust = orders.cust
-- g =
-- total = orders.amount
-- n = orders.note
-- total, n ~ orders.region, orders.cust
CREATE TABLE {out} AS
SELECT region, cust, grouping_id(region, cust) AS g, sum(amount) AS total, count(DISTINCT note) AS n
FROM orders GROUP BY GROUPING SETS ((region, cust), (region), ())

--- unseen_cube_of_its_own_argument
-- qty == orders
-- total = orders.qty
-- mean = orders.amount
-- mean ~ orders.qty, orders.region
-- total ~ orders.region
CREATE TABLE {out} AS SELECT qty, sum(qty) AS total, avg(amount) AS mean FROM orders GROUP BY CUBE (qty, region)

--- unseen_unpivot_of_two_groups
-- id == orders
-- what =
-- number = orders.amount, orders.qty
-- words = orders.region, orders.note
CREATE TABLE {out} AS
SELECT id, what, number, words
FROM (SELECT id, amount, CAST(qty AS DOUBLE) AS qty, region, note FROM orders)
UNPIVOT ((number, words) FOR what IN ((amount, region) AS a, (qty, note) AS b))

--- unseen_times_in_zones
-- id == events
-- a, b, c, d, e = events.ts
CREATE TABLE {out} AS
SELECT id, from_utc_timestamp(ts, 'Europe/Riga') AS a, to_utc_timestamp(ts, 'America/New_York') AS b, CAST(ts AS DATE) AS c,
  date_format(ts, 'yyyy-MM') AS d, convert_timezone('UTC', 'Asia/Tokyo', CAST(ts AS TIMESTAMP_NTZ)) AS e FROM events

--- unseen_no_source
-- id == orders
-- a, b, c, d, e, f, g, h =
CREATE TABLE {out} AS
SELECT id, current_date() AS a, rand() AS b, uuid() AS c, monotonically_increasing_id() AS d, input_file_name() AS e, current_timestamp() AS f,
  spark_partition_id() AS g, 'id#1 AS amount#2' AS h FROM orders

--- unseen_literals_alone
-- a, b, c, d =
CREATE TABLE {out} AS SELECT 1 AS a, 'x' AS b, NULL AS c, array(1, 2) AS d FROM orders

--- unseen_count_alone
-- n =
-- n ~ orders.qty
CREATE TABLE {out} AS SELECT count(*) AS n FROM orders WHERE qty > 1

--- unseen_constant_columns_proved
-- id == orders
-- region = [orders.region]
-- kind =
-- * ~ orders.region
CREATE TABLE {out} AS SELECT id, region, 'fixed' AS kind FROM orders WHERE region = 'north'

--- unseen_metadata_of_files
-- id == orders
-- f, m = [orders._metadata]
-- b = orders.qty, [orders._metadata]
CREATE TABLE {out} AS
SELECT id, _metadata.file_path AS f, _metadata.file_modification_time AS m, _metadata.file_block_start + qty AS b FROM orders

--- unseen_chars
-- code == codes
-- label = codes.label, codes.code
-- n == codes
-- * ~ codes.code
CREATE TABLE {out} (code CHAR(5), label VARCHAR(40), n INT) USING parquet;
INSERT INTO {out} SELECT code, concat(code, '-', label), n FROM codes WHERE code = 'a'

--- unseen_limit_and_offset
-- id, region == orders
CREATE TABLE {out} AS SELECT id, region FROM orders ORDER BY amount DESC NULLS LAST LIMIT 2 OFFSET 1

--- unseen_sampled
-- id = orders.id
-- name = customers.name
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS
SELECT o.id, c.name FROM orders TABLESAMPLE (50 PERCENT) REPEATABLE (7) o JOIN customers TABLESAMPLE (5 ROWS) c ON o.cust = c.id

--- unseen_higher_order
-- id == events
-- a, b, d = events.points
-- c = events.tags, events.id
-- e = events.props
-- f = events.tags, events.points
CREATE TABLE {out} AS
SELECT id, transform(points, p -> p.x * p.y) AS a, filter(points, (p, i) -> p.x > i) AS b,
  transform(tags, (t, i) -> concat(t, i, id)) AS c, aggregate(points, 0, (s, p) -> s + p.x, s -> s * 2) AS d,
  transform_values(props, (k, v) -> upper(v)) AS e, zip_with(tags, points, (t, p) -> struct(t, p.y)) AS f
FROM events

--- unseen_structs_remade
-- id == events
-- info = events.info, events.id
-- flat = events.info
-- keys = events.props
CREATE TABLE {out} AS
SELECT id, named_struct('a', info.a + id, 'b', info.b, 'c', named_struct('d', info.c.d)) AS info, info.c.d AS flat, map_keys(props) AS keys FROM events

--- unseen_json_read
-- id == events
-- a, c = events.js
-- v = events.js
CREATE TABLE {out} AS
SELECT id, j.a, j.b.c AS c, get_json_object(js, '$.b.c') AS v
FROM (SELECT id, js, from_json(js, 'a INT, b STRUCT<c: INT>') AS j FROM events)

--- unseen_windows_of_time
-- began = clicks.at
-- n =
-- longest = clicks.ms
-- n, longest ~ clicks.at
CREATE TABLE {out} AS
SELECT window(at, '10 minutes', '5 minutes').start AS began, count(*) AS n, max(ms) AS longest
FROM clicks GROUP BY window(at, '10 minutes', '5 minutes')

--- unseen_gaps_of_sessions
-- visitor == clicks
-- began = clicks.at
-- total = clicks.ms
-- total ~ clicks.visitor, clicks.at
CREATE TABLE {out} AS
SELECT visitor, session_window.start AS began, sum(ms) AS total FROM clicks GROUP BY visitor, session_window(at, '30 minutes')

--- unseen_percent_of_total
-- region == orders
-- part = orders.amount
-- part ~ orders.region
-- place =
-- place ~ orders.amount, orders.region
CREATE TABLE {out} AS
SELECT region, sum(amount) / sum(sum(amount)) OVER () AS part, rank() OVER (ORDER BY sum(amount) DESC) AS place
FROM orders GROUP BY region

--- unseen_year_on_year
-- region == orders
-- y = orders.day
-- total, before, growth = orders.amount
-- total, before, growth ~ orders.region, orders.day
CREATE TABLE {out} AS
WITH yearly AS (SELECT region, year(day) AS y, sum(amount) AS total FROM orders GROUP BY region, year(day))
SELECT n.region, n.y, n.total, o.total AS before, n.total - o.total AS growth
FROM yearly n LEFT JOIN yearly o ON n.region = o.region AND n.y = o.y + 1

--- unseen_gaps_filled
-- day =
-- total = orders.amount
-- * ~ orders.day
CREATE TABLE {out} AS
SELECT d.day, coalesce(sum(o.amount), 0) AS total
FROM (SELECT explode(sequence(DATE'2026-01-01', DATE'2026-01-31')) AS day) d LEFT JOIN orders o ON o.day = d.day GROUP BY d.day

--- unseen_carried_forward
-- cust, day == orders
-- amount == orders
-- amount ~ orders.cust, orders.day
CREATE TABLE {out} AS
SELECT cust, day, last_value(amount) IGNORE NULLS OVER (PARTITION BY cust ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS amount
FROM orders

--- unseen_case_differs
-- `ID`, amount == orders
-- area = orders.region
-- * ~ orders.qty
CREATE TABLE {out} AS SELECT O.ID, o.AMOUNT AS amount, O.Region AS Area FROM SRC.ORDERS o WHERE Qty > 1
