CREATE TABLE orders (id INT, cust INT, amount DOUBLE, qty INT, day DATE, region STRING, note STRING) USING {format};
INSERT INTO orders VALUES
  (1, 1, 10.5, 2, DATE'2026-01-01', 'north', 'a'), (2, 1, 20.0, 1, DATE'2026-01-02', 'south', NULL),
  (3, 2, 7.25, 9, DATE'2026-01-02', 'north', 'c'), (4, 3, NULL, 4, DATE'2026-02-01', 'east', 'd');
CREATE TABLE customers (id INT, name STRING, city STRING, parent INT, vip BOOLEAN) USING {format};
INSERT INTO customers VALUES (1, 'ann', 'riga', NULL, true), (2, 'bob', 'oslo', 1, false), (5, 'eve', 'rome', 1, NULL);
CREATE TABLE changes (id INT, amount DOUBLE, qty INT, note STRING, op STRING, day DATE) USING {format};
INSERT INTO changes VALUES (1, 11.0, 3, 'x', 'U', DATE'2026-03-01'), (2, 0.0, 0, 'y', 'D', DATE'2026-03-01'),
  (9, 5.5, 1, 'z', 'I', DATE'2026-03-02');
CREATE TABLE targets (region STRING, goal DOUBLE, owner STRING) USING {format} PARTITIONED BY (region);
INSERT INTO targets VALUES ('north', 5.0, 'kim'), ('east', 1.0, 'lou');
CREATE TABLE events (
  id INT, info STRUCT<a: INT, b: STRING, c: STRUCT<d: INT>>, tags ARRAY<STRING>, props MAP<STRING, STRING>,
  points ARRAY<STRUCT<x: INT, y: INT>>) USING {format};
INSERT INTO events VALUES
  (1, named_struct('a', 1, 'b', 'z', 'c', named_struct('d', 4)), array('p', 'q'), map('k', 'v'),
   array(named_struct('x', 1, 'y', 2)));
CREATE TABLE wide ({1..60| c@ INT}) USING {format};
INSERT INTO wide VALUES ({1..60| @});
CREATE DATABASE IF NOT EXISTS spark_catalog.plain;
CREATE TABLE IF NOT EXISTS spark_catalog.plain.items (order_id INT, sku STRING, price DOUBLE, qty INT) USING parquet;
INSERT OVERWRITE spark_catalog.plain.items VALUES (1, 'x', 1.5, 3), (1, 'y', 2.0, 1), (3, 'x', 1.5, 4);
CREATE TABLE IF NOT EXISTS spark_catalog.plain.regions (region STRING, country STRING) STORED AS TEXTFILE;
INSERT OVERWRITE spark_catalog.plain.regions VALUES ('north', 'no'), ('south', 'it');
