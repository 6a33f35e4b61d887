What Iceberg alone has, by SQL. Tables are of the catalog local unless named otherwise: lake is another one of files, prod
knows its tables from the metastore, so that prod.out.x and out.x are one table.

--- partitioned_by_days
-- id == orders
-- day == orders
-- note == orders
CREATE TABLE {out} (id INT, day DATE, note STRING) USING iceberg PARTITIONED BY (days(day), bucket(4, id), truncate(2, note));
INSERT INTO {out} SELECT id, day, note FROM orders

--- ctas_partitioned_by_months
-- id == orders
-- day == orders
CREATE TABLE {out} USING iceberg PARTITIONED BY (months(day), bucket(4, id)) AS SELECT id, day FROM orders

--- merge_partitioned_by_bucket
-- id == changes
-- day == changes
-- v = changes.amount
-- * ~ (changes.id), ({out}.id)
CREATE TABLE {out} (id INT, v DOUBLE, day DATE) USING iceberg PARTITIONED BY (bucket(4, id), days(day));
INSERT INTO {out} VALUES (1, 1D, DATE'2026-01-01'), (4, 2D, DATE'2026-01-02');
MERGE INTO {out} t USING changes s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.amount, day = s.day
WHEN NOT MATCHED THEN INSERT (id, v, day) VALUES (s.id, s.amount, s.day)

--- partitions_evolved
-- id == orders
-- day == orders
CREATE TABLE {out} (id INT, day DATE) USING iceberg;
INSERT INTO {out} SELECT id, day FROM orders;
ALTER TABLE {out} ADD PARTITION FIELD months(day);
INSERT INTO {out} SELECT id, day FROM orders

--- written_in_order
-- id == orders
-- region == orders
CREATE TABLE {out} (id INT, region STRING) USING iceberg PARTITIONED BY (region);
ALTER TABLE {out} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY id;
INSERT INTO {out} SELECT id, region FROM orders

--- columns_evolved
-- # One column is renamed, one is wider, one is new.
-- renamed = orders.qty
-- a = orders.id
-- v = orders.qty
-- note == orders
-- -> {out_b}
-- x = {out}.renamed
-- y = {out}.a
CREATE TABLE {out} (a INT, v INT) USING iceberg;
INSERT INTO {out} SELECT id, qty FROM orders;
ALTER TABLE {out} RENAME COLUMN v TO renamed;
ALTER TABLE {out} ALTER COLUMN a TYPE BIGINT;
ALTER TABLE {out} ADD COLUMN note STRING;
INSERT INTO {out} SELECT id, qty, note FROM orders;
CREATE TABLE {out_b} USING iceberg AS SELECT renamed AS x, a AS y FROM {out}

--- in_another_catalog
-- -> lake.out.{name}
-- id == orders
-- v = orders.amount
CREATE NAMESPACE IF NOT EXISTS lake.out;
CREATE TABLE lake.out.{name} USING iceberg AS SELECT id, amount AS v FROM orders

--- one_name_in_three_catalogs
-- # Three tables that only their catalogs tell apart.
-- id == orders
-- -> lake.out.{name}
-- id = {out}.id
-- v = {out}.id
-- -> out.{name}
-- id = lake.out.{name}.v, {out}.id
CREATE NAMESPACE IF NOT EXISTS lake.out;
CREATE TABLE {out} USING iceberg AS SELECT id FROM orders;
CREATE TABLE lake.out.{name} USING iceberg AS SELECT id, id + 1 AS v FROM {out};
CREATE TABLE spark_catalog.out.{name} USING iceberg AS
SELECT l.v + o.id AS id FROM lake.out.{name} l CROSS JOIN {out} o

--- namespaces_in_namespaces
-- -> local.deep.er.{name}
-- id == orders
-- -> {out}
-- id = local.deep.er.{name}.id
CREATE NAMESPACE local.deep;
CREATE NAMESPACE local.deep.er;
CREATE TABLE local.deep.er.{name} USING iceberg AS SELECT id FROM orders;
CREATE TABLE {out} USING iceberg AS SELECT id FROM local.deep.er.{name}

--- catalog_of_the_metastore
-- # prod.out.x is the metastore's out.x.
-- -> out.{name}
-- id == orders
-- v = orders.qty
-- -> out.{name}_b
-- w = out.{name}.v
-- -> out.{name}_c
-- w = out.{name}.v
CREATE TABLE prod.out.{name} (id INT, v INT) USING iceberg;
INSERT INTO prod.out.{name} SELECT id, qty FROM orders;
CREATE TABLE prod.out.{name}_b USING iceberg AS SELECT v AS w FROM prod.out.{name};
CREATE TABLE spark_catalog.out.{name}_c USING iceberg AS SELECT v AS w FROM spark_catalog.out.{name}

--- rows_of_the_metastores_catalog
-- -> out.{name}
-- id == changes
-- v = changes.amount
-- * ~ (changes.id), (out.{name}.id)
CREATE TABLE prod.out.{name} (id INT, v DOUBLE) USING iceberg;
INSERT INTO prod.out.{name} VALUES (1, 1D);
MERGE INTO prod.out.{name} t USING changes s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.amount WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.amount)

--- parquet_by_the_sessions_catalog
-- # A catalog that wraps Spark's own hands on what is not Iceberg's.
-- -> out.{name}
-- id == orders
-- v = orders.qty
-- -> {out}
-- w = out.{name}.v
CREATE TABLE spark_catalog.out.{name} (id INT, v INT) USING parquet;
INSERT INTO spark_catalog.out.{name} SELECT id, qty FROM orders;
CREATE TABLE {out} USING iceberg AS SELECT v AS w FROM spark_catalog.out.{name}

--- tag_and_branch_read
-- id == orders
-- -> {out_b}
-- id = {out}.id
-- -> {out_c}
-- id = {out}.id
CREATE TABLE {out} USING iceberg AS SELECT id FROM orders;
ALTER TABLE {out} CREATE TAG yesterday;
ALTER TABLE {out} CREATE BRANCH audit;
CREATE TABLE {out_b} USING iceberg AS SELECT id FROM {out} VERSION AS OF 'yesterday';
CREATE TABLE {out_c} USING iceberg AS SELECT id FROM {out}.branch_audit

--- branch_written
-- # A branch is the table's.
-- id = orders.id, changes.id
-- v = orders.amount, changes.amount
-- * ~ (changes.id), ({out}.id)
CREATE TABLE {out} USING iceberg AS SELECT id, amount AS v FROM orders;
ALTER TABLE {out} CREATE BRANCH audit;
INSERT INTO {out}.branch_audit SELECT id, amount FROM orders;
MERGE INTO {out}.branch_audit t USING changes s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.amount WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.amount);
UPDATE {out}.branch_audit SET v = 0 WHERE id = 1;
DELETE FROM {out}.branch_audit WHERE id = 2

--- timestamp_as_of
-- id == orders
-- -> {out_b}
-- id = {out}.id
CREATE TABLE {out} (id INT) USING iceberg;
INSERT INTO {out} SELECT id FROM orders;
CREATE TABLE {out_b} USING iceberg AS SELECT id FROM {out} TIMESTAMP AS OF current_timestamp()

--- metadata_tables
-- # What they say of the table is no data of its columns.
-- file = [local.src.orders.files.file_path]
-- n = [local.src.orders.files.record_count]
-- <- [orders], [local.src.orders.files]
-- -> {out_b}
-- snapshot = [local.src.orders.snapshots.snapshot_id]
-- made = [local.src.orders.snapshots.committed_at]
-- <- [orders], [local.src.orders.snapshots]
CREATE TABLE {out} USING iceberg AS SELECT file_path AS file, record_count AS n FROM local.src.orders.files;
CREATE TABLE {out_b} USING iceberg AS SELECT snapshot_id AS snapshot, committed_at AS made FROM local.src.orders.snapshots

--- metadata_columns
-- id == orders
-- file = [orders._file]
-- pos = [orders._pos]
CREATE TABLE {out} USING iceberg AS SELECT id, _file AS file, _pos AS pos FROM orders

--- files_rewritten
-- # Nothing flows when files are rewritten.
-- id == orders
-- v = orders.qty
CREATE TABLE {out} (id INT, v INT) USING iceberg;
INSERT INTO {out} SELECT id, qty FROM orders;
INSERT INTO {out} SELECT id, qty FROM orders;
CALL local.system.rewrite_data_files(table => 'out.{name}', options => map('min-input-files', '2', 'rewrite-all', 'true'));
CALL local.system.rewrite_data_files(table => 'out.{name}', strategy => 'sort', sort_order => 'id', options => map('rewrite-all', 'true'));
CALL local.system.rewrite_manifests('out.{name}');
CALL local.system.expire_snapshots(table => 'out.{name}', older_than => TIMESTAMP '2030-01-01 00:00:00');
CALL local.system.remove_orphan_files(table => 'out.{name}')

--- deletes_rewritten
-- id == orders
-- v = orders.qty
-- * ~ {out}.id
CREATE TABLE {out} (id INT, v INT) USING iceberg TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read');
INSERT INTO {out} SELECT id, qty FROM orders;
DELETE FROM {out} WHERE id = 1;
CALL local.system.rewrite_position_delete_files(table => 'out.{name}', options => map('rewrite-all', 'true'))

--- files_added
-- # The files become the table's own as they are. In Spark 3.5 the call is an execution that names both tables; in 4.1 no
-- # event tells of it.
-- order_id = [plain.items.order_id]
-- sku = [plain.items.sku]
-- price = [plain.items.price]
-- qty = [plain.items.qty]
-- @ iceberg-1.9: order_id, sku, price, qty == plain.items
CREATE TABLE {out} (order_id INT, sku STRING, price DOUBLE, qty INT) USING iceberg;
CALL local.system.add_files(table => 'out.{name}', source_table => 'spark_catalog.plain.items')

--- snapshot_of_a_table
-- # As above.
-- -> out.{name}
-- order_id = [plain.items.order_id]
-- sku = [plain.items.sku]
-- price = [plain.items.price]
-- qty = [plain.items.qty]
-- @ iceberg-1.9: order_id, sku, price, qty == plain.items
CALL spark_catalog.system.snapshot('spark_catalog.plain.items', 'spark_catalog.out.{name}')

--- migrated
-- # A table of parquet becomes one of Iceberg: its name stays.
-- -> out.{name}
-- id == orders
-- <- [out.{name}_backup_]
-- -> {out}
-- id = out.{name}.id
CREATE TABLE spark_catalog.out.{name} USING parquet AS SELECT id FROM orders;
CALL spark_catalog.system.migrate('spark_catalog.out.{name}');
CREATE TABLE {out} USING iceberg AS SELECT id FROM spark_catalog.out.{name}

--- changelog_view
-- # Made by a program of Iceberg's, which nobody sees through.
-- id == orders
-- v = orders.qty
-- -> {out_b}
-- id = {out}.id
-- v = {out}.v
-- id, v, what = [{out}.id], [{out}.v], [{out}._change_type], [{out}._change_ordinal], [{out}._commit_snapshot_id]
-- ! opaque
CREATE TABLE {out} (id INT, v INT) USING iceberg;
INSERT INTO {out} SELECT id, qty FROM orders;
INSERT INTO {out} VALUES (9, 9);
CALL local.system.create_changelog_view(table => 'out.{name}', changelog_view => '{name}_log');
CREATE TABLE {out_b} USING iceberg AS SELECT id, v, _change_type AS what FROM {name}_log

--- changes_read
-- id == orders
-- -> {out_b}
-- id = {out}.id
-- what = [{out}._change_type]
CREATE TABLE {out} USING iceberg AS SELECT id FROM orders;
INSERT INTO {out} VALUES (9);
CREATE TABLE {out_b} USING iceberg AS SELECT id, _change_type AS what FROM {out}.changes

--- rolled_back
-- id == orders
CREATE TABLE {out} (id INT) USING iceberg;
INSERT INTO {out} SELECT id FROM orders;
INSERT INTO {out} SELECT id FROM orders;
ALTER TABLE {out} CREATE TAG one;
INSERT INTO {out} VALUES (7);
CALL local.system.set_current_snapshot(table => 'out.{name}', ref => 'one')

--- view_over_table
-- -> out.{name}
-- id == orders
-- total = orders.amount, orders.qty
-- * ~ orders.qty
CREATE VIEW spark_catalog.out.{name} AS SELECT id, amount * qty AS total FROM local.src.orders WHERE qty > 1

--- view_of_the_metastores_catalog
-- # A view of Iceberg's own.
-- -> out.{name}
-- id == orders
-- total = orders.amount
-- -> {out}
-- total = orders.amount
-- <- [out.{name}]
CREATE VIEW prod.out.{name} AS SELECT id, amount AS total FROM local.src.orders;
CREATE TABLE {out} USING iceberg AS SELECT total FROM prod.out.{name}

--- table_over_view
-- -> out.{name}
-- region == orders
-- total = orders.amount
-- total ~ orders.region
-- -> {out}
-- region == orders
-- total = orders.amount
-- total ~ orders.region
-- <- [out.{name}]
CREATE VIEW spark_catalog.out.{name} AS SELECT region, sum(amount) AS total FROM local.src.orders GROUP BY region;
CREATE TABLE {out} USING iceberg AS SELECT region, total FROM spark_catalog.out.{name}

--- table_renamed
-- # Only the name changes; what follows is of the new one.
-- -> out.{name}
-- id == orders
-- -> out.{name}_b
-- id == orders
-- -> {out}
-- id = out.{name}_b.id
CREATE TABLE spark_catalog.out.{name} (id INT) USING iceberg;
INSERT INTO spark_catalog.out.{name} SELECT id FROM orders;
ALTER TABLE spark_catalog.out.{name} RENAME TO spark_catalog.out.{name}_b;
INSERT INTO spark_catalog.out.{name}_b SELECT id FROM orders;
CREATE TABLE {out} USING iceberg AS SELECT id FROM spark_catalog.out.{name}_b

--- joined_by_their_partitions
-- # Both sides keep their buckets: no exchange, and the scans report keys.
-- id == orders
-- v = orders.qty
-- -> {out_b}
-- id == customers
-- name == customers
-- -> {out_c}
-- v = {out}.v
-- name = {out_b}.name
-- * ~ {out}.id, {out_b}.id
CREATE TABLE {out} USING iceberg PARTITIONED BY (bucket(4, id)) AS SELECT id, qty AS v FROM orders;
CREATE TABLE {out_b} USING iceberg PARTITIONED BY (bucket(4, id)) AS SELECT id, name FROM customers;
SET spark.sql.sources.v2.bucketing.enabled = true;
SET `spark.sql.iceberg.planning.preserve-data-grouping` = true;
SET spark.sql.requireAllClusterKeysForCoPartition = false;
CREATE TABLE {out_c} USING iceberg AS SELECT a.v, b.name FROM {out} a JOIN {out_b} b ON a.id = b.id;
RESET spark.sql.sources.v2.bucketing.enabled;
RESET `spark.sql.iceberg.planning.preserve-data-grouping`;
RESET spark.sql.requireAllClusterKeysForCoPartition

--- of_version_three
-- # Rows have identities, deletes are vectors.
-- id = changes.id
-- v = changes.amount
-- * ~ (changes.id), ({out}.id), (changes.op)
CREATE TABLE {out} (id INT, v DOUBLE) USING iceberg TBLPROPERTIES (
  'format-version' = '3', 'write.merge.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read', 'write.delete.mode' = 'merge-on-read');
INSERT INTO {out} VALUES (1, 1D), (2, 2D);
MERGE INTO {out} t USING changes s ON t.id = s.id
WHEN MATCHED AND s.op = 'D' THEN DELETE
WHEN MATCHED THEN UPDATE SET v = s.amount
WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.amount);
DELETE FROM {out} WHERE id = 9
