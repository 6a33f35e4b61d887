Tables of 150 columns, at Spark's own limit of 25 fields.

--- unseen_hash_of_live_rows
-- k == broad
-- h = broad.c{0..99}
-- * ~ broad.is_deleted
CREATE TABLE {out} AS SELECT k, xxhash64({0..99| c@}) AS h FROM broad WHERE is_deleted = false

--- unseen_hashes_that_overlap
-- k == broad
-- a = broad.c{0..99}
-- b = broad.c{50..145}
-- * ~ broad.region
CREATE TABLE {out} AS
SELECT k, xxhash64({0..99| c@}) AS a, sha2(concat_ws('|', {50..145| c@}), 256) AS b FROM broad WHERE region = 'north'

--- unseen_hash_beside_its_columns
-- k == broad
-- c{0..145} = broad.c{0..145}
-- h = broad.c{0..99}
-- * ~ broad.is_deleted
CREATE TABLE {out} AS
SELECT k, {0..145| c@}, md5(concat_ws('~', {0..99| CAST(c@ AS STRING)})) AS h FROM broad WHERE NOT is_deleted

--- unseen_hash_of_a_star
-- h = broad.k, broad.is_deleted, broad.day, broad.region
-- h = broad.c{0..145}
CREATE TABLE {out} AS SELECT xxhash64(*) AS h FROM broad

--- unseen_json_of_the_row
-- k == broad
-- doc = broad.k, broad.is_deleted, broad.day, broad.region
-- doc = broad.c{0..145}
CREATE TABLE {out} AS SELECT k, to_json(struct(*)) AS doc FROM broad

--- unseen_json_of_the_rows_of_a_group
-- region == broad
-- docs = broad.k, broad.is_deleted, broad.day, broad.region
-- docs = broad.c{0..145}
-- docs ~ broad.region
CREATE TABLE {out} AS SELECT region, to_json(collect_list(struct(*))) AS docs FROM broad GROUP BY region

--- unseen_named_struct_of_forty
-- k == broad
-- s = broad.c{0..39}
-- t = broad.c{40..79}
CREATE TABLE {out} AS
SELECT k, named_struct({0..39| 'f@', c@}) AS s, named_struct({40..79| 'f@', c@}) AS t FROM broad

--- unseen_map_of_sixty
-- k == broad
-- m = broad.c{0..59}
-- * ~ broad.day
CREATE TABLE {out} AS SELECT k, map({0..59| 'c@', c@}) AS m FROM broad WHERE day > DATE'2026-01-01'

--- unseen_choosers_of_fifty
-- g = broad.c{0..49}
-- l = broad.c{50..99}
-- f = broad.c{100..145}
-- k == broad
CREATE TABLE {out} AS
SELECT greatest({0..49| c@}) AS g, least({50..99| c@}) AS l, coalesce({100..145| c@}) AS f, k FROM broad

--- unseen_join_of_two_broad
-- k, is_deleted, day, region == broad
-- c{0..145} = broad.c{0..145}
-- d{0..146} = broad_text.d{0..146}
-- * ~ broad.k, broad_text.k
CREATE TABLE {out} AS SELECT a.*, {0..146| b.d@} FROM broad a JOIN broad_text b ON a.k = b.k

--- unseen_merge_of_two_broad
-- k = broad.k, broad_old.k
-- c{0..99} = broad.c{0..99}, broad_old.c{0..99}
-- what = (broad.k), (broad_old.k)
-- * ~ broad.k, broad_old.k
CREATE TABLE {out} AS
SELECT coalesce(n.k, o.k) AS k, {0..99| coalesce(n.c@, o.c@) AS c@},
  CASE WHEN o.k IS NULL THEN 'new' WHEN n.k IS NULL THEN 'gone' ELSE 'kept' END AS what
FROM broad n FULL OUTER JOIN broad_old o ON n.k = o.k

--- unseen_newer_of_two_broad
-- k == broad
-- c{0..99} = broad.c{0..99}, broad_old.c{0..99}, (broad.day), (broad_old.day)
-- * ~ broad.k, broad_old.k
CREATE TABLE {out} AS
SELECT n.k, {0..99| CASE WHEN n.day >= o.day THEN n.c@ ELSE o.c@ END AS c@}
FROM broad n JOIN broad_old o ON n.k = o.k

--- unseen_rows_compared_as_structs
-- k == broad
-- what = (broad.c{0..79}), (broad_old.c{0..79})
-- * ~ broad.k, broad_old.k
CREATE TABLE {out} AS
SELECT n.k, CASE WHEN struct({0..79| n.c@}) <=> struct({0..79| o.c@}) THEN 'same' ELSE 'changed' END AS what
FROM broad n JOIN broad_old o ON n.k = o.k

--- unseen_changed_rows_by_their_hash
-- k == broad
-- c{0..145} = broad.c{0..145}
-- * ~ broad.c{0..145}
-- * ~ broad_old.c{0..145}
-- * ~ broad.k, broad_old.k
CREATE TABLE {out} AS
SELECT n.k, {0..145| n.c@} FROM broad n LEFT JOIN broad_old o ON n.k = o.k
WHERE o.k IS NULL OR xxhash64({0..145| n.c@}) <> xxhash64({0..145| o.c@})

--- unseen_sums_of_sixty_by_region
-- region == broad
-- s{0..59} = broad.c{0..59}
-- m{60..99} = broad.c{60..99}
-- n =
-- s{0..59} ~ broad.region
-- m{60..99} ~ broad.region
-- n ~ broad.region
CREATE TABLE {out} AS
SELECT region, {0..59| sum(c@) AS s@}, {60..99| max(c@) AS m@}, count(*) AS n FROM broad GROUP BY region

--- unseen_sums_of_sixty_with_filters
-- s{0..59} = broad.c{0..59}
-- s{0..59} ~ broad.is_deleted
CREATE TABLE {out} AS SELECT {0..59| sum(c@) FILTER (WHERE NOT is_deleted) AS s@} FROM broad

--- unseen_distincts_of_thirty
-- region == broad
-- u{0..29} = broad.c{0..29}
-- u{0..29} ~ broad.region
-- s = broad.c30
-- s ~ broad.region
CREATE TABLE {out} AS
SELECT region, {0..29| count(DISTINCT c@) AS u@}, sum(c30) AS s FROM broad GROUP BY region

--- unseen_nulls_of_a_hundred
-- nulls{0..99} = (broad.c{0..99})
-- n =
CREATE TABLE {out} AS SELECT {0..99| sum(CASE WHEN c@ IS NULL THEN 1 ELSE 0 END) AS nulls@}, count(1) AS n FROM broad

--- unseen_lags_of_sixty
-- k, day == broad
-- p{0..59} = broad.c{0..59}
-- p{0..59} ~ broad.region, broad.day
CREATE TABLE {out} AS
SELECT k, day, {0..59| lag(c@) OVER (PARTITION BY region ORDER BY day) AS p@} FROM broad

--- unseen_one_window_beside_a_broad_row
-- k, is_deleted, day, region == broad
-- c{0..145} = broad.c{0..145}
-- * ~ broad.region, broad.day
CREATE TABLE {out} AS
SELECT * EXCEPT (rn) FROM (SELECT *, row_number() OVER (PARTITION BY region ORDER BY day DESC) AS rn FROM broad) WHERE rn = 1

--- unseen_broad_sorted
-- k, is_deleted, day, region == broad
-- c{0..145} = broad.c{0..145}
CREATE TABLE {out} AS SELECT * FROM broad ORDER BY c77, k DESC

--- unseen_top_of_broad_reversed
-- k, region == broad
-- r{0..145} = broad.c{0..145}
CREATE TABLE {out} AS SELECT {0..145| c@ AS r@}, region, k FROM broad ORDER BY c145 + c1 DESC LIMIT 5

--- unseen_pivot_of_broad
-- k == broad
-- n_s{0..29} = broad.c{0..29}
-- s_s{0..29} = broad.c{0..29}
-- n_s{0..29} ~ broad.region, broad.k
-- s_s{0..29} ~ broad.region, broad.k
CREATE TABLE {out} AS
SELECT * FROM (SELECT k, region, {0..29| c@} FROM broad)
PIVOT ({0..29| sum(c@) AS s@} FOR region IN ('north' AS n, 'south' AS s))

--- unseen_unpivot_of_a_hundred
-- k == broad
-- name =
-- v = broad.c{0..99}
CREATE TABLE {out} AS
SELECT k, name, v FROM broad UNPIVOT INCLUDE NULLS (v FOR name IN ({0..99| c@}))

--- unseen_unpivot_that_keeps_fifty
-- k, day == broad
-- c{100..145} = broad.c{100..145}
-- name =
-- v = broad.c{0..39}
CREATE TABLE {out} AS
SELECT k, day, {100..145| c@}, name, v
FROM (SELECT k, day, {0..145| c@} FROM broad) UNPIVOT (v FOR name IN ({0..39| c@}))

--- unseen_stack_of_fifty
-- k == broad
-- name =
-- v = broad.c{0..49}
-- * ~ broad.region
CREATE TABLE {out} AS
SELECT k, stack(50, {0..49| 'c@', c@}) AS (name, v) FROM broad WHERE region <> 'x'

--- unseen_lines_of_a_broad_table
-- k == broad_nested
-- c{1..60} = broad_nested.c{1..60}
-- sku, total = broad_nested.lines
CREATE TABLE {out} AS
SELECT k, {1..60| c@}, line.sku, line.qty * line.price AS total FROM broad_nested LATERAL VIEW explode(lines) t AS line

--- unseen_inline_outer_of_a_broad_table
-- k == broad_nested
-- c{1..60} = broad_nested.c{1..60}
-- sku, qty, price = broad_nested.lines
CREATE TABLE {out} AS SELECT inline_outer(lines), k, {1..60| c@} FROM broad_nested

--- unseen_star_without_two
-- k, is_deleted, day, region == broad
-- c{0..2} = broad.c{0..2}
-- c{4..139} = broad.c{4..139}
-- c{141..145} = broad.c{141..145}
CREATE TABLE {out} AS SELECT * EXCEPT (c3, c140) FROM broad

--- unseen_broad_by_name
-- k, is_deleted, day, region == broad
-- c{0..145} = broad.c{0..145}
CREATE TABLE {out} LIKE broad;
INSERT INTO {out} BY NAME SELECT {80..145| c@}, region, day, {0..79| c@}, is_deleted, k FROM broad

--- unseen_broad_by_position_of_two
-- k = broad.k, broad_old.c0
-- v{0..98} = broad.c{0..98}, broad_old.c{@+1}
CREATE TABLE {out} AS
SELECT k, {0..98| c@ AS v@} FROM broad UNION ALL SELECT c0, {1..99| c@} FROM broad_old

--- unseen_array_of_a_hundred
-- most, total = broad.c{0..99}
-- k == broad
CREATE TABLE {out} AS
SELECT array_max(array({0..99| c@})) AS most, aggregate(array({0..99| c@}), 0, (a, x) -> a + coalesce(x, 0)) AS total, k FROM broad

--- unseen_rollup_of_broad_sums
-- region, day == broad
-- s{0..39} = broad.c{0..39}
-- s{0..39} ~ broad.region, broad.day
CREATE TABLE {out} AS SELECT region, day, {0..39| sum(c@) AS s@} FROM broad GROUP BY ROLLUP (region, day)

--- unseen_broad_except_all
-- k = broad.k, [broad_old.k]
-- is_deleted = broad.is_deleted, [broad_old.is_deleted]
-- day = broad.day, [broad_old.day]
-- region = broad.region, [broad_old.region]
-- c{0..145} = broad.c{0..145}, [broad_old.c{0..145}]
CREATE TABLE {out} AS SELECT * FROM broad EXCEPT ALL SELECT * FROM broad_old

--- unseen_broad_through_a_view
-- k == broad
-- e{0..99} = broad.c{0..99}
-- h = broad.c{0..99}
-- * ~ broad.is_deleted, broad.region
CREATE OR REPLACE TEMPORARY VIEW unseen_live AS SELECT *, xxhash64({0..99| c@}) AS h FROM broad WHERE NOT is_deleted;
CREATE TABLE {out} AS SELECT k, {0..99| c@ AS e@}, h FROM unseen_live WHERE region LIKE 'n%';
DROP VIEW unseen_live

--- unseen_view_of_broad
-- k == broad
-- h = broad.c{0..145}
-- e{0..99} = broad.c{0..99}
-- * ~ broad.is_deleted
CREATE VIEW {out} AS SELECT k, xxhash64({0..145| c@}) AS h, {0..99| c@ AS e@} FROM broad WHERE NOT is_deleted
