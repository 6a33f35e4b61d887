CREATE TABLE src.orders (id INT, cust INT, amount DOUBLE, qty INT, day DATE, region STRING, note STRING) USING parquet;
INSERT INTO src.orders VALUES
  (1, 1, 10.5, 2, DATE'2026-01-01', 'north', 'a'), (2, 1, 20.0, 1, DATE'2026-01-02', 'south', NULL),
  (3, 2, 7.25, 9, DATE'2026-01-02', 'north', 'c'), (4, 3, NULL, 4, DATE'2026-02-01', 'east', 'd');
CREATE TABLE src.customers (id INT, name STRING, city STRING, parent INT, vip BOOLEAN) USING parquet;
INSERT INTO src.customers VALUES (1, 'ann', 'riga', NULL, true), (2, 'bob', 'oslo', 1, false), (5, 'eve', 'rome', 1, NULL);
CREATE TABLE src.items (order_id INT, sku STRING, price DOUBLE, qty INT) USING orc;
INSERT INTO src.items VALUES (1, 'x', 1.5, 3), (1, 'y', 2.0, 1), (3, 'x', 1.5, 4);
CREATE TABLE src.events (
  id INT, tags ARRAY<STRING>, props MAP<STRING, STRING>, info STRUCT<a: INT, b: STRING, c: STRUCT<d: INT>>,
  points ARRAY<STRUCT<x: INT, y: INT>>, js STRING, ts TIMESTAMP) USING parquet;
INSERT INTO src.events VALUES
  (1, array('p', 'q'), map('k', 'v'), named_struct('a', 1, 'b', 'z', 'c', named_struct('d', 4)),
   array(named_struct('x', 1, 'y', 2)), '{"a": 1, "b": {"c": 2}}', TIMESTAMP'2026-01-01 10:00:00');
CREATE TABLE src.targets (region STRING, goal DOUBLE, owner STRING) USING parquet;
INSERT INTO src.targets VALUES ('north', 5.0, 'kim'), ('east', 1.0, 'lou');
CREATE TABLE src.regions (region STRING, country STRING) STORED AS TEXTFILE;
INSERT INTO src.regions VALUES ('north', 'no'), ('south', 'it');
CREATE TABLE src.archive (id INT, amount DOUBLE, qty INT, day DATE, region STRING) STORED AS ORC;
INSERT INTO src.archive VALUES (9, 1.0, 1, DATE'2025-01-01', 'west');
CREATE TABLE src.hive_sales (id INT, amount DOUBLE) PARTITIONED BY (day STRING, region STRING) STORED AS PARQUET;
INSERT INTO src.hive_sales PARTITION (day = '2026-01-01', region = 'north') VALUES (1, 2.0);
CREATE TABLE src.sales (id INT, amount DOUBLE, day DATE, region STRING) USING parquet PARTITIONED BY (day, region);
INSERT INTO src.sales VALUES (1, 2.0, DATE'2026-01-01', 'north'), (2, 3.0, DATE'2026-01-02', 'south');
CREATE TABLE src.serde_sales (id INT, amount DOUBLE) PARTITIONED BY (day STRING)
  ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe' STORED AS TEXTFILE;
INSERT INTO src.serde_sales PARTITION (day = '2026-01-01') VALUES (1, 2.0);
CREATE TABLE src.odd (`a.b` INT, `two words` INT, `back``tick` INT, CamelCase INT, `x,y` INT, `a#1` INT, `sum(v)` INT, `über` INT,
  `AS` INT, `v AS w#3` INT) USING parquet;
INSERT INTO src.odd VALUES (1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
CREATE TABLE src.edges (parent INT, child INT) USING parquet;
INSERT INTO src.edges VALUES (1, 2), (2, 3);
CREATE TABLE src.people_csv (id INT, name STRING, age INT) USING csv OPTIONS (header 'true');
INSERT INTO src.people_csv VALUES (1, 'ann', 40);
CREATE TABLE src.people_json (id INT, name STRING, address STRUCT<city: STRING, zip: STRING>) USING json;
INSERT INTO src.people_json VALUES (1, 'ann', named_struct('city', 'riga', 'zip', '1'));
CREATE TABLE src.outside (id INT, value STRING) USING parquet LOCATION '{dir}/outside';
INSERT INTO src.outside VALUES (1, 'a');
CREATE TABLE src.bucketed (id INT, value STRING) USING parquet CLUSTERED BY (id) INTO 2 BUCKETS;
INSERT INTO src.bucketed VALUES (1, 'a');
CREATE TABLE src.codes (code CHAR(3), label VARCHAR(20), n BIGINT) USING parquet;
INSERT INTO src.codes VALUES ('a', 'b', 1);
CREATE TABLE src.wide ({1..120| c@ INT}) USING parquet;
CREATE VIEW src.v_orders AS SELECT id, cust, amount * qty AS total, region FROM src.orders WHERE qty > 0;
CREATE VIEW src.v_regions AS SELECT region AS area, sum(total) AS total, count(*) AS n FROM src.v_orders GROUP BY region;
CREATE TABLE src.broad (k INT, is_deleted BOOLEAN, day DATE, region STRING, {0..145| c@ INT}) USING parquet;
INSERT INTO src.broad SELECT 1, false, DATE'2026-01-01', 'north', {0..145| @};
INSERT INTO src.broad SELECT 2, true, DATE'2026-01-02', 'south', {0..145| @};
CREATE TABLE src.broad_old LIKE src.broad;
INSERT INTO src.broad_old SELECT 1, false, DATE'2025-12-31', 'north', {0..145| @};
CREATE TABLE src.broad_text (k INT, valid_from DATE, valid_to DATE, {0..146| d@ STRING}) USING parquet;
INSERT INTO src.broad_text SELECT 1, DATE'2026-01-01', NULL, {0..146| 'd@'};
CREATE TABLE src.broad_nested (k INT, lines ARRAY<STRUCT<sku: STRING, qty: INT, price: DOUBLE>>,
  doc STRUCT<a: INT, b: STRUCT<c: INT, d: STRING>, e: ARRAY<INT>>, {1..60| c@ INT}) USING parquet;
INSERT INTO src.broad_nested SELECT 1, array(named_struct('sku', 'x', 'qty', 1, 'price', 2.5D)),
  named_struct('a', 1, 'b', named_struct('c', 2, 'd', 'z'), 'e', array(1, 2)), {1..60| @};
CREATE TABLE src.clicks (visitor INT, at TIMESTAMP, page STRING, ms INT) USING parquet;
INSERT INTO src.clicks VALUES
  (1, TIMESTAMP'2026-01-01 10:00:00', '/a', 5), (1, TIMESTAMP'2026-01-01 10:05:00', '/b', 7),
  (1, TIMESTAMP'2026-01-01 12:00:00', '/a', 1), (2, TIMESTAMP'2026-01-01 10:01:00', '/c', 9);
CREATE TABLE src.people (key INT, name STRING, city STRING, valid_from DATE, valid_to DATE, is_current BOOLEAN) USING parquet;
INSERT INTO src.people VALUES (1, 'ann', 'riga', DATE'2025-01-01', NULL, true), (2, 'bob', 'oslo', DATE'2025-01-01', NULL, true);
CREATE TABLE src.changes (key INT, name STRING, city STRING, day DATE) USING parquet;
INSERT INTO src.changes VALUES (1, 'ann', 'rome', DATE'2026-01-01'), (3, 'eve', 'bonn', DATE'2026-01-01');
CREATE TABLE src.strange (`it's` INT, `say "hi"` INT, `x AS y#12` INT, `a, b#3 AS c` INT, `(1)` INT, `[n]` INT, `データ` INT, `größe` INT,
  ` lead` INT, `trail ` INT, `1` INT, `*` INT, `a.b.c` INT, `NULL` INT, `id#7L` INT, `... 9 more fields` INT) USING parquet;
INSERT INTO src.strange VALUES (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
