create view dst.h_const (kind, n, who) as select 'k', count(*), max(name) from src.cust group by city;
create view dst.h_union (k, v) as select id, name from src.cust union all select cast(c as bigint), d from src.t;
