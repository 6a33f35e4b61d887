INSERT and CREATE AS across formats, from views. A view is read as the tables in its text.

| of            | source | table |
| view          | v      | p     |
| view_of_delta | vd     | d     |

--- insert_from_{of}
-- id = {table}.id
-- name = {table}.label
-- city = {table}.town
-- * ~ {table}.id
CREATE TABLE {out} (id INT, name STRING, city STRING) USING {format};
INSERT INTO {out} VALUES (1, 'x', 'y');
INSERT INTO {out} SELECT id, l, upper(t) FROM {source}

--- create_from_{of}
-- id = {table}.id
-- name = {table}.label
-- both = {table}.label, {table}.town
-- * ~ {table}.id
CREATE TABLE {out} USING {format} AS SELECT id, l AS name, concat(l, t) AS both FROM {source}
