MERGE, UPDATE and DELETE.

--- merge
-- id = changes.id
-- amount = changes.amount
-- qty = changes.qty, {out}.qty
-- * ~ changes.id, {out}.id, changes.op
CREATE TABLE {out} USING {format} AS SELECT 1 AS id, 2.0D AS amount, 3 AS qty;
MERGE INTO {out} t USING changes s ON t.id = s.id
WHEN MATCHED AND s.op = 'D' THEN DELETE
WHEN MATCHED THEN UPDATE SET t.amount = s.amount, t.qty = t.qty + s.qty
WHEN NOT MATCHED THEN INSERT (id, amount, qty) VALUES (s.id, s.amount, s.qty)

--- update_where
-- amount = {out}.qty
-- amount ~ {out}.id
-- id == orders
-- qty == orders
-- amount = orders.amount
CREATE TABLE {out} USING {format} AS SELECT id, amount, qty FROM orders;
UPDATE {out} SET amount = qty * 2 WHERE id > 1

--- delete_where
-- id == orders
-- qty == orders
-- * ~ {out}.qty
CREATE TABLE {out} USING {format} AS SELECT id, qty FROM orders;
DELETE FROM {out} WHERE qty > 2

