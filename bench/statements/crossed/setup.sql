CREATE TABLE p (id INT, label STRING, town STRING) USING parquet;
INSERT INTO p VALUES (1, 'a', 'riga'), (2, 'b', 'oslo'), (9, 'c', 'rome');
CREATE TABLE c USING csv OPTIONS (header 'true') AS SELECT * FROM p;
CREATE TABLE h (id INT, label STRING, town STRING) STORED AS TEXTFILE;
INSERT INTO h SELECT * FROM p;
CREATE TABLE d USING delta AS SELECT * FROM p;
CREATE TABLE local.src.i USING iceberg AS SELECT * FROM p;
CREATE VIEW v AS SELECT id, label AS l, town AS t FROM p WHERE id > 0;
CREATE VIEW vd AS SELECT id, label AS l, town AS t FROM d WHERE id > 0;
CREATE TABLE crm.APP.places (id INT, label STRING, town STRING);
INSERT INTO crm.APP.places SELECT * FROM p;
CREATE TABLE j USING jdbc OPTIONS (url 'jdbc:derby:memory:crm', dbtable 'APP."places"')
