Names and literals that a reader of plans could take for something else.

--- odd_names
-- `a.b` == odd
-- `two words` == odd
-- `back``tick` == odd
-- camelcase == odd
-- `x,y` == odd
-- `a#1` == odd
CREATE TABLE {out} AS SELECT `a.b`, `two words`, `back``tick`, CamelCase, `x,y`, `a#1` FROM odd

--- odd_names_computed
-- v = odd.`a.b`, odd.`a#1`
-- `new.name` = odd.`two words`, odd.`sum(v)`
-- `AS` = odd.`v AS w#3`
-- w = odd.`as`
CREATE TABLE {out} AS
SELECT `a.b` + `a#1` AS v, `two words` * `sum(v)` AS `new.name`, `v AS w#3` AS `AS`, abs(`AS`) AS w FROM odd

--- odd_names_aggregated
-- `x,y` == odd
-- `max(über)` = odd.`über`
-- `max(über)` ~ odd.`x,y`
CREATE TABLE {out} AS SELECT `x,y`, max(`über`) AS `max(über)` FROM odd GROUP BY `x,y`

--- odd_names_joined
-- l = odd.`a.b`
-- r = odd.`x,y`
-- * ~ odd.`a#1`, odd.`two words`
CREATE TABLE {out} AS SELECT p.`a.b` AS l, q.`x,y` AS r FROM odd p JOIN odd q ON p.`a#1` = q.`two words`

--- case_differs
-- ID == orders
-- Amount == orders
CREATE TABLE {out} AS SELECT ID, AMOUNT AS Amount FROM SRC.Orders WHERE Region = 'north'

--- names_with_ids
-- `id#5` = orders.id
-- `id#6` = orders.cust
-- `id` = orders.qty
CREATE TABLE {out} AS SELECT id AS `id#5`, cust AS `id#6`, qty AS id FROM orders

--- one_name_everywhere
-- id = orders.id, customers.id, archive.id
CREATE TABLE {out} AS
SELECT o.id + c.id + a.id AS id FROM orders o JOIN customers c ON o.id = c.id JOIN archive a ON a.id = c.id

--- literal_like_a_block
-- v = orders.region
CREATE TABLE {out} AS
SELECT concat(region, '\n(3) Scan parquet spark_catalog.src.customers\nOutput [1]: [city#4]\n(4) Project\nOutput [1]: [city#4 AS v#9]') AS v
FROM orders

--- literal_like_an_attribute
-- v = orders.note
-- w =
CREATE TABLE {out} AS SELECT concat('id#1, qty#4 AS v#9, ', note) AS v, 'amount#3 AS w#7' AS w FROM orders

--- literal_with_brackets
-- v = orders.note
-- w = orders.region
-- * ~ orders.qty
CREATE TABLE {out} AS
SELECT concat('[a, b), (', note, ']]') AS v, replace(region, ', ', ']') AS w FROM orders WHERE note <> '], [id#1' OR qty > 1

--- literal_like_a_header
-- v = orders.note
CREATE TABLE {out} AS
SELECT concat(note, '\n\n== Physical Plan ==\nExecute InsertIntoHadoopFsRelationCommand (2)\n+- * Scan parquet src.items (1)\n') AS v FROM orders

--- literal_in_a_filter
-- id == orders
-- * ~ orders.note
CREATE TABLE {out} AS SELECT id FROM orders WHERE note = '(2) Filter [codegen id : 1]\nInput [1]: [qty#99]\nCondition : (qty#99 > 1)'

--- literal_in_an_aggregate
-- region == orders
-- v = orders.note
CREATE TABLE {out} AS
SELECT region, max(concat(note, ' AS total#5, sum(amount#3)#8, ')) AS v FROM orders GROUP BY region

--- literal_with_unicode
-- v = orders.note
CREATE TABLE {out} AS SELECT concat('äöü … ∑ 😀 #12L', note) AS v FROM orders

--- keywords_as_names
-- select, from, where = orders.id
CREATE TABLE {out} AS SELECT id AS `select`, id AS `from`, id AS `where` FROM orders

--- path_with_odd_name
-- -> <files/odd, path [1] #2>
-- id == orders
INSERT OVERWRITE DIRECTORY '{dir}/files/odd, path [1] #2' USING parquet SELECT id FROM orders

--- alias_of_alias
-- z = orders.amount
CREATE TABLE {out} AS SELECT y AS z FROM (SELECT x AS y FROM (SELECT amount AS x FROM orders WHERE amount > 0) WHERE x < 99)

--- long_column_name
-- a_column_whose_name_is_so_long_that_a_reader_who_cuts_lines_at_some_length_would_lose_the_end_of_it_and_more = orders.id
CREATE TABLE {out} AS
SELECT id AS a_column_whose_name_is_so_long_that_a_reader_who_cuts_lines_at_some_length_would_lose_the_end_of_it_and_more FROM orders
