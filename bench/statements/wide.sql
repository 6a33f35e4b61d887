Wide tables: Spark cuts lists at 25 and what is behind must be recovered or flagged.

--- copy_all
-- c{1..120} = wide.c{1..120}
CREATE TABLE {out} AS SELECT * FROM wide

--- copy_backwards
-- c120 == wide
-- r{1..60} = wide.c{1..60}
CREATE TABLE {out} AS SELECT c120, {1..60| c@ AS r@} FROM wide

--- insert_wide
-- c{1..120} = wide.c{1..120}
CREATE TABLE {out} LIKE wide;
INSERT INTO {out} SELECT * FROM wide

--- insert_wide_shifted
-- # By position: each column goes into the next, the last into the first.
-- c{1..119} = wide.c{@+1}
-- c120 = wide.c1
CREATE TABLE {out} LIKE wide;
INSERT INTO {out} SELECT {2..120| c@}, c1 FROM wide

--- hash_of_row
-- id = wide.c1
-- h = wide.c{1..120}
CREATE TABLE {out} AS SELECT c1 AS id, xxhash64({1..120| c@}) AS h FROM wide

--- concat_of_row
-- id = wide.c1
-- h = wide.c{1..120}
CREATE TABLE {out} AS SELECT c1 AS id, md5(concat_ws('|', {1..120| CAST(c@ AS STRING)})) AS h FROM wide

--- concat_of_row_coalesced
-- h = wide.c{1..60}
CREATE TABLE {out} AS SELECT sha2(concat({1..60| coalesce(c@, 0)}), 256) AS h FROM wide

--- two_hashes
-- # Two cut expressions in one operator: which lost argument was whose is not said.
-- a = wide.c{1..60}
-- b = wide.c{61..120}
-- ! unknown
CREATE TABLE {out} AS SELECT hash({1..60| c@}) AS a, hash({61..120| c@}) AS b FROM wide

--- coalesce_of_forty
-- v = wide.c{1..40}
CREATE TABLE {out} AS SELECT coalesce({1..40| c@}) AS v FROM wide

--- greatest_of_forty
-- v = wide.c{1..40}
CREATE TABLE {out} AS SELECT greatest({1..40| c@}) AS v FROM wide

--- sum_of_sixty
-- # What stands between operators is not cut.
-- v, w = wide.c{1..60}
CREATE TABLE {out} AS SELECT {1..60+ c@} AS v, {1..60+ c@ * 2} AS w FROM wide

--- struct_of_forty
-- id = wide.c50
-- s = wide.c{1..40}
CREATE TABLE {out} AS SELECT c50 AS id, struct({1..40| c@}) AS s FROM wide

--- struct_of_twenty
-- s = wide.c{1..20}
CREATE TABLE {out} AS SELECT struct({1..20| c@}) AS s FROM wide

--- array_of_forty
-- s = wide.c{1..40}
CREATE TABLE {out} AS SELECT array({1..40| c@}) AS s FROM wide

--- aggregates_of_sixty
-- c100 == wide
-- m{1..60} = wide.c{1..60}
-- m{1..60} ~ wide.c100
CREATE TABLE {out} AS SELECT c100, {1..60| max(c@) AS m@} FROM wide GROUP BY c100

--- keys_of_forty
-- c{1..40} = wide.c{1..40}
-- n = wide.c50
-- n ~ wide.c{1..40}
CREATE TABLE {out} AS SELECT {1..40| c@}, sum(c50) AS n FROM wide GROUP BY {1..40| c@}

--- distinct_of_forty
-- c{1..40} = wide.c{1..40}
CREATE TABLE {out} AS SELECT DISTINCT {1..40| c@} FROM wide

--- rollup_wide
-- # An Expand whose lists are cut.
-- c1, c2 == wide
-- m{3..40} = wide.c{3..40}
CREATE TABLE {out} AS SELECT c1, c2, {3..40| sum(c@) AS m@} FROM wide GROUP BY ROLLUP (c1, c2)

--- union_wide
-- c{1..50} = wide.c{1..50}
CREATE TABLE {out} AS SELECT {1..50| c@} FROM wide WHERE c1 > 0 UNION ALL SELECT {1..50| c@} FROM wide WHERE c1 < 0

--- union_wide_shifted
-- # The second side stands one column further.
-- c{1..50} = wide.c{1..50}
-- c{2..50} = wide.c{@-1}
-- c1 = wide.c51
CREATE TABLE {out} AS SELECT {1..50| c@} FROM wide WHERE c1 > 0 UNION ALL SELECT c51, {1..49| c@} FROM wide WHERE c1 < 0

--- top_of_wide
-- # TakeOrderedAndProject is cut.
-- c{1..60} = wide.c{1..60}
-- * ~ wide.c70
CREATE TABLE {out} AS SELECT {1..60| c@} FROM wide ORDER BY c70 LIMIT 3

--- top_of_wide_computed
-- d{1..40} = wide.c{1..40}
-- * ~ wide.c70
CREATE TABLE {out} AS SELECT {1..40| c@ + 1 AS d@} FROM wide ORDER BY c70 LIMIT 3

--- join_of_wide
-- c{1..40} = wide.c{1..40}
-- d{1..40} = wide.c{1..40}
-- * ~ wide.c120
CREATE TABLE {out} AS SELECT {1..40| a.c@}, {1..40| b.c@ AS d@} FROM wide a JOIN wide b ON a.c120 = b.c120

--- unpivot_of_thirty
-- id = wide.c50
-- k =
-- v = wide.c{1..30}
CREATE TABLE {out} AS SELECT id, k, v FROM (SELECT c50 AS id, {1..30| c@} FROM wide) UNPIVOT (v FOR k IN ({1..30| c@}))

--- stack_of_thirty
-- k =
-- v = wide.c{1..30}
-- ! unknown
CREATE TABLE {out} AS SELECT stack(30, {1..30| 'c@', c@}) AS (k, v) FROM wide

--- conditions_on_forty
-- v = (wide.c{1..40})
CREATE TABLE {out} AS SELECT {1..40+ CASE WHEN c@ > 0 THEN 1 ELSE 0 END} AS v FROM wide

--- pivot_of_thirty
-- c1 == wide
-- p{1..30} = wide.c3, (wide.c2)
-- p{1..30} ~ wide.c1
CREATE TABLE {out} AS SELECT * FROM (SELECT c1, c2, c3 FROM wide) PIVOT (sum(c3) FOR c2 IN ({1..30| @ AS p@}))

--- partitioned_wide
-- c{1..40} = wide.c{1..40}
CREATE TABLE {out} USING parquet PARTITIONED BY (c1, c2) AS SELECT {1..40| c@} FROM wide

--- hive_wide
-- c{1..40} = wide.c{1..40}
CREATE TABLE {out} STORED AS ORC AS SELECT {1..40| c@} FROM wide

--- view_of_wide
-- c{1..40} = wide.c{1..40}
CREATE VIEW {out} AS SELECT {1..40| c@} FROM wide

--- directory_of_wide
-- -> <files/directory_of_wide>
-- c{1..40} = wide.c{1..40}
INSERT OVERWRITE DIRECTORY '{dir}/files/directory_of_wide' USING parquet SELECT {1..40| c@} FROM wide
