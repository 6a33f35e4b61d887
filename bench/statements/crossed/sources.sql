INSERT and CREATE AS across formats: each kind of source into each kind of target.

| of            | source      | label | town |
| parquet       | p           | label | town |
| csv           | c           | label | town |
| hive          | h           | label | town |
| delta         | d           | label | town |
| iceberg       | local.src.i | label | town |
| jdbc          | j           | label | town |

--- insert_from_{of}
-- id = {source}.id
-- name = {source}.{label}
-- city = {source}.{town}
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
INSERT INTO {out} SELECT id, {label}, upper({town}) FROM {source}

--- create_from_{of}
-- id = {source}.id
-- name = {source}.{label}
-- both = {source}.{label}, {source}.{town}
CREATE TABLE {out} USING {format} AS SELECT id, {label} AS name, concat({label}, {town}) AS both FROM {source}
