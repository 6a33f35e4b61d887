Caches, places and ways of writing.

--- unseen_lazy_cache
-- region == orders
-- total = orders.amount
-- total ~ orders.region
CACHE LAZY TABLE unseen_lazy AS SELECT region, sum(amount) AS total, max(qty) AS most FROM orders GROUP BY region;
CREATE TABLE {out} AS SELECT region, total FROM unseen_lazy;
UNCACHE TABLE unseen_lazy

--- unseen_two_caches_of_one_table
-- id == orders
-- a = orders.amount
-- b = orders.qty
-- c = orders.note
-- * ~ orders.id
CACHE TABLE unseen_one AS SELECT id, amount AS v FROM orders;
CACHE TABLE unseen_two AS SELECT id, qty AS v, note AS w FROM orders;
CREATE TABLE {out} AS SELECT x.id, x.v AS a, y.v AS b, y.w AS c FROM unseen_one x JOIN unseen_two y ON x.id = y.id;
UNCACHE TABLE unseen_one;
UNCACHE TABLE unseen_two

--- unseen_cached_base_and_cached_part
-- id == orders
-- v = orders.amount, orders.qty
-- note == orders
-- * ~ orders.id, orders.region
CACHE TABLE orders;
CACHE TABLE unseen_part AS SELECT id, amount * qty AS v FROM orders WHERE region = 'north';
CREATE TABLE {out} AS SELECT o.id, p.v, o.note FROM orders o JOIN unseen_part p ON o.id = p.id;
UNCACHE TABLE unseen_part;
UNCACHE TABLE orders

--- unseen_cached_broad
-- k == broad
-- r{20..79} = broad.c{20..79}
-- h = broad.c{80..145}
-- * ~ broad.is_deleted
CACHE TABLE broad;
CREATE TABLE {out} AS SELECT k, {20..79| c@ AS r@}, xxhash64({80..145| c@}) AS h FROM broad WHERE NOT is_deleted;
UNCACHE TABLE broad

--- unseen_cached_broad_joined_to_itself
-- a{0..59} = broad.c{0..59}
-- b{60..119} = broad.c{60..119}
-- * ~ broad.k, broad.region
CACHE TABLE broad;
CREATE TABLE {out} AS
SELECT {0..59| x.c@ AS a@}, {60..119| y.c@ AS b@} FROM broad x JOIN broad y ON x.k = y.k AND x.region = y.region;
UNCACHE TABLE broad

--- unseen_cached_view_of_broad
-- region == broad
-- s{0..59} = broad.c{0..59}
-- s{0..59} ~ broad.region, broad.is_deleted
CACHE TABLE unseen_sums OPTIONS ('storageLevel' 'MEMORY_ONLY') AS SELECT region, {0..59| sum(c@) AS s@} FROM broad WHERE NOT is_deleted GROUP BY region;
CREATE TABLE {out} AS SELECT region, {0..59| s@} FROM unseen_sums;
UNCACHE TABLE unseen_sums

--- unseen_cache_then_rollup
-- region, cust == orders
-- total = orders.amount
-- n = orders.note
-- m = orders.day
-- total, n, m ~ orders.region, orders.cust
CACHE TABLE unseen_rolled AS SELECT region, cust, amount, note, day FROM orders;
CREATE TABLE {out} AS
SELECT region, cust, sum(amount) AS total, count(DISTINCT note) AS n, count(DISTINCT day) AS m FROM unseen_rolled GROUP BY ROLLUP (region, cust);
UNCACHE TABLE unseen_rolled

--- unseen_cache_of_except_all
-- id = orders.id, [archive.id]
-- double = orders.qty, [archive.qty]
CACHE TABLE unseen_left AS SELECT id, qty FROM orders EXCEPT ALL SELECT id, qty FROM archive;
CREATE TABLE {out} AS SELECT id, qty * 2 AS double FROM unseen_left;
UNCACHE TABLE unseen_left

--- unseen_cached_output_appended
-- -> unseen_kept
-- id = orders.id, archive.id
-- v = orders.amount, archive.amount
-- -> out.unseen_cached_output_appended
-- w = out.unseen_kept.v
CREATE TABLE out.unseen_kept AS SELECT id, amount AS v FROM orders;
CACHE TABLE out.unseen_kept;
INSERT INTO out.unseen_kept SELECT id, amount FROM archive;
CREATE TABLE {out} AS SELECT v AS w FROM out.unseen_kept;
UNCACHE TABLE out.unseen_kept

--- unseen_uncached_again
-- id = orders.id
-- v = orders.note
CACHE TABLE unseen_gone AS SELECT id, amount AS v FROM orders;
UNCACHE TABLE unseen_gone;
CREATE OR REPLACE TEMPORARY VIEW unseen_gone AS SELECT id, note AS v FROM orders;
CREATE TABLE {out} AS SELECT id, v FROM unseen_gone

--- unseen_use_then_ctas
-- id == orders
-- v = orders.amount, orders.qty
USE out;
CREATE TABLE unseen_use_then_ctas AS SELECT id, amount * qty AS v FROM src.orders;
USE src

--- unseen_use_then_insert
-- a = orders.id
-- b = orders.note
-- -> unseen_used
-- id == orders
-- note == orders
CREATE TABLE {out} (a INT, b STRING) USING parquet;
USE out;
CREATE TABLE unseen_used USING orc AS SELECT id, note FROM src.orders;
INSERT INTO unseen_use_then_insert SELECT id, note FROM src.orders;
USE src

--- unseen_use_then_read_back
-- -> unseen_used_first
-- k = orders.id
-- v = orders.amount
-- -> unseen_use_then_read_back
-- k = out.unseen_used_first.k
-- total = out.unseen_used_first.v
-- total ~ out.unseen_used_first.k
USE out;
CREATE TABLE unseen_used_first AS SELECT id AS k, amount AS v FROM src.orders;
CREATE TABLE unseen_use_then_read_back AS SELECT k, sum(v) AS total FROM unseen_used_first GROUP BY k;
USE src

--- unseen_same_name_in_two_databases
-- id = customers.id
-- v = out.orders.id
-- -> out.orders
-- id = customers.parent
CREATE TABLE out.orders AS SELECT parent AS id FROM customers;
USE out;
CREATE TABLE unseen_same_name_in_two_databases AS SELECT c.id, o.id AS v FROM src.customers c LEFT JOIN orders o ON o.id = c.id;
USE src;
DROP TABLE out.orders

--- unseen_written_three_times
-- -> unseen_first
-- a = orders.id
-- b = orders.amount
-- -> unseen_second
-- a = out.unseen_first.b
-- -> unseen_written_three_times
-- x = out.unseen_second.a
CREATE TABLE out.unseen_first AS SELECT id AS a, amount AS b FROM orders;
CREATE TABLE out.unseen_second AS SELECT b AS a FROM out.unseen_first;
CREATE TABLE {out} AS SELECT a AS x FROM out.unseen_second

--- unseen_three_inserts_of_one
-- -> unseen_large
-- id, amount == orders
-- * ~ orders.qty
-- -> unseen_words
-- id = orders.id
-- word = orders.note, orders.region
-- -> unseen_three_inserts_of_one
-- region == orders
-- total = orders.amount
-- total ~ orders.region
CREATE TABLE out.unseen_large (id INT, amount DOUBLE) USING parquet;
CREATE TABLE out.unseen_words (id INT, word STRING) USING parquet;
CREATE TABLE {out} (region STRING, total DOUBLE) USING parquet;
FROM orders
INSERT INTO out.unseen_large SELECT id, amount WHERE qty > 5
INSERT OVERWRITE TABLE out.unseen_words SELECT id, concat(note, region)
INSERT INTO {out} SELECT region, sum(amount) GROUP BY region

--- unseen_two_inserts_of_a_join
-- -> unseen_names
-- n = customers.name
-- v = orders.amount
-- * ~ orders.cust, customers.id
-- -> unseen_two_inserts_of_a_join
-- c = customers.city
-- d = orders.day
-- * ~ orders.cust, customers.id, customers.vip
CREATE TABLE out.unseen_names (n STRING, v DOUBLE) USING parquet;
CREATE TABLE {out} (c STRING, d DATE) USING parquet;
FROM (SELECT c.*, o.amount, o.day FROM orders o JOIN customers c ON o.cust = c.id) j
INSERT INTO out.unseen_names SELECT name, amount
INSERT INTO {out} SELECT city, day WHERE vip

--- unseen_directory_of_json
-- -> <files/unseen_json>
-- id == orders
-- doc = orders.note, orders.region
-- -> unseen_directory_of_json
-- n = <files/unseen_json>.id
-- d = <files/unseen_json>.doc
INSERT OVERWRITE DIRECTORY '{dir}/files/unseen_json' USING json SELECT id, struct(note, region) AS doc FROM orders;
CREATE TABLE {out} AS SELECT id AS n, doc AS d FROM json.`{dir}/files/unseen_json`

--- unseen_directory_of_csv
-- -> <files/unseen_csv>
-- id == orders
-- label = orders.note, orders.region
-- -> unseen_directory_of_csv
-- a = <files/unseen_csv>._c0
-- b = <files/unseen_csv>._c1
INSERT OVERWRITE DIRECTORY USING csv OPTIONS ('path' '{dir}/files/unseen_csv') SELECT id, concat(note, region) AS label FROM orders;
CREATE TABLE {out} AS SELECT _c0 AS a, _c1 AS b FROM csv.`{dir}/files/unseen_csv`

--- unseen_directory_of_orc_and_text
-- -> <files/unseen_orc>
-- id == orders
-- -> <files/unseen_text>
-- line = orders.note
-- -> unseen_directory_of_orc_and_text
-- id = <files/unseen_orc>.id
-- value = <files/unseen_text>.value
INSERT OVERWRITE DIRECTORY '{dir}/files/unseen_orc' USING orc SELECT id FROM orders;
INSERT OVERWRITE DIRECTORY '{dir}/files/unseen_text' USING text SELECT coalesce(note, '-') AS line FROM orders;
CREATE TABLE {out} AS SELECT o.id, t.value FROM orc.`{dir}/files/unseen_orc` o CROSS JOIN text.`{dir}/files/unseen_text` t

--- unseen_path_read_twice
-- -> <files/unseen_twice>
-- id, amount, qty, note == orders
-- -> unseen_path_read_twice
-- a = <files/unseen_twice>.amount
-- b = <files/unseen_twice>.qty
-- * ~ <files/unseen_twice>.id
INSERT OVERWRITE DIRECTORY '{dir}/files/unseen_twice' USING parquet SELECT id, amount, qty, note FROM orders;
CREATE TABLE {out} AS
SELECT x.amount AS a, y.qty AS b
FROM (SELECT * EXCEPT (qty, note) FROM parquet.`{dir}/files/unseen_twice`) x
JOIN (SELECT * EXCEPT (amount, note) FROM parquet.`{dir}/files/unseen_twice`) y ON x.id = y.id

--- unseen_partitions_found_again
-- -> unseen_by_day
-- id, amount, day, region == orders
-- * ~ orders.day
-- -> unseen_partitions_found_again
-- id, amount == out.unseen_by_day
-- where = out.unseen_by_day.region
-- * ~ out.unseen_by_day.day
CREATE TABLE out.unseen_by_day (id INT, amount DOUBLE, day DATE, region STRING) USING parquet PARTITIONED BY (day, region);
INSERT OVERWRITE out.unseen_by_day SELECT id, amount, day, region FROM orders;
INSERT OVERWRITE out.unseen_by_day PARTITION (day = DATE'2026-03-01', region) SELECT id, amount, region FROM orders WHERE day = DATE'2026-01-01';
CREATE TABLE {out} AS SELECT id, amount, region AS where FROM out.unseen_by_day WHERE day >= DATE'2026-01-02'

--- unseen_bucketed_and_sorted
-- cust, id, amount == orders
-- name == customers
-- * ~ orders.cust, customers.id
CREATE TABLE {out} USING parquet CLUSTERED BY (cust) SORTED BY (id) INTO 2 BUCKETS AS
SELECT o.cust, o.id, o.amount, c.name FROM orders o JOIN customers c ON o.cust = c.id

--- unseen_hive_partitions_from_a_join
-- id == orders
-- name == customers
-- day = orders.day
-- region == orders
-- * ~ orders.cust, customers.id
CREATE TABLE {out} (id INT, name STRING) PARTITIONED BY (day STRING, region STRING) STORED AS ORC;
INSERT OVERWRITE TABLE {out} PARTITION (day, region)
SELECT o.id, c.name, CAST(o.day AS STRING), o.region FROM orders o JOIN customers c ON o.cust = c.id

--- unseen_global_view_of_a_view
-- id == orders
-- v = orders.amount, orders.qty
-- w = targets.owner
-- * ~ orders.region, targets.region, orders.qty
CREATE OR REPLACE TEMPORARY VIEW unseen_inner AS SELECT id, region, amount * qty AS v FROM orders WHERE qty > 0;
CREATE OR REPLACE GLOBAL TEMPORARY VIEW unseen_outer AS
SELECT i.id, i.v, t.owner FROM unseen_inner i JOIN targets t ON i.region = t.region;
CREATE TABLE {out} AS SELECT id, v, owner AS w FROM global_temp.unseen_outer;
DROP VIEW global_temp.unseen_outer;
DROP VIEW unseen_inner

--- unseen_views_four_deep
-- area = orders.region
-- best = orders.amount, orders.qty
-- best ~ orders.region, orders.cust, orders.note
CREATE OR REPLACE TEMPORARY VIEW unseen_v1 AS SELECT *, amount * qty AS total FROM orders;
CREATE OR REPLACE TEMPORARY VIEW unseen_v2 AS SELECT region AS area, cust, total FROM unseen_v1 WHERE note IS NOT NULL;
CREATE OR REPLACE TEMPORARY VIEW unseen_v3 AS SELECT area, cust, sum(total) AS total FROM unseen_v2 GROUP BY area, cust;
CREATE OR REPLACE TEMPORARY VIEW unseen_v4(place, most) AS SELECT area, max(total) FROM unseen_v3 GROUP BY area;
CREATE TABLE {out} AS SELECT place AS area, most AS best FROM unseen_v4

--- unseen_stored_view_read
-- -> unseen_stored
-- id == orders
-- v = orders.amount, orders.qty
-- -> unseen_stored_view_read
-- w = orders.amount, orders.qty
-- * ~ orders.id
CREATE VIEW out.unseen_stored AS SELECT id, amount * qty AS v FROM orders;
CREATE TABLE {out} AS SELECT v + 1 AS w FROM out.unseen_stored WHERE id > 1

--- unseen_into_itself_and_others
-- a = orders.id, out.unseen_into_itself_and_others.b
-- b = orders.qty, out.unseen_into_itself_and_others.a
CREATE TABLE {out} USING parquet AS SELECT id AS a, qty AS b FROM orders;
INSERT INTO {out} SELECT b, a FROM {out}

--- unseen_column_list_and_defaults
-- a = orders.note
-- b = orders.id
-- c, d =
CREATE TABLE {out} (a STRING, b INT, c DATE DEFAULT current_date(), d STRING DEFAULT 'id#1') USING parquet;
INSERT INTO {out} (b, a) SELECT id, note FROM orders
