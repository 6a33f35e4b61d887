MERGE. What a clause's condition and ON decide may be told as data, too, as plans have it in conditions of CASE.

--- merge
-- id = changes.id
-- amount = changes.amount
-- qty = changes.qty, {out}.qty
-- * ~ (changes.id), ({out}.id), (changes.op)
CREATE TABLE {out} (id INT, amount DOUBLE, qty INT) USING {format};
INSERT INTO {out} VALUES (1, 10.5D, 2), (2, 20D, 1), (3, 7.25D, 9);
MERGE INTO {out} t USING changes s ON t.id = s.id
WHEN MATCHED AND s.op = 'D' THEN DELETE
WHEN MATCHED THEN UPDATE SET t.amount = s.amount, t.qty = t.qty + s.qty
WHEN NOT MATCHED THEN INSERT (id, amount, qty) VALUES (s.id, s.amount, s.qty)

--- merge_star
-- id == changes
-- amount == changes
-- qty == changes
-- note == changes
-- op == changes
-- day == changes
-- * ~ (changes.id), ({out}.id)
CREATE TABLE {out} (id INT, amount DOUBLE, qty INT, note STRING, op STRING, day DATE) USING {format};
INSERT INTO {out} VALUES (1, 10.5D, 2, 'a', 'x', DATE'2026-01-01'), (4, 20D, 1, 'b', 'y', DATE'2026-01-02');
MERGE INTO {out} USING changes ON {out}.id = changes.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *

--- merge_star_reordered
-- # By name, whatever the order.
-- note == changes
-- id == changes
-- qty == changes
-- * ~ (changes.id), ({out}.id)
CREATE TABLE {out} (note STRING, qty INT, id INT) USING {format};
INSERT INTO {out} VALUES ('a', 1, 1), ('b', 2, 4);
MERGE INTO {out} t USING (SELECT id, qty, note FROM changes) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *

--- merge_insert_only
-- id == changes
-- amount == changes
-- * ~ (changes.id), ({out}.id)
CREATE TABLE {out} (id INT, amount DOUBLE) USING {format};
INSERT INTO {out} VALUES (1, 10.5D);
MERGE INTO {out} t USING changes s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, amount) VALUES (s.id, s.amount)

--- merge_insert_some
-- # The rest of the row is NULL.
-- key = changes.id
-- a =
-- b = changes.qty
-- * ~ (changes.id), ({out}.key), (changes.op)
CREATE TABLE {out} (key INT, a STRING, b INT) USING {format};
INSERT INTO {out} VALUES (1, 'a', 1);
MERGE INTO {out} t USING changes s ON t.key = s.id
WHEN NOT MATCHED AND s.op = 'I' THEN INSERT (b, key, a) VALUES (s.qty, s.id, NULL)

--- merge_update_only
-- v = changes.amount, orders.qty
-- v ~ (changes.id), (orders.id), ({out}.id)
CREATE TABLE {out} (id INT, v DOUBLE, w INT) USING {format};
INSERT INTO {out} VALUES (1, 10.5D, 7), (2, 11D, 8);
MERGE INTO {out} t USING (SELECT c.id, c.amount * o.qty AS v FROM changes c JOIN orders o ON c.id = o.id) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.v

--- merge_update_conditions
-- a = changes.amount, changes.qty
-- b = changes.note
-- a ~ (changes.id), ({out}.id), (changes.op), ({out}.b)
-- b ~ (changes.id), ({out}.id), (changes.op)
CREATE TABLE {out} (id INT, a DOUBLE, b STRING) USING {format};
INSERT INTO {out} VALUES (1, 10.5D, 'x'), (2, 11D, 'y');
MERGE INTO {out} t USING changes s ON t.id = s.id
WHEN MATCHED AND s.op = 'U' AND t.b = 'x' THEN UPDATE SET a = s.amount
WHEN MATCHED AND s.op = 'D' THEN UPDATE SET a = s.qty, b = s.note

--- merge_update_case
-- a = changes.amount, {out}.b
-- a ~ (changes.id), ({out}.id), (changes.qty)
CREATE TABLE {out} (id INT, a DOUBLE, b DOUBLE) USING {format};
INSERT INTO {out} VALUES (1, 10.5D, 1D), (2, 11D, 2D);
MERGE INTO {out} t USING changes s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET a = CASE WHEN s.qty > 1 THEN s.amount ELSE t.b END

--- merge_delete_only
-- # Nothing flows, but the source decides about all rows.
-- id, v =
-- * ~ changes.id, {out}.id
CREATE TABLE {out} (id INT, v DOUBLE) USING {format};
INSERT INTO {out} VALUES (1, 10.5D), (5, 11D);
MERGE INTO {out} t USING changes s ON t.id = s.id WHEN MATCHED THEN DELETE

--- merge_not_matched_by_source
-- id == changes
-- v = changes.amount
-- state =
-- * ~ (changes.id), ({out}.id), ({out}.v)
CREATE TABLE {out} (id INT, v DOUBLE, state STRING) USING {format};
INSERT INTO {out} VALUES (1, 10.5D, 'new'), (5, 11D, 'new'), (6, 0D, 'new');
MERGE INTO {out} t USING changes s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.amount
WHEN NOT MATCHED THEN INSERT (id, v, state) VALUES (s.id, s.amount, 'new')
WHEN NOT MATCHED BY SOURCE AND t.v > 1 THEN UPDATE SET state = 'old'
WHEN NOT MATCHED BY SOURCE THEN DELETE

--- merge_all_clauses
-- id == changes
-- amount = changes.amount, {out}.qty
-- qty = changes.qty
-- note = changes.note
-- * ~ (changes.id), ({out}.id), (changes.op), (changes.qty)
CREATE TABLE {out} (id INT, amount DOUBLE, qty INT, note STRING) USING {format};
INSERT INTO {out} VALUES (1, 10.5D, 2, 'a'), (2, 20D, 1, NULL), (3, 7.25D, 9, 'c');
MERGE INTO {out} AS t USING changes AS s ON t.id = s.id
WHEN MATCHED AND s.op = 'D' THEN DELETE
WHEN MATCHED AND s.qty > 5 THEN UPDATE SET t.note = s.note
WHEN MATCHED THEN UPDATE SET t.amount = s.amount, t.qty = s.qty
WHEN NOT MATCHED AND s.op = 'I' THEN INSERT (id, amount, qty, note) VALUES (s.id, s.amount, s.qty, s.note)
WHEN NOT MATCHED AND s.op = 'U' THEN INSERT (id, note) VALUES (s.id, 'late')
WHEN NOT MATCHED BY SOURCE THEN UPDATE SET t.amount = t.qty

--- merge_of_aggregate
-- region == orders
-- total = orders.amount
-- total ~ (orders.region), ({out}.region)
CREATE TABLE {out} (region STRING, total DOUBLE) USING {format};
INSERT INTO {out} VALUES ('north', 1D), ('west', 2D);
MERGE INTO {out} t USING (SELECT region, sum(amount) AS total FROM orders GROUP BY region) s ON t.region = s.region
WHEN MATCHED THEN UPDATE SET total = s.total
WHEN NOT MATCHED THEN INSERT (region, total) VALUES (s.region, s.total)

--- merge_of_newest
-- # The usual removal of duplicates.
-- id == changes
-- amount == changes
-- * ~ (changes.id), (changes.day), ({out}.id)
CREATE TABLE {out} (id INT, amount DOUBLE) USING {format};
INSERT INTO {out} VALUES (1, 1D);
MERGE INTO {out} t USING (
  SELECT id, amount FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY day DESC) AS n FROM changes) WHERE n = 1) s
ON t.id = s.id
WHEN MATCHED THEN UPDATE SET amount = s.amount WHEN NOT MATCHED THEN INSERT (id, amount) VALUES (s.id, s.amount)

--- merge_of_values
-- id, v =
-- * ~ ({out}.id)
CREATE TABLE {out} (id INT, v STRING) USING {format};
INSERT INTO {out} VALUES (1, 'a');
MERGE INTO {out} t USING (VALUES (1, 'x'), (2, 'y') AS s(id, v)) ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)

--- merge_from_parquet
-- id = plain.items.order_id
-- v = plain.items.price, plain.items.qty
-- * ~ (plain.items.order_id), ({out}.id)
CREATE TABLE {out} (id INT, v DOUBLE) USING {format};
INSERT INTO {out} VALUES (3, 1D);
MERGE INTO {out} t USING (SELECT order_id, max(price * qty) AS v FROM spark_catalog.plain.items GROUP BY order_id) s
ON t.id = s.order_id
WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.order_id, s.v)

--- merge_from_hive
-- region == plain.regions
-- country == plain.regions
-- * ~ (plain.regions.region), ({out}.region)
CREATE TABLE {out} (region STRING, country STRING) USING {format};
INSERT INTO {out} VALUES ('north', 'x');
MERGE INTO {out} t USING spark_catalog.plain.regions s ON t.region = s.region
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *

--- merge_of_itself
-- a = {out}.b
-- a ~ ({out}.id)
CREATE TABLE {out} (id INT, a INT, b INT) USING {format};
INSERT INTO {out} VALUES (1, 2, 3), (2, 3, 4);
MERGE INTO {out} t USING (SELECT id, b FROM {out}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = s.b

--- merge_without_key
-- # Rows are all appended: ON FALSE.
-- id == changes
-- v = changes.amount
CREATE TABLE {out} (id INT, v DOUBLE) USING {format};
INSERT INTO {out} VALUES (1, 2D);
MERGE INTO {out} t USING changes s ON false WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.amount)

--- merge_slowly_changing
-- # History is kept: the source is there twice, once with a key that matches nothing.
-- id == changes
-- v = changes.amount
-- since = changes.day
-- until = changes.day
-- current =
-- * ~ (changes.id), ({out}.id), ({out}.current), (changes.op)
CREATE TABLE {out} (id INT, v DOUBLE, since DATE, until DATE, current BOOLEAN) USING {format};
INSERT INTO {out} VALUES (1, 2D, DATE'2025-01-01', NULL, true), (7, 2D, DATE'2025-01-01', NULL, true);
MERGE INTO {out} t USING (
  SELECT id AS merge_key, * FROM changes
  UNION ALL
  SELECT NULL AS merge_key, c.* FROM changes c WHERE c.op = 'U') s
ON t.id = s.merge_key
WHEN MATCHED AND t.current THEN UPDATE SET current = false, until = s.day
WHEN NOT MATCHED THEN INSERT (id, v, since, until, current) VALUES (s.id, s.amount, s.day, NULL, true)

--- merge_partitioned
-- id == changes
-- note == changes
-- day == changes
-- * ~ (changes.id), (changes.day), ({out}.id), ({out}.day)
CREATE TABLE {out} (id INT, note STRING, day DATE) USING {format} PARTITIONED BY (day);
INSERT INTO {out} VALUES (1, 'a', DATE'2026-03-01'), (2, 'b', DATE'2026-03-02');
MERGE INTO {out} t USING changes s ON t.id = s.id AND t.day = s.day
WHEN MATCHED THEN UPDATE SET note = s.note
WHEN NOT MATCHED THEN INSERT (id, note, day) VALUES (s.id, s.note, s.day)

--- merge_struct_field
-- id == events
-- info = events.info, events.id
-- * ~ (events.id), ({out}.id)
CREATE TABLE {out} (id INT, info STRUCT<a: INT, b: STRING, c: STRUCT<d: INT>>) USING {format};
INSERT INTO {out} VALUES (1, named_struct('a', 1, 'b', 'x', 'c', named_struct('d', 2)));
MERGE INTO {out} t USING events s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET t.info.a = s.id, t.info.b = s.info.b
WHEN NOT MATCHED THEN INSERT (id, info) VALUES (s.id, s.info)

--- merge_wide_star
-- c{1..60} == wide
-- * ~ (wide.c1), ({out}.c1)
CREATE TABLE {out} ({1..60| c@ INT}) USING {format};
INSERT INTO {out} VALUES ({1..60| @}), ({1..60| 1@});
MERGE INTO {out} t USING wide s ON t.c1 = s.c1 WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *

--- merge_wide_some
-- c1 == wide
-- c50 = wide.c51
-- c55 = wide.c2, {out}.c3
-- c2 =
-- * ~ (wide.c1), ({out}.c1)
CREATE TABLE {out} ({1..60| c@ INT}) USING {format};
INSERT INTO {out} VALUES ({1..60| @}), ({1..60| 1@});
MERGE INTO {out} t USING wide s ON t.c1 = s.c1
WHEN MATCHED THEN UPDATE SET c50 = s.c51, c55 = s.c2 + t.c3
WHEN NOT MATCHED THEN INSERT (c1, c50, c55) VALUES (s.c1, s.c51, s.c2)

--- merge_joining_three
-- id == orders
-- name == customers
-- country = plain.regions.country
-- * ~ (orders.cust), (customers.id), (orders.region), (plain.regions.region), (orders.id), ({out}.id)
CREATE TABLE {out} (id INT, name STRING, country STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y'), (8, 'x', 'y');
MERGE INTO {out} t USING (
  SELECT o.id, c.name, r.country FROM orders o JOIN customers c ON o.cust = c.id
  LEFT JOIN spark_catalog.plain.regions r ON o.region = r.region) s
ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name, country = s.country
WHEN NOT MATCHED THEN INSERT (id, name, country) VALUES (s.id, s.name, s.country)
