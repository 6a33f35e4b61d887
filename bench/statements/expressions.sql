Expressions: every argument flows, literals and what is made up on the way do not.

--- identity_and_rename
-- id == orders
-- client = orders.cust
CREATE TABLE {out} AS SELECT id, cust AS client FROM orders

--- arithmetic
-- v = orders.amount, orders.qty, orders.id
CREATE TABLE {out} AS SELECT (amount * qty - id) / 2 AS v FROM orders

--- swapped
-- cust = orders.id
-- id = orders.cust
CREATE TABLE {out} AS SELECT id AS cust, cust AS id FROM orders

--- casts
-- a = orders.id
-- b = orders.day
-- c = orders.amount
CREATE TABLE {out} AS SELECT CAST(id AS STRING) AS a, CAST(day AS TIMESTAMP) AS b, try_cast(amount AS INT) AS c FROM orders

--- case_when
-- size = (orders.qty)
-- v = orders.amount, orders.id, (orders.region)
CREATE TABLE {out} AS
SELECT CASE WHEN qty > 3 THEN 'large' ELSE 'small' END AS size, CASE region WHEN 'north' THEN amount ELSE id END AS v FROM orders

--- conditionals
-- a = orders.note, orders.region
-- b = orders.amount, orders.id, (orders.qty)
-- c = orders.region, orders.note, [orders.id]
-- d = orders.amount, orders.qty, [orders.id]
-- e = orders.region, orders.note
CREATE TABLE {out} AS
SELECT coalesce(note, region, 'none') AS a, if(qty > 1, amount, id) AS b, nvl2(id, region, note) AS c,
  nullif(amount, qty) AS d, greatest(region, note) AS e
FROM orders

--- literals_only
-- a, b, c, d =
CREATE TABLE {out} AS SELECT 1 AS a, 'x' AS b, current_date() AS c, rand(1) AS d FROM orders

--- no_table
-- a, b =
CREATE TABLE {out} AS SELECT 1 AS a, 'x' AS b

--- strings
-- a = orders.region, orders.note
-- b = orders.note
-- c = orders.region
CREATE TABLE {out} AS
SELECT concat(region, '-', note) AS a, regexp_replace(note, '([a-z])', '$1$1') AS b, region LIKE 'n%' AS c FROM orders

--- dates
-- a, b, c = orders.day
-- d = orders.day, orders.qty
CREATE TABLE {out} AS
SELECT year(day) AS a, date_format(day, 'yyyy') AS b, day + INTERVAL 1 DAY AS c, date_add(day, qty) AS d FROM orders

--- struct_fields
-- a = events.info
-- d = events.info
-- tag = events.tags
-- v = events.props
-- x = events.points
CREATE TABLE {out} AS
SELECT info.a AS a, info.c.d AS d, tags[0] AS tag, props['k'] AS v, points.x AS x FROM events

--- make_structs
-- s = orders.id, orders.region
-- t = orders.id, orders.amount
-- a = orders.id, orders.qty
-- m = orders.region, orders.note
CREATE TABLE {out} AS
SELECT struct(id, region) AS s, named_struct('i', id, 'v', amount * 2) AS t, array(id, qty) AS a, map(region, note) AS m FROM orders

--- struct_and_its_field
-- # Spark sees through the struct: only the field that is taken flows.
-- v = orders.region
CREATE TABLE {out} AS SELECT s.r AS v FROM (SELECT named_struct('i', id, 'r', region) AS s FROM orders)

--- change_a_struct
-- info = people_json.address, people_json.name
CREATE TABLE {out} AS
SELECT named_struct('city', upper(address.city), 'zip', address.zip, 'who', name) AS info FROM people_json

--- higher_order
-- a = events.tags, events.id
-- b = events.tags
-- c = events.points
-- d = events.tags, events.id
-- e = events.tags, events.js
CREATE TABLE {out} AS
SELECT transform(tags, x -> concat(x, id)) AS a, filter(tags, x -> x > 'a') AS b,
  aggregate(points, 0, (acc, p) -> acc + p.x) AS c, exists(tags, x -> length(x) > id) AS d,
  zip_with(tags, split(js, ','), (x, y) -> x || y) AS e
FROM events

--- nested_lambdas
-- v = events.tags, events.points, events.id
CREATE TABLE {out} AS SELECT transform(tags, x -> transform(points, y -> x || y.x || id)) AS v FROM events

--- map_functions
-- a = events.props
-- b = events.props, events.id
-- c = events.props
CREATE TABLE {out} AS
SELECT map_keys(props) AS a, transform_values(props, (k, v) -> v || id) AS b, map_filter(props, (k, v) -> k > 'a') AS c FROM events

--- json
-- a, b, c = events.js
-- d = events.id, events.info
CREATE TABLE {out} AS
SELECT get_json_object(js, '$.a') AS a, from_json(js, 'a INT, b STRUCT<c: INT>').b.c AS b,
  try_parse_json(js) IS NULL AS c, to_json(struct(id, info)) AS d
FROM events

--- predicates_as_values
-- a = orders.qty
-- b = orders.region, orders.note
-- c = orders.note
-- d = orders.amount, orders.id, orders.qty
CREATE TABLE {out} AS
SELECT qty IN (1, 2) AS a, region = note AS b, note IS NULL AS c, amount BETWEEN id AND qty AS d FROM orders

--- hashes
-- h = orders.id, orders.region, orders.note
-- m = orders.region, orders.note
CREATE TABLE {out} AS
SELECT xxhash64(id, region, note) AS h, md5(concat_ws('|', region, note)) AS m FROM orders

--- nondeterministic
-- u, m =
-- v = orders.id
CREATE TABLE {out} AS SELECT uuid() AS u, monotonically_increasing_id() AS m, id + rand() AS v FROM orders

--- file_columns
-- # What the scan itself knows of its files is no column of the table.
-- id == orders
-- f =
CREATE TABLE {out} AS SELECT id, input_file_name() AS f FROM orders

--- hidden_metadata
-- id == orders
-- f, n = [orders._metadata]
CREATE TABLE {out} AS SELECT id, _metadata.file_name AS f, _metadata.file_size AS n FROM orders

--- filters
-- id == orders
-- * ~ orders.qty, orders.region, orders.note, orders.day
CREATE TABLE {out} AS
SELECT id FROM orders WHERE qty > 1 AND (region LIKE 'n%' OR note IS NOT NULL) AND day IN (DATE'2026-01-01', DATE'2026-01-02')

--- filter_on_an_alias
-- v = orders.amount, orders.qty
-- * ~ orders.amount, orders.qty
CREATE TABLE {out} AS SELECT v FROM (SELECT amount * qty AS v FROM orders) WHERE v > 3

--- order_and_limit
-- id == orders
-- * ~ orders.amount, orders.qty
CREATE TABLE {out} AS SELECT id FROM orders ORDER BY amount DESC, qty LIMIT 2

--- order_limit_offset_of_expressions
-- v = orders.id, orders.qty
-- * ~ orders.amount
CREATE TABLE {out} AS SELECT id + qty AS v FROM orders ORDER BY abs(amount) LIMIT 2 OFFSET 1

--- limit_only
-- id == orders
CREATE TABLE {out} AS SELECT id FROM orders LIMIT 2

--- order_only
-- id == orders
-- region == orders
CREATE TABLE {out} AS SELECT id, region FROM orders ORDER BY amount

--- sort_distribute_cluster
-- id, amount == orders
CREATE TABLE {out} AS SELECT id, amount FROM orders DISTRIBUTE BY region SORT BY amount

--- sample
-- id == orders
CREATE TABLE {out} AS SELECT id FROM orders TABLESAMPLE (50 PERCENT) REPEATABLE (1)

--- sample_rows
-- id == orders
CREATE TABLE {out} AS SELECT id FROM orders TABLESAMPLE (2 ROWS)

--- star_except
-- id, cust, amount, qty, day == orders
CREATE TABLE {out} AS SELECT * EXCEPT (region, note) FROM orders

--- lateral_alias
-- a = orders.amount, orders.qty
-- b = orders.amount, orders.qty, orders.id
CREATE TABLE {out} AS SELECT amount * qty AS a, a + id AS b FROM orders

--- pipe_syntax
-- region == orders
-- total = orders.amount, orders.qty
-- total ~ orders.region, orders.id
CREATE TABLE {out} AS
FROM orders |> WHERE id > 0 |> EXTEND amount * qty AS v |> AGGREGATE sum(v) AS total GROUP BY region

--- sql_function
-- id == orders
-- v = orders.amount, orders.qty
CREATE OR REPLACE TEMPORARY FUNCTION twice(x DOUBLE, y INT) RETURNS DOUBLE RETURN x * 2 + y;
CREATE TABLE {out} AS SELECT id, twice(amount, qty) AS v FROM orders

--- sql_function_with_query
-- id == orders
-- v = customers.name
-- v ~ orders.cust, customers.id
CREATE OR REPLACE TEMPORARY FUNCTION name_of(k INT) RETURNS STRING RETURN (SELECT max(name) FROM customers WHERE id = k);
CREATE TABLE {out} AS SELECT id, name_of(cust) AS v FROM orders

--- session_variable
-- id == orders
-- v = orders.amount
-- * ~ orders.qty
DECLARE OR REPLACE VARIABLE least INT DEFAULT 2;
CREATE TABLE {out} AS SELECT id, amount * least AS v FROM orders WHERE qty > least

--- chars_and_varchars
-- # CHAR is padded by an expression while it is read.
-- code, label == codes
-- n == codes
CREATE TABLE {out} AS SELECT code, label, n FROM codes

--- long_condition
-- id == orders
-- * ~ orders.qty, orders.id
CREATE TABLE {out} AS
SELECT id FROM orders WHERE qty IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
  28, 29, 30) OR id + 1 = 7

--- values_list
-- a, b =
CREATE TABLE {out} AS SELECT * FROM VALUES (1, 'x'), (2, 'y') AS t(a, b)

--- range_function
-- id =
-- v = customers.name
CREATE TABLE {out} AS SELECT r.id, c.name AS v FROM range(3) r CROSS JOIN customers c
