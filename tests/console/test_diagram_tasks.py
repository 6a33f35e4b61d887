"""Three tasks of somebody who opens the console for the first time, and has only what its pages show. The truths were written
before the tests:

1. "report.revenue is too high: why?" The column comes from orders.amount through joined.amount and daily.revenue. The
   statement "insert into joined select o.id, o.amount, v.page from orders o join visits v" has no condition on its join, so
   each order is repeated for each visit. The error is in the step from orders.amount to joined.amount.
2. "Who reads the personal data of hub?" Its tagged column is email. Of 300 readers, reader_007, reader_120 and reader_299
   take it; all others take id.
3. "Which of the 60 tables break if the column kept of l1_t4 goes?" l2_t4, l3_t4, l4_t4 and l5_t4. Ten other tables are
   downstream of the table, but take only its column mixed.

Each takes at most twelve actions. An action is a click, a key that acts, or a text with the Enter key. To read takes none.
"""
