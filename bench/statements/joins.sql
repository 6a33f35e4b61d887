Joins of every kind: what they join by controls, what is selected flows.

--- inner_join
-- order_id = orders.id
-- name = customers.name
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS SELECT o.id AS order_id, c.name FROM orders o JOIN customers c ON o.cust = c.id

--- left_join
-- id == orders
-- name == customers
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.cust = c.id

--- right_join
-- id == orders
-- name == customers
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS SELECT o.id, c.name FROM orders o RIGHT JOIN customers c ON o.cust = c.id

--- full_join
-- id == orders
-- name == customers
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS SELECT o.id, c.name FROM orders o FULL OUTER JOIN customers c ON o.cust = c.id

--- full_join_using
-- # The one column of a full join USING is coalesce(left, right).
-- region = orders.region, targets.region
-- amount == orders
-- goal == targets
CREATE TABLE {out} AS SELECT region, amount, goal FROM orders FULL JOIN targets USING (region)

--- natural_join
-- region == orders
-- amount == orders
-- owner == targets
-- * ~ orders.region, targets.region
CREATE TABLE {out} AS SELECT region, amount, owner FROM orders NATURAL JOIN targets

--- cross_join
-- id == orders
-- goal == targets
CREATE TABLE {out} AS SELECT o.id, t.goal FROM orders o CROSS JOIN targets t

--- theta_join
-- id == orders
-- owner == targets
-- * ~ orders.amount, targets.goal
CREATE TABLE {out} AS SELECT o.id, t.owner FROM orders o JOIN targets t ON o.amount > t.goal

--- join_keys_and_condition
-- id == orders
-- owner == targets
-- * ~ orders.region, targets.region, orders.amount, targets.goal, orders.qty
CREATE TABLE {out} AS
SELECT o.id, t.owner FROM orders o LEFT JOIN targets t ON o.region = t.region AND o.amount + o.qty > t.goal

--- null_safe_join
-- id == orders
-- owner == targets
-- * ~ orders.region, targets.region
CREATE TABLE {out} AS SELECT o.id, t.owner FROM orders o JOIN targets t ON o.region <=> t.region

--- join_on_expression
-- id == orders
-- label == codes
-- * ~ orders.region, codes.code
CREATE TABLE {out} AS SELECT o.id, c.label FROM orders o JOIN codes c ON upper(substr(o.region, 1, 3)) = c.code

--- semi_join
-- id, amount == orders
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS SELECT o.id, o.amount FROM orders o LEFT SEMI JOIN customers c ON o.cust = c.id

--- anti_join
-- id, amount == orders
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS SELECT o.id, o.amount FROM orders o LEFT ANTI JOIN customers c ON o.cust = c.id

--- three_tables
-- id == orders
-- name == customers
-- spent = items.price, items.qty
-- * ~ orders.cust, customers.id, orders.id, items.order_id
CREATE TABLE {out} AS
SELECT o.id, c.name, i.price * i.qty AS spent
FROM orders o JOIN customers c ON o.cust = c.id JOIN items i ON i.order_id = o.id

--- self_join
-- child = customers.name
-- parent = customers.name
-- * ~ customers.id, customers.parent
CREATE TABLE {out} AS SELECT a.name AS child, b.name AS parent FROM customers a JOIN customers b ON a.parent = b.id

--- self_join_crossed_names
-- # Each column bears the other's name.
-- name = customers.city
-- city = customers.name
-- * ~ customers.id
CREATE TABLE {out} AS SELECT a.city AS name, b.name AS city FROM customers a JOIN customers b ON a.id = b.id

--- join_of_aggregates
-- region == orders
-- total = orders.amount
-- expected = targets.goal
-- total, expected ~ orders.region, targets.region
CREATE TABLE {out} AS
SELECT a.region, a.total, b.expected
FROM (SELECT region, sum(amount) AS total FROM orders GROUP BY region) a
JOIN (SELECT region, max(goal) AS expected FROM targets GROUP BY region) b ON a.region = b.region

--- broadcast_hint
-- id == orders
-- name == customers
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS SELECT /*+ BROADCAST(c) */ o.id, c.name FROM orders o JOIN customers c ON o.cust = c.id

--- merge_hint
-- id == orders
-- name == customers
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS SELECT /*+ MERGE(c) */ o.id, c.name FROM orders o JOIN customers c ON o.cust = c.id

--- shuffle_hash_and_repartition_hints
-- id == orders
-- name == customers
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS
SELECT /*+ SHUFFLE_HASH(c), REPARTITION(3) */ o.id, c.name FROM orders o JOIN customers c ON o.cust = c.id

--- nested_loop_outer
-- id == orders
-- owner == targets
-- * ~ orders.amount, targets.goal
CREATE TABLE {out} AS SELECT o.id, t.owner FROM orders o LEFT JOIN targets t ON o.amount < t.goal

--- lateral_subquery
-- id == orders
-- name == customers
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS
SELECT o.id, l.name FROM orders o, LATERAL (SELECT c.name FROM customers c WHERE c.id = o.cust) l

--- lateral_aggregate
-- name == customers
-- best = orders.amount
-- best ~ orders.cust, customers.id
CREATE TABLE {out} AS
SELECT c.name, l.best FROM customers c
LEFT JOIN LATERAL (SELECT max(o.amount) AS best FROM orders o WHERE o.cust = c.id) l

--- bucketed_join
-- id == bucketed
-- name == customers
-- * ~ bucketed.id, customers.id
CREATE TABLE {out} AS SELECT b.id, c.name FROM bucketed b JOIN customers c ON b.id = c.id

--- same_names_both_sides
-- qty = orders.qty
-- item_qty = items.qty
-- diff = orders.qty, items.qty
-- * ~ orders.id, items.order_id
CREATE TABLE {out} AS
SELECT o.qty, i.qty AS item_qty, o.qty - i.qty AS diff FROM orders o JOIN items i ON o.id = i.order_id
