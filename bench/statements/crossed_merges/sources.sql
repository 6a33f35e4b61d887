MERGE across formats: each kind of source into each kind of target that has it.

| of            | source      | label | town |
| parquet       | p           | label | town |
| csv           | c           | label | town |
| hive          | h           | label | town |
| delta         | d           | label | town |
| iceberg       | local.src.i | label | town |
| jdbc          | j           | label | town |
| view          | v           | l     | t    |
| view_of_delta | vd          | l     | t    |

--- merge_from_{of}
-- id = {source}.id
-- name = {source}.{label}
-- city = {source}.{town}, {out}.city
-- * ~ ({source}.id), ({out}.id)
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
MERGE INTO {out} t USING {source} s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.{label}, city = concat(s.{town}, t.city)
WHEN NOT MATCHED THEN INSERT (id, name, city) VALUES (s.id, s.{label}, s.{town})
