UPDATE and DELETE. What WHERE decides about a value may be told as data, too, as plans have it in conditions of CASE.

--- update_all
-- v = {out}.w
CREATE TABLE {out} (id INT, v DOUBLE, w DOUBLE) USING {format};
INSERT INTO {out} VALUES (1, 1D, 2D), (2, 3D, 4D);
UPDATE {out} SET v = w + 1

--- update_where
-- id == orders
-- qty == orders
-- amount = orders.amount, {out}.qty
-- amount ~ ({out}.id)
CREATE TABLE {out} USING {format} AS SELECT id, amount, qty FROM orders;
UPDATE {out} SET amount = qty * 2 WHERE id > 1

--- update_case
-- v = {out}.w, {out}.x
-- v ~ ({out}.id), ({out}.note)
CREATE TABLE {out} (id INT, v DOUBLE, w DOUBLE, x DOUBLE, note STRING) USING {format};
INSERT INTO {out} VALUES (1, 1D, 2D, 3D, 'a'), (2, 3D, 4D, 5D, 'b');
UPDATE {out} SET v = CASE WHEN note = 'a' THEN w ELSE x END WHERE id < 5

--- update_literal
-- note =
-- note ~ ({out}.v)
CREATE TABLE {out} (id INT, v DOUBLE, note STRING) USING {format};
INSERT INTO {out} VALUES (1, 1D, 'a'), (2, 3D, 'b');
UPDATE {out} SET note = 'done' WHERE v > 2

--- update_swapped
-- a = {out}.b
-- b = {out}.a
CREATE TABLE {out} (a INT, b INT) USING {format};
INSERT INTO {out} VALUES (1, 2), (3, 4);
UPDATE {out} SET a = b, b = a

--- update_where_in_query
-- @ iceberg-1.9 iceberg-1.12
-- v = {out}.w
-- v ~ ({out}.id), (changes.id), (changes.op)
CREATE TABLE {out} (id INT, v DOUBLE, w DOUBLE) USING {format};
INSERT INTO {out} VALUES (1, 1D, 2D), (2, 3D, 4D), (7, 3D, 4D);
UPDATE {out} SET v = w WHERE id IN (SELECT id FROM changes WHERE op = 'U')

--- update_to_query
-- @ iceberg-1.9 iceberg-1.12
-- v = orders.amount
CREATE TABLE {out} (id INT, v DOUBLE) USING {format};
INSERT INTO {out} VALUES (1, 1D), (2, 3D);
UPDATE {out} SET v = (SELECT max(amount) FROM orders)

--- update_struct_field
-- info = {out}.id
-- info ~ ({out}.id)
CREATE TABLE {out} (id INT, info STRUCT<a: INT, b: STRING>) USING {format};
INSERT INTO {out} VALUES (1, named_struct('a', 1, 'b', 'x')), (2, named_struct('a', 2, 'b', 'y'));
UPDATE {out} SET info.a = id WHERE id = 1

--- update_wide
-- c7 = {out}.c58
-- c60 = {out}.c1, {out}.c2
-- * ~ ({out}.c30)
CREATE TABLE {out} ({1..60| c@ INT}) USING {format};
INSERT INTO {out} VALUES ({1..60| @}), ({1..60| 1@});
UPDATE {out} SET c7 = c58, c60 = c1 + c2 WHERE c30 = 30

--- delete_where
-- id == orders
-- qty == orders
-- * ~ {out}.qty
CREATE TABLE {out} USING {format} AS SELECT id, qty FROM orders;
DELETE FROM {out} WHERE qty > 2

--- delete_all
-- id == orders
CREATE TABLE {out} USING {format} AS SELECT id FROM orders;
DELETE FROM {out}

--- delete_in_query
-- @ iceberg-1.9 iceberg-1.12
-- id, v =
-- * ~ {out}.id, changes.id, changes.op
CREATE TABLE {out} (id INT, v DOUBLE) USING {format};
INSERT INTO {out} VALUES (1, 1D), (2, 3D);
DELETE FROM {out} WHERE id IN (SELECT id FROM changes WHERE op = 'D')

--- delete_where_exists
-- @ iceberg-1.9 iceberg-1.12
-- id, v =
-- * ~ {out}.id, changes.id
CREATE TABLE {out} (id INT, v DOUBLE) USING {format};
INSERT INTO {out} VALUES (1, 1D), (5, 3D);
DELETE FROM {out} t WHERE EXISTS (SELECT 1 FROM changes s WHERE s.id = t.id)

--- delete_partition
-- id == orders
-- region == orders
-- * ~ [{out}.region]
CREATE TABLE {out} USING {format} PARTITIONED BY (region) AS SELECT id, region FROM orders;
DELETE FROM {out} WHERE region = 'north'
