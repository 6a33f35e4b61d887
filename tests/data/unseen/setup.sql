CREATE DATABASE src;
CREATE DATABASE out;
CREATE TABLE src.cust (id BIGINT, name STRING, mail STRING, city STRING) USING parquet;
CREATE TABLE src.upd (id BIGINT, name STRING, mail STRING, city STRING) USING parquet;
CREATE TABLE src.orders (oid BIGINT, cust_id BIGINT, amount DOUBLE, day STRING, note STRING) USING parquet;
CREATE TABLE src.staff (id BIGINT, boss BIGINT, name STRING) USING parquet;
INSERT INTO src.cust VALUES (1, 'ann', 'ann@x', 'Bern'), (2, 'bob', 'bob@x', 'Rome'), (3, 'cid', 'cid@x', 'Bern');
INSERT INTO src.upd VALUES (2, 'rob', 'rob@x', 'Oslo'), (9, 'zoe', 'zoe@x', 'Lima');
INSERT INTO src.orders VALUES (10, 1, 5.5, '2026-01-01', 'eur'), (11, 1, 6.5, '2026-01-02', 'chf'), (12, 2, 7.5, '2026-01-01', 'x');
INSERT INTO src.staff VALUES (1, NULL, 'ann'), (2, 1, 'bob'), (3, 2, 'cid');
-- src.wide has c001 to c150, all STRING: CREATE TABLE src.wide USING parquet AS SELECT concat('v', id) AS c001, … FROM range(3);
-- /data/unseen/in/people: CSV in two parts with a header (id, full name, it's); /data/unseen/in/news: CSV without a header (id, name, junk)
-- /data/unseen/in/events: JSON, partitioned by day, {"id", "who": {"name", "age"}}
-- /data/unseen/files/hudi_prices: Hudi (item, price); /data/unseen/files/delta_people: Delta (id, mail)

-- H2, jdbc:h2:mem:crm
CREATE SCHEMA "app";
CREATE TABLE "app"."people" ("id" INT, "name" VARCHAR(50), "dept" INT, "salary" DOUBLE PRECISION);
CREATE TABLE "app"."dept" ("did" INT, "dname" VARCHAR(50));
CREATE TABLE "app"."my.table" ("k" INT, "v" VARCHAR(200));
-- H2, jdbc:h2:mem:erp
CREATE SCHEMA "app";
CREATE TABLE "app"."people" ("id" INT, "name" VARCHAR(50));
-- Derby, jdbc:derby:memory:hr
CREATE TABLE APP.STAFF (ID INT, DEPT VARCHAR(20), PAY DOUBLE);

-- Hive 2.3.10
CREATE TABLE src.cust (id BIGINT, name STRING, mail STRING, city STRING) STORED AS ORC;
CREATE TABLE src.t (c INT, d STRING) STORED AS ORC;
CREATE TABLE dst.h_all (name STRING, id BIGINT) STORED AS ORC;
CREATE TABLE dst.h_keys (k INT, v STRING) PARTITIONED BY (p STRING) STORED AS ORC;
