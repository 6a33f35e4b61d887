MERGE across formats: each kind of source into each kind of target that has it.

--- merge_from_parquet
-- id = p.id
-- name = p.label
-- city = p.town, {out}.city
-- * ~ (p.id), ({out}.id)
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
MERGE INTO {out} t USING p s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.label, city = concat(s.town, t.city)
WHEN NOT MATCHED THEN INSERT (id, name, city) VALUES (s.id, s.label, s.town)

--- merge_from_csv
-- id = c.id
-- name = c.label
-- city = c.town, {out}.city
-- * ~ (c.id), ({out}.id)
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
MERGE INTO {out} t USING c s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.label, city = concat(s.town, t.city)
WHEN NOT MATCHED THEN INSERT (id, name, city) VALUES (s.id, s.label, s.town)

--- merge_from_hive
-- id = h.id
-- name = h.label
-- city = h.town, {out}.city
-- * ~ (h.id), ({out}.id)
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
MERGE INTO {out} t USING h s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.label, city = concat(s.town, t.city)
WHEN NOT MATCHED THEN INSERT (id, name, city) VALUES (s.id, s.label, s.town)

--- merge_from_delta
-- id = d.id
-- name = d.label
-- city = d.town, {out}.city
-- * ~ (d.id), ({out}.id)
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
MERGE INTO {out} t USING d s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.label, city = concat(s.town, t.city)
WHEN NOT MATCHED THEN INSERT (id, name, city) VALUES (s.id, s.label, s.town)

--- merge_from_iceberg
-- id = local.src.i.id
-- name = local.src.i.label
-- city = local.src.i.town, {out}.city
-- * ~ (local.src.i.id), ({out}.id)
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
MERGE INTO {out} t USING local.src.i s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.label, city = concat(s.town, t.city)
WHEN NOT MATCHED THEN INSERT (id, name, city) VALUES (s.id, s.label, s.town)

--- merge_from_jdbc
-- id = j.id
-- name = j.label
-- city = j.town, {out}.city
-- * ~ (j.id), ({out}.id)
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
MERGE INTO {out} t USING j s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.label, city = concat(s.town, t.city)
WHEN NOT MATCHED THEN INSERT (id, name, city) VALUES (s.id, s.label, s.town)

--- merge_from_view
-- id = v.id
-- name = v.l
-- city = v.t, {out}.city
-- * ~ (v.id), ({out}.id)
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
MERGE INTO {out} t USING v s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.l, city = concat(s.t, t.city)
WHEN NOT MATCHED THEN INSERT (id, name, city) VALUES (s.id, s.l, s.t)

--- merge_from_view_of_delta
-- id = vd.id
-- name = vd.l
-- city = vd.t, {out}.city
-- * ~ (vd.id), ({out}.id)
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
MERGE INTO {out} t USING vd s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.l, city = concat(s.t, t.city)
WHEN NOT MATCHED THEN INSERT (id, name, city) VALUES (s.id, s.l, s.t)
