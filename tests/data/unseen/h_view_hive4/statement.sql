create view dst.h4_twice (a1, a2) as select c, c from src.t;
create view dst.h4_swapped (id, name) as select name, id from src.cust where city = 'Bern';
