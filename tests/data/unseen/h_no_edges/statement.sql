insert into dst.h_all select mail, id from tmp_orders;
insert into table dst.h_all values ('x', 1);
insert into table dst.h_all select 'all', count(*) from src.cust;
create table dst.h_gone as select count(*) as n from src.cust c join src.t on c.id = t.c;
