INSERT and CREATE AS across formats: each kind of source into each kind of target.

--- insert_from_parquet
-- id = p.id
-- name = p.label
-- city = p.town
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
INSERT INTO {out} SELECT id, label, upper(town) FROM p

--- insert_from_csv
-- id = c.id
-- name = c.label
-- city = c.town
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
INSERT INTO {out} SELECT id, label, upper(town) FROM c

--- insert_from_hive
-- id = h.id
-- name = h.label
-- city = h.town
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
INSERT INTO {out} SELECT id, label, upper(town) FROM h

--- insert_from_delta
-- id = d.id
-- name = d.label
-- city = d.town
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
INSERT INTO {out} SELECT id, label, upper(town) FROM d

--- insert_from_iceberg
-- id = local.src.i.id
-- name = local.src.i.label
-- city = local.src.i.town
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
INSERT INTO {out} SELECT id, label, upper(town) FROM local.src.i

--- insert_from_jdbc
-- id = j.id
-- name = j.label
-- city = j.town
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
INSERT INTO {out} SELECT id, label, upper(town) FROM j

--- insert_from_view
-- id = v.id
-- name = v.l
-- city = v.t
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
INSERT INTO {out} SELECT id, l, upper(t) FROM v

--- insert_from_view_of_delta
-- id = vd.id
-- name = vd.l
-- city = vd.t
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
INSERT INTO {out} SELECT id, l, upper(t) FROM vd

--- create_from_parquet
-- id = p.id
-- name = p.label
-- both = p.label, p.town
CREATE TABLE {out} USING {format} AS SELECT id, label AS name, concat(label, town) AS both FROM p

--- create_from_csv
-- id = c.id
-- name = c.label
-- both = c.label, c.town
CREATE TABLE {out} USING {format} AS SELECT id, label AS name, concat(label, town) AS both FROM c

--- create_from_hive
-- id = h.id
-- name = h.label
-- both = h.label, h.town
CREATE TABLE {out} USING {format} AS SELECT id, label AS name, concat(label, town) AS both FROM h

--- create_from_delta
-- id = d.id
-- name = d.label
-- both = d.label, d.town
CREATE TABLE {out} USING {format} AS SELECT id, label AS name, concat(label, town) AS both FROM d

--- create_from_iceberg
-- id = local.src.i.id
-- name = local.src.i.label
-- both = local.src.i.label, local.src.i.town
CREATE TABLE {out} USING {format} AS SELECT id, label AS name, concat(label, town) AS both FROM local.src.i

--- create_from_jdbc
-- id = j.id
-- name = j.label
-- both = j.label, j.town
CREATE TABLE {out} USING {format} AS SELECT id, label AS name, concat(label, town) AS both FROM j

--- create_from_view
-- id = v.id
-- name = v.l
-- both = v.l, v.t
CREATE TABLE {out} USING {format} AS SELECT id, l AS name, concat(l, t) AS both FROM v

--- create_from_view_of_delta
-- id = vd.id
-- name = vd.l
-- both = vd.l, vd.t
CREATE TABLE {out} USING {format} AS SELECT id, l AS name, concat(l, t) AS both FROM vd
