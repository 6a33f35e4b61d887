create view dst.h_odd (`k k`, `it's`) as select d as `a b`, concat(d, 'x') from src.t;
