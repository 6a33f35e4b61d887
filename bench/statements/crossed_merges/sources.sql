MERGE across formats: each kind of source into each kind of target that has it.

| of            | source      | label | town | table       |
| parquet       | p           | label | town | p           |
| csv           | c           | label | town | c           |
| hive          | h           | label | town | h           |
| delta         | d           | label | town | d           |
| iceberg       | local.src.i | label | town | local.src.i |
| jdbc          | j           | label | town | j           |
| view          | v           | l     | t    | p           |
| view_of_delta | vd          | l     | t    | d           |

--- merge_from_{of}
-- id = {table}.id
-- name = {table}.label
-- city = {table}.town, {out}.city
-- * ~ ({table}.id), ({out}.id)
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
MERGE INTO {out} t USING {source} s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.{label}, city = concat(s.{town}, t.city)
WHEN NOT MATCHED THEN INSERT (id, name, city) VALUES (s.id, s.{label}, s.{town})
