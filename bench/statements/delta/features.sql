What Delta alone has, by SQL.

--- generated_column
-- @ delta-4
-- id == orders
-- day == orders
-- year = orders.day
CREATE TABLE {out} (id INT, day DATE, year INT GENERATED ALWAYS AS (YEAR(day))) USING delta PARTITIONED BY (year);
INSERT INTO {out} (id, day) SELECT id, day FROM orders

--- identity_column
-- @ delta-4
-- n =
-- id == orders
CREATE TABLE {out} (n BIGINT GENERATED ALWAYS AS IDENTITY, id INT) USING delta;
INSERT INTO {out} (id) SELECT id FROM orders

--- default_column
-- id == orders
-- note =
CREATE TABLE {out} (id INT, note STRING DEFAULT 'none') USING delta TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported');
INSERT INTO {out} (id) SELECT id FROM orders

--- checked_columns
-- id == orders
-- qty == orders
CREATE TABLE {out} (id INT NOT NULL, qty INT) USING delta;
ALTER TABLE {out} ADD CONSTRAINT positive CHECK (qty > 0);
INSERT INTO {out} SELECT id, qty FROM orders

--- column_mapping
-- a = orders.id
-- `two words` = orders.note
CREATE TABLE {out} (a INT, `two words` STRING) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name');
INSERT INTO {out} SELECT id, note FROM orders

--- renamed_column
-- # The files keep the old name, the table has the new one.
-- a = orders.id
-- v = orders.qty
-- renamed = orders.id
-- -> {out_b}
-- x = {out}.renamed
-- y = {out}.v
CREATE TABLE {out} (a INT, v INT) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name');
INSERT INTO {out} SELECT id, qty FROM orders;
ALTER TABLE {out} RENAME COLUMN a TO renamed;
INSERT INTO {out} SELECT id, qty FROM orders;
CREATE TABLE {out_b} USING delta AS SELECT renamed AS x, v AS y FROM {out}

--- mapped_ids_merged
-- id == changes
-- `the note` = changes.note
-- * ~ (changes.id), ({out}.id)
CREATE TABLE {out} (id INT, `the note` STRING) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'id');
INSERT INTO {out} VALUES (1, 'a');
MERGE INTO {out} t USING changes s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET t.`the note` = s.note WHEN NOT MATCHED THEN INSERT (id, `the note`) VALUES (s.id, s.note)

--- clustered
-- id == orders
-- region == orders
CREATE TABLE {out} (id INT, region STRING) USING delta CLUSTER BY (region);
INSERT INTO {out} SELECT id, region FROM orders

--- of_a_location
-- # A table with a place of its own, written by name and read by path: that they are one is for a linker to find.
-- id == orders
-- v = orders.qty
-- -> {out_b}
-- w = <places/{name}>.v
CREATE TABLE {out} (id INT, v INT) USING delta LOCATION '{dir}/places/{name}';
INSERT INTO {out} SELECT id, qty FROM orders;
CREATE TABLE {out_b} USING delta AS SELECT v AS w FROM delta.`{dir}/places/{name}`

--- by_path_and_by_name
-- # Written by path, read by name.
-- -> <places/{name}>
-- id == orders
-- -> {out_b}
-- id = {out}.id
CREATE TABLE {out} (id INT) USING delta LOCATION '{dir}/places/{name}';
INSERT INTO delta.`{dir}/places/{name}` SELECT id FROM orders;
CREATE TABLE {out_b} USING delta AS SELECT id FROM {out}

--- path_to_path
-- -> <files/path_a>
-- id == orders
-- v = orders.qty
-- -> <files/path_b>
-- w = <files/path_a>.v
-- * ~ <files/path_a>.id
CREATE TABLE delta.`{dir}/files/path_a` USING delta AS SELECT id, qty AS v FROM orders;
CREATE TABLE delta.`{dir}/files/path_b` USING delta AS SELECT v AS w FROM delta.`{dir}/files/path_a` WHERE id > 1

--- named_with_its_catalog
-- id == orders
-- v = orders.qty
-- * ~ (orders.id), ({out}.id)
-- -> {out_b}
-- v = {out}.v
CREATE TABLE spark_catalog.{out} (id INT, v INT) USING delta;
INSERT INTO spark_catalog.{out} SELECT id, qty FROM spark_catalog.src.orders;
MERGE INTO spark_catalog.{out} t USING spark_catalog.src.orders s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.qty;
CREATE TABLE {out_b} USING delta AS SELECT v FROM {out}

--- version_as_of
-- id == orders
-- v = orders.amount
CREATE TABLE {out} USING delta AS SELECT id, amount AS v FROM orders VERSION AS OF 1

--- version_in_path
-- # By the place of the table, where no name of it is.
-- id = src.orders.id
CREATE TABLE {out} USING delta AS SELECT id FROM delta.`{dir}/warehouse/src.db/orders@v1`

--- change_feed
-- id == orders
-- v = orders.qty
-- -> {out_b}
-- id = {out}.id
-- v = {out}.v
-- kind = [{out}._change_type]
-- at = [{out}._commit_version]
-- * ~ [{out}._change_type]
CREATE TABLE {out} (id INT, v INT) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true');
INSERT INTO {out} SELECT id, qty FROM orders;
UPDATE {out} SET v = v + 1 WHERE id = 1;
CREATE TABLE {out_b} USING delta AS SELECT id, v, _change_type AS kind, _commit_version AS at FROM table_changes('{out}', 0)

--- change_feed_merged
-- id == orders
-- v = orders.qty
-- -> {out_b}
-- id = {out}.id
-- v = {out}.v
-- * ~ ({out}.id), ({out_b}.id), ({out}._change_type)
CREATE TABLE {out} (id INT, v INT) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true');
CREATE TABLE {out_b} (id INT, v INT) USING delta;
INSERT INTO {out} SELECT id, qty FROM orders;
MERGE INTO {out_b} t USING (SELECT * FROM table_changes('{out}', 0) WHERE _change_type <> 'update_preimage') s ON t.id = s.id
WHEN MATCHED AND s._change_type = 'delete' THEN DELETE
WHEN MATCHED THEN UPDATE SET v = s.v
WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)

--- merged_into_change_feed
-- id == changes
-- v = changes.amount
-- * ~ (changes.id), ({out}.id)
CREATE TABLE {out} (id INT, v DOUBLE) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true');
INSERT INTO {out} VALUES (1, 1D);
MERGE INTO {out} t USING changes s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.amount WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.amount)

--- merge_with_new_columns
-- @ delta-4
-- id == changes
-- v = changes.amount
-- note = changes.note
-- * ~ (changes.id), ({out}.id)
CREATE TABLE {out} (id INT, v DOUBLE) USING delta;
INSERT INTO {out} VALUES (1, 1D);
MERGE WITH SCHEMA EVOLUTION INTO {out} t USING (SELECT id, amount AS v, note FROM changes) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *

--- shallow_clone
-- id == customers
-- name == customers
-- city == customers
-- parent == customers
-- vip == customers
CREATE TABLE {out} SHALLOW CLONE customers

--- shallow_clone_replacing
-- region == targets
-- goal == targets
-- owner == targets
CREATE OR REPLACE TABLE {out} SHALLOW CLONE targets VERSION AS OF 1

--- converted
-- # Files of parquet become a table where they are.
-- -> <files/{name}>
-- id == orders
-- -> {out_b}
-- id = <files/{name}>.id
INSERT OVERWRITE DIRECTORY '{dir}/files/{name}' USING parquet SELECT id FROM orders;
CONVERT TO DELTA parquet.`{dir}/files/{name}`;
CREATE TABLE {out_b} USING delta AS SELECT id FROM delta.`{dir}/files/{name}`

--- optimized
-- # Nothing flows when files are rewritten.
-- id == orders
-- v = orders.qty
CREATE TABLE {out} (id INT, v INT) USING delta;
INSERT INTO {out} SELECT id, qty FROM orders;
INSERT INTO {out} SELECT id, qty FROM orders;
OPTIMIZE {out};
INSERT INTO {out} SELECT id, qty FROM orders;
OPTIMIZE {out} ZORDER BY (id);
VACUUM {out}

--- restored
-- id == orders
CREATE TABLE {out} (id INT) USING delta;
INSERT INTO {out} SELECT id FROM orders;
DELETE FROM {out} WHERE id = 1;
RESTORE TABLE {out} TO VERSION AS OF 1

--- purged
-- id == orders
-- v = orders.qty
-- * ~ {out}.id
CREATE TABLE {out} (id INT, v INT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true');
INSERT INTO {out} SELECT id, qty FROM orders;
DELETE FROM {out} WHERE id = 1;
REORG TABLE {out} APPLY (PURGE)

--- table_renamed
-- # Only the name changes; what follows is of the new one.
-- id == orders
-- -> {out_b}
-- id == orders
-- -> {out_c}
-- id = {out_b}.id
CREATE TABLE {out} (id INT) USING delta;
INSERT INTO {out} SELECT id FROM orders;
ALTER TABLE {out} RENAME TO {out_b};
INSERT INTO {out_b} SELECT id FROM orders;
CREATE TABLE {out_c} USING delta AS SELECT id FROM {out_b}

--- view_over_table
-- id == orders
-- total = orders.amount, orders.qty
-- * ~ orders.qty
CREATE VIEW {out} AS SELECT id, amount * qty AS total FROM orders WHERE qty > 1

--- table_over_view
-- # The plan shows what is below the view.
-- -> {out_v}
-- region == orders
-- total = orders.amount
-- total ~ orders.region
-- -> {out}
-- region == orders
-- total = orders.amount
-- total ~ orders.region
-- <- [{out_v}]
CREATE VIEW {out_v} AS SELECT region, sum(amount) AS total FROM orders GROUP BY region;
CREATE TABLE {out} USING delta AS SELECT region, total FROM {out_v}

--- widened_type
-- @ delta-4
-- a = orders.qty, orders.amount
CREATE TABLE {out} (a INT) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true');
INSERT INTO {out} SELECT qty FROM orders;
ALTER TABLE {out} ALTER COLUMN a TYPE DOUBLE;
INSERT INTO {out} SELECT amount FROM orders
