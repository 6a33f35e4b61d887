from src.cust insert into table dst.h_all select mail, id insert overwrite table dst.h_keys partition (p) select cast(id as int), concat(name, mail), city;
