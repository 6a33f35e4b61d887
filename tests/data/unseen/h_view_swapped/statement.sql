create view dst.h_swapped (id, name) as select name, id from src.cust where city = 'Bern';
