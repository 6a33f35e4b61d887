Subqueries: scalar ones flow, IN and EXISTS control.

--- scalar_subquery
-- name == customers
-- top = orders.amount
CREATE TABLE {out} AS SELECT name, (SELECT max(amount) FROM orders) AS top FROM customers

--- scalar_subqueries_merged
-- # Spark makes one query of the three and takes its fields.
-- name == customers
-- top = orders.amount
-- least = orders.qty
-- days = orders.day
CREATE TABLE {out} AS
SELECT name, (SELECT max(amount) FROM orders) AS top, (SELECT min(qty) FROM orders) AS least,
  (SELECT count(DISTINCT day) FROM orders) AS days
FROM customers

--- scalar_subqueries_of_different_tables
-- a = orders.amount
-- b = items.price
-- c = targets.goal
CREATE TABLE {out} AS
SELECT (SELECT sum(amount) FROM orders) AS a, (SELECT sum(price) FROM items) AS b, (SELECT sum(goal) FROM targets) AS c

--- scalar_subquery_filtered
-- name == customers
-- top = orders.amount
-- top ~ orders.region
CREATE TABLE {out} AS SELECT name, (SELECT max(amount) FROM orders WHERE region = 'north') AS top FROM customers

--- scalar_subquery_in_expression
-- id == orders
-- share = orders.amount
CREATE TABLE {out} AS SELECT id, amount / (SELECT sum(amount) FROM orders) AS share FROM orders

--- scalar_subquery_in_where
-- id == orders
-- * ~ orders.amount, archive.amount
CREATE TABLE {out} AS SELECT id FROM orders WHERE amount > (SELECT avg(amount) FROM archive)

--- two_merged_in_where
-- id == orders
-- * ~ orders.amount, archive.amount, archive.qty, orders.qty
CREATE TABLE {out} AS
SELECT id FROM orders WHERE amount > (SELECT avg(amount) FROM archive) AND qty < (SELECT max(qty) FROM archive)

--- correlated_scalar
-- name == customers
-- best = orders.amount
-- best ~ orders.cust, customers.id
CREATE TABLE {out} AS
SELECT c.name, (SELECT max(o.amount) FROM orders o WHERE o.cust = c.id) AS best FROM customers c

--- correlated_count
-- name == customers
-- n =
-- n ~ orders.cust, customers.id
CREATE TABLE {out} AS SELECT c.name, (SELECT count(*) FROM orders o WHERE o.cust = c.id) AS n FROM customers c

--- correlated_in_where
-- id == orders
-- * ~ orders.amount, orders.region
CREATE TABLE {out} AS
SELECT o.id FROM orders o WHERE o.amount > (SELECT avg(p.amount) FROM orders p WHERE p.region = o.region)

--- in_subquery
-- id == orders
-- * ~ orders.cust, customers.id, customers.city
CREATE TABLE {out} AS SELECT id FROM orders WHERE cust IN (SELECT id FROM customers WHERE city = 'riga')

--- not_in_subquery
-- id == orders
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS SELECT id FROM orders WHERE cust NOT IN (SELECT id FROM customers)

--- in_two_columns
-- id == orders
-- * ~ orders.region, orders.qty, items.sku, items.qty
CREATE TABLE {out} AS SELECT id FROM orders WHERE (region, qty) IN (SELECT sku, qty FROM items)

--- exists_subquery
-- name == customers
-- * ~ orders.cust, customers.id, orders.qty
CREATE TABLE {out} AS
SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id AND o.qty > 1)

--- not_exists_subquery
-- name == customers
-- * ~ orders.cust, customers.id
CREATE TABLE {out} AS SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id)

--- exists_or
-- # An existence join.
-- name == customers
-- * ~ orders.cust, customers.id, customers.vip
CREATE TABLE {out} AS
SELECT name FROM customers c WHERE vip OR EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id)

--- in_or_in
-- id == orders
-- * ~ orders.cust, customers.id, orders.region, targets.region
CREATE TABLE {out} AS
SELECT id FROM orders WHERE cust IN (SELECT id FROM customers) OR region IN (SELECT region FROM targets)

--- exists_selected
-- name == customers
-- buys = (orders.cust), (customers.id)
CREATE TABLE {out} AS SELECT name, EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id) AS buys FROM customers c

--- in_selected
-- id == orders
-- known = (orders.cust), (customers.id)
CREATE TABLE {out} AS SELECT id, cust IN (SELECT id FROM customers) AS known FROM orders

--- uncorrelated_exists
-- id == orders
CREATE TABLE {out} AS SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM targets WHERE goal > 3)

--- scalar_subquery_in_case
-- size = (orders.amount), (archive.amount)
CREATE TABLE {out} AS SELECT CASE WHEN amount > (SELECT avg(amount) FROM archive) THEN 'large' ELSE 'small' END AS size FROM orders

--- nested_scalar
-- name == customers
-- v = orders.amount
-- v ~ items.price, orders.qty
CREATE TABLE {out} AS
SELECT name, (SELECT max(amount) FROM orders WHERE qty > (SELECT min(price) FROM items)) AS v FROM customers

--- struct_subquery
-- name == customers
-- a = orders.amount
-- b = orders.qty
CREATE TABLE {out} AS
SELECT name, s.a, s.b FROM (SELECT name, (SELECT named_struct('a', max(amount), 'b', max(qty)) FROM orders) AS s FROM customers)

--- same_subquery_twice
-- x, y = orders.amount
CREATE TABLE {out} AS SELECT (SELECT max(amount) FROM orders) AS x, (SELECT max(amount) FROM orders) + 1 AS y FROM customers

--- subquery_in_from
-- id == orders
-- double = orders.amount
-- * ~ orders.qty
CREATE TABLE {out} AS SELECT id, double FROM (SELECT id, amount * 2 AS double, qty FROM orders) WHERE qty > 1
