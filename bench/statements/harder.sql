What is easily got wrong: one thing on top of another.

--- lambda_hides_a_column
-- # The lambda's variable bears a column's name.
-- v = events.tags
CREATE TABLE {out} AS SELECT transform(tags, id -> concat(id, id)) AS v FROM events

--- struct_star
-- a, b = events.info
-- c = events.info
CREATE TABLE {out} AS SELECT info.* FROM events

--- fields_kept_apart
-- # A struct is built below a join and taken apart above it.
-- x = orders.amount, [orders.note]
-- y = orders.note, [orders.amount]
-- n = customers.name
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS
SELECT s.p.a AS x, s.p.b AS y, c.name AS n
FROM (SELECT cust, named_struct('a', amount, 'b', note) AS p FROM orders) s JOIN customers c ON s.cust = c.id

--- max_of_struct
-- region == orders
-- best = orders.id, [orders.amount]
-- best ~ orders.region
CREATE TABLE {out} AS SELECT region, max(named_struct('a', amount, 'i', id)).i AS best FROM orders GROUP BY region

--- window_over_window
-- v =
-- v ~ orders.region, orders.amount, orders.day
CREATE TABLE {out} AS
SELECT row_number() OVER (PARTITION BY rn ORDER BY day) AS v
FROM (SELECT day, row_number() OVER (PARTITION BY region ORDER BY amount) AS rn FROM orders)

--- windows_in_one_expression
-- v = orders.amount, orders.qty
-- v ~ orders.region, orders.cust
CREATE TABLE {out} AS
SELECT sum(amount) OVER (PARTITION BY region) / max(qty) OVER (PARTITION BY cust) AS v FROM orders

--- count_over_window
-- id == orders
-- n =
-- n ~ orders.region
CREATE TABLE {out} AS SELECT id, count(*) OVER (PARTITION BY region) AS n FROM orders

--- window_of_distinct_ranks
-- r, s =
-- r ~ orders.amount, orders.qty
-- s ~ orders.region, orders.note
CREATE TABLE {out} AS
SELECT rank() OVER (ORDER BY amount * qty DESC NULLS LAST) AS r, dense_rank() OVER (PARTITION BY upper(region) ORDER BY note) AS s
FROM orders

--- window_filtered_aggregate
-- v = orders.amount
-- v ~ orders.qty, orders.region
CREATE TABLE {out} AS SELECT sum(amount) FILTER (WHERE qty > 1) OVER (PARTITION BY region) AS v FROM orders

--- aggregate_of_windows
-- region == orders
-- v = orders.amount
CREATE TABLE {out} AS
SELECT region, max(s) AS v FROM (SELECT region, sum(amount) OVER (PARTITION BY cust) AS s FROM orders) GROUP BY region

--- ordinals
-- region == orders
-- total = orders.amount
CREATE TABLE {out} AS SELECT region, sum(amount) AS total FROM orders GROUP BY 1 ORDER BY 2 DESC LIMIT 5

--- cube_with_distinct
-- # Two Expands, one over the other.
-- region, day == orders
-- n = orders.cust
-- m = orders.qty
-- total = orders.amount
-- n, m, total ~ orders.region, orders.day
CREATE TABLE {out} AS
SELECT region, day, count(DISTINCT cust) AS n, count(DISTINCT qty) AS m, sum(amount) AS total FROM orders GROUP BY CUBE (region, day)

--- grouping_sets_crossed
-- # The sets name the columns in another order than the query.
-- d = orders.day
-- c = orders.cust
-- r = orders.region
-- v = orders.amount
CREATE TABLE {out} AS
SELECT day AS d, cust AS c, region AS r, min(amount) AS v FROM orders GROUP BY GROUPING SETS ((region, day), (cust, region), (cust))

--- grouping_in_having
-- region, day == orders
-- total = orders.amount
CREATE TABLE {out} AS
SELECT region, day, sum(amount) AS total FROM orders GROUP BY CUBE (region, day) HAVING grouping(day) = 1

--- pivot_of_two_columns
-- cust == orders
-- a, b = orders.amount, (orders.region), (orders.qty)
CREATE TABLE {out} AS
SELECT * FROM (SELECT cust, region, qty, amount FROM orders)
PIVOT (sum(amount) FOR (region, qty) IN (('north', 1) AS a, ('south', 2) AS b))

--- pivot_then_join
-- city == customers
-- a = orders.amount, (orders.region)
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS
SELECT c.city, p.a FROM (SELECT * FROM (SELECT cust, region, amount FROM orders) PIVOT (max(amount) FOR region IN ('north' AS a))) p
JOIN customers c ON c.id = p.cust

--- unpivot_then_aggregate
-- k =
-- total = orders.cust, orders.qty
CREATE TABLE {out} AS
SELECT k, sum(v) AS total FROM (SELECT cust, qty FROM orders) UNPIVOT (v FOR k IN (cust, qty)) GROUP BY k

--- stack_uneven
-- a = orders.id, orders.qty
-- b = orders.cust
CREATE TABLE {out} AS SELECT stack(2, id, cust, qty) AS (a, b) FROM orders

--- inline_zipped
-- t = events.tags
-- p = events.points
CREATE TABLE {out} AS SELECT z.tags AS t, z.points AS p FROM (SELECT explode(arrays_zip(tags, points)) AS z FROM events)

--- explode_twice_joined
-- tag = events.tags
-- k = events.props
-- * ~ events.tags, events.props
CREATE TABLE {out} AS
SELECT a.tag, b.k FROM (SELECT id, explode(tags) AS tag FROM events) a JOIN (SELECT id, explode(map_keys(props)) AS k FROM events) b
ON a.tag = b.k

--- subquery_of_subquery
-- id == orders
-- * ~ orders.cust, customers.id, customers.city, targets.owner
CREATE TABLE {out} AS
SELECT id FROM orders WHERE cust IN (SELECT id FROM customers WHERE city IN (SELECT owner FROM targets))

--- scalar_in_having
-- region == orders
-- total = orders.amount
-- * ~ archive.amount, orders.amount, orders.region
CREATE TABLE {out} AS
SELECT region, sum(amount) AS total FROM orders GROUP BY region HAVING sum(amount) > (SELECT avg(amount) FROM archive)

--- scalar_in_join
-- id == orders
-- name == customers
CREATE TABLE {out} AS
SELECT o.id, c.name FROM orders o JOIN customers c ON o.cust = c.id AND o.amount > (SELECT min(price) FROM items)

--- scalar_in_aggregate
-- region == orders
-- v = orders.amount, archive.amount
CREATE TABLE {out} AS SELECT region, sum(amount - (SELECT avg(amount) FROM archive)) AS v FROM orders GROUP BY region

--- scalars_of_one_table_filtered_apart
-- a, b = orders.amount
-- a ~ orders.region
-- b ~ orders.qty
CREATE TABLE {out} AS
SELECT (SELECT sum(amount) FROM orders WHERE region = 'north') AS a, (SELECT sum(amount) FROM orders WHERE qty > 3) AS b

--- scalars_merged_and_crossed
-- # Three of one table, used in another order than they were made.
-- p = orders.day
-- q = orders.amount
-- r = orders.qty, orders.amount
CREATE TABLE {out} AS
SELECT (SELECT max(day) FROM orders) AS p, (SELECT min(amount) FROM orders) AS q,
  (SELECT max(qty) FROM orders) + (SELECT min(amount) FROM orders) AS r
FROM targets

--- correlated_not_in
-- id == orders
-- * ~ orders.cust, customers.id, customers.city, orders.region
CREATE TABLE {out} AS
SELECT id FROM orders o WHERE cust NOT IN (SELECT id FROM customers c WHERE c.city = o.region)

--- exists_not_equal
-- name == customers
-- * ~ customers.id, orders.cust, orders.qty
CREATE TABLE {out} AS
SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.cust < c.id AND o.qty > 2)

--- one_table_three_times
-- a, b, c = customers.name
-- * ~ customers.id, customers.parent
CREATE TABLE {out} AS
SELECT x.name AS a, y.name AS b, z.name AS c
FROM customers x JOIN customers y ON x.parent = y.id LEFT JOIN customers z ON y.parent = z.id

--- joined_with_its_aggregate
-- id == orders
-- share = orders.amount
-- share ~ orders.region
CREATE TABLE {out} AS
SELECT o.id, o.amount / t.total AS share
FROM orders o JOIN (SELECT region, sum(amount) AS total FROM orders GROUP BY region) t ON o.region = t.region

--- reused_exchange
-- a = orders.amount
-- b = orders.amount
-- r = orders.region
CREATE TABLE {out} AS
SELECT x.region AS r, x.m AS a, y.m AS b
FROM (SELECT region, max(amount) AS m FROM orders GROUP BY region) x
JOIN (SELECT region, max(amount) AS m FROM orders GROUP BY region) y ON x.region = y.region

--- union_in_subquery_with_nulls
-- k =
-- a = orders.id
-- b = archive.amount
CREATE TABLE {out} AS
SELECT k, a, b FROM (SELECT 1 AS k, id AS a, NULL AS b FROM orders UNION ALL SELECT 2, NULL, amount FROM archive)

--- union_of_same_rows
-- v = orders.id
-- w = orders.qty, orders.cust
CREATE TABLE {out} AS SELECT id AS v, qty AS w FROM orders UNION ALL SELECT id, cust FROM orders

--- union_reordered_and_cast
-- a = orders.id, archive.amount
-- b = orders.amount, archive.id
CREATE TABLE {out} AS SELECT id AS a, amount AS b FROM orders UNION ALL SELECT amount, id FROM archive

--- union_with_aggregates
-- what =
-- v = orders.amount, customers.id
-- v ~ orders.region
CREATE TABLE {out} AS
SELECT 'o' AS what, sum(amount) AS v FROM orders WHERE region = 'north' UNION ALL SELECT 'c', count(DISTINCT id) FROM customers

--- nothing_left
-- # The optimizer leaves an empty relation.
-- id = [orders.id]
CREATE TABLE {out} AS SELECT id FROM orders WHERE 1 = 0

--- folded
-- # What the optimizer folds away may be told or not.
-- a = [orders.amount]
-- b = orders.id, [orders.qty]
CREATE TABLE {out} AS SELECT coalesce(1, amount) AS a, CASE WHEN 1 = 1 THEN id ELSE qty END AS b FROM orders

--- join_dropped
-- # A left join of distinct rows that gives nothing is dropped.
-- id == orders
CREATE TABLE {out} AS SELECT DISTINCT o.id FROM orders o LEFT JOIN customers c ON o.cust = c.id

--- nullif_chain
-- v = orders.note, orders.region, [orders.id]
CREATE TABLE {out} AS SELECT coalesce(nullif(note, ''), nullif(region, '-'), 'none') AS v FROM orders

--- deep_expression
-- v = orders.amount, orders.qty, orders.id, orders.note, (orders.region)
CREATE TABLE {out} AS
SELECT round(sqrt(abs(CASE WHEN region IS NULL THEN amount WHEN length(region) > 3 THEN amount * qty ELSE CAST(note AS DOUBLE) END)) + id, 2) AS v
FROM orders

--- variants
-- v, w = events.js
CREATE TABLE {out} AS
SELECT variant_get(parse_json(js), '$.a', 'int') AS v, to_json(parse_json(js)) AS w FROM events

--- sketches
-- region == orders
-- n = orders.cust
-- p = orders.amount
CREATE TABLE {out} AS
SELECT region, hll_sketch_estimate(hll_sketch_agg(cust)) AS n, approx_percentile(amount, array(0.1, 0.9)) AS p FROM orders GROUP BY region

--- from_first
-- id == orders
-- v = orders.amount
CREATE TABLE {out} AS FROM orders SELECT id, amount AS v

--- pipe_join
-- name == customers
-- v = orders.amount
-- * ~ orders.cust, customers.id, orders.qty
CREATE TABLE {out} AS
FROM orders |> WHERE qty > 1 |> AS o |> JOIN customers c ON o.cust = c.id |> SELECT c.name, o.amount AS v

--- execute_immediate
-- id == orders
CREATE TABLE {out} (id INT) USING parquet;
EXECUTE IMMEDIATE 'INSERT INTO {out} SELECT id FROM orders WHERE qty > ?' USING 1

--- positional_arguments
-- v = orders.note
CREATE TABLE {out} AS SELECT regexp_extract(note, '(a), (b)', 1) AS v FROM orders

--- interval_arithmetic
-- d = orders.day, orders.qty
-- m = orders.day
CREATE TABLE {out} AS
SELECT day + make_interval(0, 0, 0, qty) AS d, months_between(day, DATE'2026-01-01') AS m FROM orders

--- collated
-- id == orders
-- n = orders.region
-- * ~ orders.note
CREATE TABLE {out} AS
SELECT id, upper(region COLLATE UTF8_LCASE) AS n FROM orders WHERE note COLLATE UTF8_LCASE = 'A'

--- sort_in_subquery
-- id == orders
-- * ~ orders.day
CREATE TABLE {out} AS SELECT id FROM (SELECT id, day FROM orders ORDER BY day LIMIT 10) ORDER BY id

--- limit_in_join
-- id == orders
-- name == customers
CREATE TABLE {out} AS
SELECT o.id, c.name FROM (SELECT id, cust FROM orders ORDER BY amount LIMIT 2) o JOIN customers c ON o.cust = c.id

--- insert_with_default
-- a = orders.id
-- b =
CREATE TABLE {out} (a INT, b INT DEFAULT 7) USING parquet;
INSERT INTO {out} (a) SELECT id FROM orders

--- insert_by_name_partly
-- a = orders.qty
-- b =
-- c = orders.id
CREATE TABLE {out} (a INT, b STRING DEFAULT 'x', c INT) USING parquet;
INSERT INTO {out} BY NAME SELECT id AS c, qty AS a FROM orders

--- insert_columns_and_partition
-- id == orders
-- amount = orders.amount
-- day =
CREATE TABLE {out} (id INT, amount DOUBLE, day STRING) USING parquet PARTITIONED BY (day);
INSERT INTO {out} PARTITION (day = 'x') (amount, id) SELECT amount, id FROM orders

--- insert_partition_first
-- # Partition columns stand last, wherever the query has them by name.
-- id = orders.cust
-- day = orders.note
CREATE TABLE {out} (id INT, day STRING) USING parquet PARTITIONED BY (day);
INSERT INTO {out} (day, id) SELECT note, cust FROM orders

--- insert_hive_self
-- a = out.insert_hive_self.a, orders.id
-- b = out.insert_hive_self.b, orders.note
-- * ~ orders.id, out.insert_hive_self.a
CREATE TABLE {out} (a INT, b STRING) STORED AS ORC;
INSERT INTO TABLE {out} SELECT coalesce(s.a, o.id), concat(s.b, o.note) FROM orders o LEFT JOIN {out} s ON o.id = s.a

--- hive_scan_unconverted
-- id == hive_sales
-- v = hive_sales.amount
-- day = hive_sales.day
-- * ~ hive_sales.region, hive_sales.amount
SET spark.sql.hive.convertMetastoreParquet = false;
CREATE TABLE {out} AS SELECT id, amount AS v, day FROM hive_sales WHERE region = 'north' AND amount > 1;
RESET spark.sql.hive.convertMetastoreParquet

--- hive_to_hive
-- id == archive
-- country == regions
-- day = archive.day
-- * ~ archive.region, regions.region
CREATE TABLE {out} (id INT, country STRING) PARTITIONED BY (day STRING) STORED AS PARQUET;
INSERT INTO {out} PARTITION (day) SELECT a.id, r.country, CAST(a.day AS STRING) FROM archive a JOIN regions r ON a.region = r.region

--- wide_cached_twice
-- c{1..30} = wide.c{1..30}
-- d{31..60} = wide.c{31..60}
-- * ~ wide.c120
CACHE TABLE wide_twice AS SELECT * FROM wide;
CREATE TABLE {out} AS SELECT {1..30| a.c@}, {31..60| b.c@ AS d@} FROM wide_twice a JOIN wide_twice b ON a.c120 = b.c120;
UNCACHE TABLE wide_twice

--- wide_cached_computed
-- e{1..40} = wide.c{1..40}
CACHE TABLE wide_computed AS SELECT {1..40| c@ + 1 AS e@} FROM wide WHERE c120 > 0;
CREATE TABLE {out} AS SELECT {1..40| e@} FROM wide_computed;
UNCACHE TABLE wide_computed

--- wide_grouping_sets
-- c{1..30} = wide.c{1..30}
-- m = wide.c50
CREATE TABLE {out} AS SELECT {1..30| c@}, max(c50) AS m FROM wide GROUP BY ROLLUP ({1..30| c@})

--- wide_several_distincts
-- c1 == wide
-- n{2..12} = wide.c{2..12}
CREATE TABLE {out} AS SELECT c1, {2..12| count(DISTINCT c@) AS n@} FROM wide GROUP BY c1

--- wide_dynamic_partition
-- c{1..40} = wide.c{1..40}
CREATE TABLE {out} USING parquet PARTITIONED BY (c1) AS SELECT {1..40| c@} FROM wide;

--- wide_hive_partition
-- c{1..40} = wide.c{@+40}
-- p = wide.c120
CREATE TABLE {out} ({1..40| c@ INT}) PARTITIONED BY (p INT) STORED AS ORC;
INSERT INTO {out} PARTITION (p) SELECT {41..80| c@}, c120 FROM wide

--- wide_union_of_different
-- v{1..40} = wide.c{1..40}
-- v{1..40} = wide.c{@+40}
CREATE TABLE {out} AS SELECT {1..40| c@ AS v@} FROM wide UNION ALL SELECT {41..80| c@} FROM wide

--- wide_case
-- v = wide.c{1..30}, (wide.c100)
CREATE TABLE {out} AS SELECT CASE c100 {1..1| WHEN @ THEN c1} WHEN 2 THEN greatest({2..30| c@}) ELSE 0 END AS v FROM wide

--- wide_map
-- m = wide.c{1..20}
CREATE TABLE {out} AS SELECT map({1..20| 'k@', c@}) AS m FROM wide

--- wide_window_row
-- h = wide.c{1..30}
-- rn =
-- rn ~ wide.c40, wide.c{1..30}
CREATE TABLE {out} AS
SELECT h, row_number() OVER (PARTITION BY c40 ORDER BY h) AS rn FROM (SELECT c40, hash({1..30| c@}) AS h FROM wide)

--- wide_hashes_in_two_operators
-- a = wide.c{1..40}
-- b = wide.c{1..80}
-- ! unknown
CREATE TABLE {out} AS SELECT a, hash(a, {41..80| c@}) AS b FROM (SELECT /*+ REPARTITION(2) */ hash({1..40| c@}) AS a, {41..80| c@} FROM wide)

--- wide_join_keys
-- id = wide.c50
-- * ~ wide.c{1..30}
CREATE TABLE {out} AS
SELECT a.c50 AS id FROM wide a JOIN wide b ON {1..1| a.c@ = b.c@ AND} {2..2| a.c@ = b.c@} AND hash({3..30| a.c@}) = hash({3..30| b.c@})

--- wide_in_list
-- id = wide.c1
-- * ~ wide.c2
CREATE TABLE {out} AS SELECT c1 AS id FROM wide WHERE c2 IN ({1..60| @})

--- wide_filter
-- id = wide.c1
-- * ~ wide.c{2..40}
CREATE TABLE {out} AS SELECT c1 AS id FROM wide WHERE {2..40+ c@} > 3 AND coalesce({2..40| c@}) > 0

--- many_distincts
-- # Thirty-nine rows for each: the list of projections is cut as well.
-- c1 == wide
-- n{2..40} = wide.c{2..40}
CREATE TABLE {out} AS SELECT c1, {2..40| count(DISTINCT c@) AS n@} FROM wide GROUP BY c1

--- cube_of_five
-- # Thirty-two sets.
-- c{1..5} = wide.c{1..5}
-- m = wide.c6
-- m ~ wide.c{1..5}
CREATE TABLE {out} AS SELECT {1..5| c@}, sum(c6) AS m FROM wide GROUP BY CUBE ({1..5| c@})

--- cases_of_thirty
-- # Nothing of a CASE is cut.
-- v = (wide.c{1..30})
-- v = wide.c31
CREATE TABLE {out} AS SELECT {1..30+ if(c@ > 0, 1, 0)} + c31 AS v FROM wide

--- union_of_thirty
-- v = wide.c{1..30}
CREATE TABLE {out} AS SELECT explode(array({1..30| c@})) AS v FROM wide UNION ALL SELECT c1 FROM wide

--- distinct_union_wide
-- v{1..30} = wide.c{1..30}
-- v{1..30} = wide.c{@+30}
CREATE TABLE {out} AS SELECT {1..30| c@ AS v@} FROM wide UNION SELECT {31..60| c@} FROM wide

--- window_in_aggregate_in_window
-- region == orders
-- v = orders.amount
-- v ~ orders.region, orders.cust, orders.day
CREATE TABLE {out} AS
SELECT region, max(m) OVER (PARTITION BY region) AS v
FROM (SELECT region, max(s) AS m FROM (SELECT region, sum(amount) OVER (PARTITION BY cust ORDER BY day) AS s FROM orders) GROUP BY region)

--- aggregate_keys_crossed
-- # Keys are computed, renamed and swapped.
-- a = orders.region
-- b = orders.note
-- n = orders.id
CREATE TABLE {out} AS
SELECT y AS a, x AS b, count(DISTINCT id) AS n FROM (SELECT lower(note) AS x, upper(region) AS y, id FROM orders) GROUP BY x, y

--- same_expression_twice
-- a, b = orders.amount, orders.qty
-- c = orders.amount, orders.qty
CREATE TABLE {out} AS
SELECT sum(amount * qty) AS a, sum(amount * qty) + 1 AS b, max(amount * qty) AS c FROM orders

--- join_of_unions
-- v = orders.id, archive.id
-- w = customers.name, targets.owner
-- * ~ orders.region, archive.region, customers.city, targets.region
CREATE TABLE {out} AS
SELECT a.id AS v, b.n AS w
FROM (SELECT id, region FROM orders UNION ALL SELECT id, region FROM archive) a
JOIN (SELECT name AS n, city AS k FROM customers UNION ALL SELECT owner, region FROM targets) b ON a.region = b.k
