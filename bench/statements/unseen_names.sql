Odd names, and literals that look like what a plan prints.

--- unseen_strange_names
-- `it's`, `say "hi"`, `x AS y#12`, `a, b#3 AS c`, `(1)`, `[n]`, `データ`, `größe` == strange
-- ` lead`, `trail `, `1`, `*`, `a.b.c`, `NULL`, `id#7L`, `... 9 more fields` == strange
CREATE TABLE {out} AS SELECT * FROM strange

--- unseen_strange_names_crossed
-- `x AS y#12` = strange.`id#7L`
-- `id#7L` = strange.`x AS y#12`, strange.`a, b#3 AS c`
-- `[n]` = strange.`(1)`
-- `(1)` = strange.`[n]`
-- `1` = strange.`... 9 more fields`
-- `... 9 more fields` = strange.`1`
-- `a.b.c` = strange.`NULL`
-- `NULL` = strange.`*`
CREATE TABLE {out} AS
SELECT `id#7L` AS `x AS y#12`, `x AS y#12` + `a, b#3 AS c` AS `id#7L`, `(1)` AS `[n]`, `[n]` AS `(1)`,
  `... 9 more fields` AS `1`, `1` AS `... 9 more fields`, `NULL` AS `a.b.c`, `*` AS `NULL` FROM strange

--- unseen_strange_names_aggregated
-- `データ` == strange
-- `sum(x AS y#12)` = strange.`x AS y#12`
-- `max AS m#1` = strange.` lead`
-- `n, o` = strange.`trail `
-- `sum(x AS y#12)`, `max AS m#1`, `n, o` ~ strange.`データ`
CREATE TABLE {out} AS
SELECT `データ`, sum(`x AS y#12`) AS `sum(x AS y#12)`, max(` lead`) AS `max AS m#1`, count(DISTINCT `trail `) AS `n, o`
FROM strange GROUP BY `データ`

--- unseen_strange_names_over_a_window
-- `it's` == strange
-- `w#1` = strange.`say "hi"`
-- `w#1` ~ strange.`größe`, strange.`a.b.c`
CREATE TABLE {out} AS
SELECT `it's`, sum(`say "hi"`) OVER (PARTITION BY `größe` ORDER BY `a.b.c`) AS `w#1` FROM strange

--- unseen_strange_names_unpivoted
-- `k` = strange.`1`
-- what =
-- v = strange.`x AS y#12`, strange.`a, b#3 AS c`, strange.`[n]`
CREATE TABLE {out} AS
SELECT `1` AS k, what, v FROM strange UNPIVOT (v FOR what IN (`x AS y#12`, `a, b#3 AS c`, `[n]`))

--- unseen_strange_place
-- -> <files/größe 12, b#3 AS c>
-- `id` = orders.id
-- -> out.unseen_strange_place
-- v = <files/größe 12, b#3 AS c>.id
INSERT OVERWRITE DIRECTORY '{dir}/files/größe 12, b#3 AS c' USING parquet SELECT id FROM orders;
CREATE TABLE {out} AS SELECT id AS v FROM parquet.`{dir}/files/größe 12, b#3 AS c`

--- unseen_literal_of_a_plan
-- id == orders
-- a, b, c, d =
-- e = orders.note
CREATE TABLE {out} AS
SELECT id, 'Project [amount#1 AS id#2]' AS a, 'x AS y#3, qty#4' AS b, '+- Scan parquet spark_catalog.src.items (1)' AS c,
  '\nInput [2]: [id#0, qty#1]\n' AS d, concat(note, ', qty#5 AS z#6]\n\n(3) Filter\nInput [1]: [qty#5]') AS e FROM orders

--- unseen_literals_in_cases
-- v = orders.note, orders.region, (orders.qty)
-- w = (orders.region)
-- * ~ orders.region
CREATE TABLE {out} AS
SELECT CASE WHEN qty > 1 THEN concat(note, ' THEN amount#1 ELSE ') ELSE region END AS v,
  CASE WHEN region IN ('a, b', 'id#3', ') THEN amount#2') THEN 'END AS w#9' ELSE ' ELSE ' END AS w
FROM orders WHERE region NOT IN ('], [qty#2', '... 3 more fields')

--- unseen_literals_among_forty
-- k == broad_text
-- h = broad_text.d{0..39}
-- x =
CREATE TABLE {out} AS
SELECT k, concat_ws(', ', {0..39| d@}, '... 12 more fields', 'd100#5') AS h, 'xxhash64(d50#7, ... 90 more fields) AS h#8' AS x FROM broad_text

--- unseen_same_name_of_both
-- `k` = broad.k
-- K2 = broad_old.k
-- `c0` = broad_old.c0
-- `c1` = broad.c1
-- * ~ broad.k, broad_old.k
CREATE TABLE {out} AS SELECT a.k, b.k AS K2, b.c0, a.c1 FROM broad a JOIN broad_old b USING (k)

--- unseen_names_shadowed
-- amount = orders.qty
-- qty = orders.amount
-- id = orders.cust
-- cust = orders.id
-- * ~ orders.id
CREATE TABLE {out} AS
SELECT amount, qty, id, cust FROM (SELECT qty AS amount, amount AS qty, cust AS id, id AS cust FROM orders) t WHERE cust > 0

--- unseen_dotted_struct_and_dotted_name
-- a = events.info
-- b = strange.`a.b.c`
CREATE TABLE {out} AS SELECT e.info.c.d AS a, s.`a.b.c` AS b FROM events e CROSS JOIN strange s
