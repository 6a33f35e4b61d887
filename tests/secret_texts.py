"""Texts that bear secrets, and texts that do not, one on a line, by class; what a guillemet encloses must never be stored.

``⏎`` is a line break; ``↩`` before one means that the text goes on. ``{36}`` is replaced by as many letters and digits,
``{U16}`` by capitals and digits, ``{h32}`` by hexadecimal digits, ``{d12}`` by digits, ``{b64}`` by base64: so no scanner
takes this file for a leak.
"""

import random
import re
from collections.abc import Iterator
from typing import Final

_ALPHABETS: Final = {
    "": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "h": "0123456789abcdef",
    "d": "0123456789",
    "b": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/",
}


def _filled(line: str) -> str:
    letters = random.Random(line)

    def drawn(hole: re.Match[str]) -> str:
        return "".join(letters.choices(_ALPHABETS[hole[1]], k=int(hole[2])))

    return re.sub(r"\{([Uhdb]?)(\d+)\}", drawn, line).replace("⏎", "\n")


def texts(block: str) -> Iterator[str]:
    """The texts of a block, filled."""
    return (_filled(line) for line in block.strip("\n").replace("↩\n", "").split("\n") if line)


def marked(text: str) -> tuple[str, tuple[str, ...]]:
    """A text without its guillemets, and what they enclosed."""
    return re.sub("[«»]", "", text), tuple(re.findall("«(.*?)»", text, re.DOTALL))


LEAKS: Final = {
    "urls": r"""
jdbc:postgresql://scott:«tiger»@db:5432/sales
jdbc:mysql://db/sales?user=scott&password=«tiger9»
jdbc:mysql://db/sales?user=scott&password=«ti%26ger9»&useSSL=false
jdbc:sqlserver://db:1433;databaseName=sales;user=sa;password=«Str0ng!Pass»;encrypt=true
jdbc:sqlserver://db:1433;user=sa;password={«Str0ng;Pass»};encrypt=true
jdbc:oracle:thin:scott/«tiger9»@db:1521:ORCL
jdbc:oracle:thin:scott/«tiger9»@//db:1521/ORCL
jdbc:hive2://hs2:10000/default;user=hive;password=«hunter2»
jdbc:hive2://hs2:10000/default;ssl=true;sslTrustStore=/etc/t.jks;trustStorePassword=«changeit»
jdbc:impala://node:21050/d;AuthMech=3;UID=etl;PWD=«hunter2»
jdbc:snowflake://acct.snowflakecomputing.com/?user=me&password=«Sn0w#fl»&warehouse=W
jdbc:databricks://adb-1.azuredatabricks.net:443;httpPath=/sql/1;AuthMech=3;UID=token;PWD=«dapi{h32}»
jdbc:teradata://td/DATABASE=d,USER=etl,PASSWORD=«hunter2»
jdbc:db2://db:50000/SAMPLE:user=db2;password=«hunter2»;
jdbc:redshift://c.eu.redshift.amazonaws.com:5439/dev?UID=u&PWD=«hunter2»
jdbc:trino://c:443/hive?user=u&password=«hunter2»&SSL=true
postgres://etl:«pa/ss»@db/sales
postgres://etl:«p@ss»@db/sales
postgresql://etl:«p'a"ss»@db/sales
mysql://root:«s3cr3t#1»@127.0.0.1:3306/x
mongodb://root:«s3cr3t»@m1:27017,m2:27017/admin?replicaSet=rs
mongodb+srv://root:«s3cr3t»@c.mongodb.net
redis://:«s3cr3t»@cache:6379/0
amqp://guest:«guezt»@mq//
amqps://u:«p%2Fw»@mq/vhost
ftp://bob:«hunter2»@ftp.example.org/in/a.csv
sftp://bob:«hunter:2»@host/in
smb://DOM;bob:«hunter2»@nas/share
https://oauth2:«glpat-{20}»@gitlab.com/a/b.git
https://«ghp_{36}»@github.com/a/b.git
https://x-access-token:«{40}»@github.com/a/b
s3a://AKIA{U16}:«{b40}»@bucket/path
s3n://AKIA{U16}:«ab/cd+ef/{b30}»@bucket/path
http://proxy:«hunter2»@proxy:3128
ldap://cn=admin:«hunter2»@ldap:389
snowflake://me:«hunter2»@acct/db
mssql+pyodbc://sa:«Str0ng!»@db/x?driver=ODBC
CREATE TABLE t LOCATION 'ftp://bob:«hunter2»@ftp/in'
the load of "https://bob:«hunter2»@x/y" failed
https://a.blob.core.windows.net/c/f?sv=2020-08-04&st=2021&se=2022&sr=b&sp=r&sig=«{b40}%3D»
wasbs://c@a.blob.core.windows.net/?sv=2020-08-04&ss=b&sig=«abc%2Fdef%2Bghi%3D»&sp=r
https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIA{U16}%2F2020&X-Amz-Signature=«{h64}»&X-Amz-Expires=3
https://b.s3.amazonaws.com/k?X-Amz-Security-Token=«FwoGZXIvYXdzE{60}»&X-Amz-Date=1
https://b.s3.amazonaws.com/k?AWSAccessKeyId=AKIA{U16}&Expires=1&Signature=«vjbyPxybdZaNmGa%2ByT272YEAiv4%3D»
https://storage.googleapis.com/b/o?X-Goog-Signature=«{h64}»
https://api/x?access_token=«{30}»
https://api/x?api_key=«{30}»&q=1
https://api/x?apikey=«k-{10}»
https://api/x?q=1&token=«{20}»#f
https://api/x?auth=«{20}»
https://api/x?client_id=a&client_secret=«{20}»
https://api/x?code=1&refresh_token=«{20}»
webhdfs://nn:50070/a?op=OPEN&delegation=«HAAEaGRmcw{30}»
https://hooks.slack.com/services/«T00000000/B00000000/{24}»
https://d.execute-api/x?key=«AIza{35}»
""",
    "connection strings": r"""
Server=db;Database=x;User Id=sa;Password=«Str0ng»;
Server=tcp:db,1433;Uid=sa;Pwd=«Str0ng»;Encrypt=yes
Data Source=db;User ID=scott;Password="«ti;ger»";
Driver={ODBC Driver 17};Server=s;UID=u;PWD={«p;w»}
DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=«{b86}==»;EndpointSuffix=core.windows.net
Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«{b43}=»
HostName=h.azure-devices.net;DeviceId=d;SharedAccessKey=«{b43}=»
BlobEndpoint=https://a.blob/;SharedAccessSignature=«sv=2015-04-05&sig={b43}%3D»
host=db port=5432 user=etl password=«hunter2» dbname=x
host=db user=etl password='«hunter 2»' dbname=x
AccountEndpoint=https://c.documents.azure.com:443/;AccountKey=«{b86}==»;
sqlplus scott/«tiger9»@//db:1521/ORCL
org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="«hunter2»";
org.apache.kafka.common.security.scram.ScramLoginModule required username='a' password='«hunter2»';
""",
    "headers": r"""
Authorization: Basic «{b24}==»
Authorization: Bearer «{40}»
authorization: bearer «{20}.{20}»
Authorization: Token «{h40}»
Authorization: «{30}»
Authorization: «{30}»⏎Host: example.org
Authorization: Negotiate «YII{b40}»
Authorization: AWS4-HMAC-SHA256 Credential=AKIA{U16}/2020/x, SignedHeaders=host, Signature=«{h64}»
Authorization: Digest username="bob", realm="x", response="«{h32}»"
Proxy-Authorization: Basic «{b24}==»
{"Authorization": "Bearer «{40}»"}
headers={'Authorization': 'Basic «{b24}=='»}
-H "Authorization: Bearer «{40}»"
curl -H 'X-Api-Key: «{20}»' https://x
X-Auth-Token: «{20}»
X-Vault-Token: «{20}»
X-Amz-Security-Token: «{40}»
PRIVATE-TOKEN: «{20}»
x-functions-key: «{20}»
Ocp-Apim-Subscription-Key: «{h32}»
Cookie: JSESSIONID=«{h32}»; theme=dark
Set-Cookie: hadoop.auth="«u=bob&p=bob&t=kerberos&e=1&s={b27}=»"; Path=/; HttpOnly
Cookie: session=«{40}»
X-CSRF-Token: «{30}»
""",
    "tokens": r"""
eyJ«hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{43}»
see eyJ«0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhIn0.{86}» there
AKIA«{U16}»
ASIA«{U16}»
AKIA{U16} «{b40}»
AKIA{U16}:«{b40}»
AKIA{U16}, '«{b40}»'
key AKIA{U16} secret «{b40}»
ghp_«{36}»
gho_«{36}»
ghu_«{36}» ghs_«{36}»
ghr_«{36}»
github_pat_«{22}_{59}»
glpat-«{20}»
gldt-«{20}»
glrt-«{20}»
xoxb-«{d12}-{d12}-{24}»
xoxp-«{d12}-{d12}-{h32}»
xapp-1-«A{U10}-{d13}-{h64}»
AIza«{35}»
ya29.«{60}»
GOCSPX-«{28}»
1//«0{60}» is a refresh_token of 1//«0{60}»
dapi«{h32}»
dapi«{h32}-2»
dkea«{h32}»
dose«{h32}»
hvs.«{24}»
hvb.«{60}»
VAULT_TOKEN=s.«{24}»
sk_live_«{24}»
sk_test_«{24}»
rk_live_«{24}»
whsec_«{32}»
sk-«{48}»
sk-proj-«{48}»
sk-ant-api03-«{93}AA»
npm_«{36}»
pypi-«AgEIcHlwaS5vcmc{70}»
SG.«{22}.{43}»
SK«{h32}» is a key of Twilio
AC{h32}:«{h32}»
dop_v1_«{h64}»
hf_«{34}»
shpat_«{h32}»
sq0csp-«{43}»
EAACEdEose0cBA«{40}»
key-«{h32}» of Mailgun
ATATT3x«{180}»
lin_api_«{40}»
dp.pt.«{43}»
AGE-SECRET-KEY-1«{U58}»
glsa_«{32}_{h8}»
pul-«{h40}»
tfp_«{40}»
{14}.atlasv1.«{60}»
NRAK-«{U27}»
xkeysib-«{h64}-{16}»
rubygems_«{h48}»
dckr_pat_«{27}»
PMAK-«{h24}-{h34}»
abc8Q~«{34}» is the value of an Azure secret: xyz8Q~«{34}»
oy2«abcdefghijklmnopqrstuvwxyz{U17}» is nuget's ApiKey=oy2«abcdefghijklmnopqrstuvwxyz{U17}»
""",
    "blocks": r"""
-----BEGIN RSA PRIVATE KEY-----⏎«MIIEpAIBAAKCAQEA{b60}⏎{b64}»⏎-----END RSA PRIVATE KEY-----
-----BEGIN PRIVATE KEY-----\n«MIIEvQIBADANBgkqhkiG9w0{b60}»\n-----END PRIVATE KEY-----\n
-----BEGIN EC PRIVATE KEY-----⏎«MHcCAQEE{b60}»
-----BEGIN OPENSSH PRIVATE KEY-----⏎«b3BlbnNzaC1rZXktdjEA{b60}»⏎-----END OPENSSH PRIVATE KEY-----
-----BEGIN ENCRYPTED PRIVATE KEY-----⏎«MIIFHDBOBgkqhkiG9w0{b60}»⏎-----END ENCRYPTED PRIVATE KEY-----
-----BEGIN PGP PRIVATE KEY BLOCK-----⏎Version: GnuPG v2⏎⏎«lQOYBF{b60}»⏎=abcd⏎-----END PGP PRIVATE KEY BLOCK-----
-----BEGIN PGP MESSAGE-----⏎⏎«hQEMA{b60}»⏎-----END PGP MESSAGE-----
{"private_key": "-----BEGIN PRIVATE KEY-----\\n«MIIEvQ{b60}\\n{b40}»\\n-----END PRIVATE KEY-----\\n"}
PuTTY-User-Key-File-2: ssh-rsa⏎Private-Lines: 2⏎«{b64}⏎{b64}»⏎Private-MAC: {h40}
""",
    "properties": r"""
SET fs.s3a.secret.key = «K{b38}/»
set fs.s3a.secret.key=«K{b38}/»;
SET fs.s3a.access.key = «AKIA{U16}»
fs.azure.account.key.acc.dfs.core.windows.net=«{b86}==»
SET fs.azure.account.key.acc.dfs.core.windows.net = «{b86}==»
spark.hadoop.fs.azure.account.oauth2.client.secret.acc.dfs.core.windows.net «abcdefg»
fs.azure.account.oauth2.client.secret = «abcdefg»
fs.azure.sas.cont.acc.blob.core.windows.net=«sv=2019&sig=abcd»
fs.azure.account.oauth2.client.secret.acc.dfs.core.windows.net: «abc~def»
javax.jdo.option.ConnectionPassword=«hunter2»
javax.jdo.option.ConnectionPassword : «hunter2»
ssl.server.keystore.password=«changeit»
ssl.server.keystore.keypassword=«changeit»
ssl.client.truststore.password = «changeit»
hive.server2.keystore.password=«changeit»
fs.s3a.session.token=«FwoG{40}»
fs.s3a.bucket.logs.secret.key=«K{b38}»
fs.s3.awsSecretAccessKey=«K{b38}»
fs.s3n.awsSecretAccessKey = «K{b38}»
fs.gs.auth.service.account.private.key=«MIIEvQ{b40}»
fs.gs.auth.client.secret=«GOC{20}»
spark.ssl.keyPassword=«changeit»
spark.ssl.keyStorePassword  «changeit»
spark.authenticate.secret=«s3cr3tt»
spark.ui.proxyPassword=«hunter2»
spark.sql.catalog.rest.credential=«id:s3cr3t»
spark.sql.catalog.rest.token=«abcdef1»
hadoop.security.group.mapping.ldap.bind.password=«hunter2»
hadoop.http.authentication.signature.secret=«hunter2»
dfs.web.authentication.kerberos.password = «hunter2»
hive.metastore.client.plain.password=«hunter2»
mapreduce.jdbc.password=«hunter2»
sasl.jaas.config=x required username="u" password="«hunter2»";
sasl.jaas.config = org.X required oauth.client.secret="«hunter2»" ;
spring.datasource.password=«hunter2»
db.passwd=«hunter2»
db.pass=«hunter2»
db_pass: «hunter2»
smtp.passphrase=«correct horse»
bindpw=«hunter2»
bind_pw=«hunter2»
oauth.client.secret=«hunter2»
consumer_secret=«hunter2»
signing.key=«hunter2abc»
encryption_key=«hunter2abc»
encryptionKey: «hunter2abc»
master.key=«hunter2abc»
spark.io.crypto.master.key = «hunter2abc»
hbase.crypto.keyprovider.parameters=jceks:///a?password=«hunter2»
kafka.ssl.key.password=«changeit»
ssl.keystore.key = «MIIEvQ{b40}»
account_key=«{b86}==»
storage-account-key: «{b86}==»
passcode=«4711-x»
pin_code: «471199»
secretkey=«hunter2abc»
SECRET_KEY = '«django-insecure-{40}»'
webhook_secret=«hunter2abc»
snmp.community.secret=«hunter2abc»
pwd=«hunter2»
password = «hunter2»
password=«hunter 2»⏎user=bob
password=«p4ss#w0rd;x»
Password : «hunter2»
PASSWORD:«hunter2»
""",
    "spark and environment": r"""
spark-submit --conf spark.hadoop.fs.s3a.secret.key=«K{b38}» --class X app.jar
spark-submit --conf "spark.hadoop.fs.s3a.secret.key=«K{b38}»" app.jar
spark-submit --conf 'spark.ssl.keyPassword=«change it»' app.jar
spark-submit --conf spark.x.password=«a'b» app.jar
hive --hiveconf javax.jdo.option.ConnectionPassword=«hunter2» -f q.sql
hive --hivevar pw=«hunter2» -f q.sql
hadoop fs -Dfs.s3a.secret.key=«K{b38}» -ls s3a://b/
java -Djavax.net.ssl.keyStorePassword=«changeit» -jar a.jar
export AWS_SECRET_ACCESS_KEY=«{b40}»
AWS_SECRET_ACCESS_KEY=«{b40}» aws s3 ls
AWS_SESSION_TOKEN="«FwoG{b40}»"
export PGPASSWORD='«hunter 2»'
PGPASSWORD=«hunter2» psql -h db
MYSQL_PWD=«hunter2» mysql -u root
SSHPASS=«hunter2» sshpass -e ssh h
set DB_PASSWORD=«hunter2»
ENV API_TOKEN «hunter2abc»
setenv DB_PASSWORD «hunter2»
GITHUB_TOKEN=«abcdef{20}»
AZURE_STORAGE_KEY=«{b86}==»
AZURE_CLIENT_SECRET=«a~b.c_d»
DATABRICKS_TOKEN=«abc{20}»
VAULT_TOKEN=«root-t0k»
HADOOP_CREDSTORE_PASSWORD=«none1»
OPENAI_API_KEY=«abc{20}»
SNOWSQL_PWD=«hunter2» snowsql
$env:DB_PASSWORD = "«hunter2»"
""",
    "documents": r"""
{"password": "«hunter2»"}
{"password":"«hunt\"er2»","x":1}
{"db": {"user": "a", "passwd" : "«hunter2»"}}
{'password': '«hunter2»'}
{\"password\": \"«hunter2»\"}
{"secret":"«hunter2»","id":4}
{"aws_secret_access_key": "«{b40}»"}
{"apiKey": "«abc{20}»"}
{"client_secret":"«abc{20}»"}
{"auths": {"r": {"auth": "«dXNlcjpwYXNz{b16}»"}}}
{"name": "fs.s3a.secret.key", "value": "«K{b38}»"}
{"key": "spark.ssl.keyPassword", "value": "«changeit»"}
["fs.s3a.secret.key", "«K{b38}»"]
{"private_key_id": "1", "accessToken": "«abc{20}»"}
{"token": 1, "pass": "«hunter2»"}
{"password": «471199»}
password: «hunter2»
password: "«hunter 2»"
db:⏎  password: «hunter2»⏎  user: x
  db_password: '«hunter2»'
- secret: «hunter2»
api_key: «abc{20}»
apiToken: «abc{20}» # rotate
password: |⏎  «hunter2long»⏎user: x
password: >-⏎    «hunter2long»
stringData:⏎  password: «hunter2»
<property><name>javax.jdo.option.ConnectionPassword</name><value>«hunter2»</value></property>
<property>⏎  <name>fs.s3a.secret.key</name>⏎  <value>«K{b38}»</value>⏎</property>
<name>ssl.server.keystore.password</name><final>true</final><value>«changeit»</value>
<name>fs.azure.account.key.acc.blob.core.windows.net</name><value>«{b86}==»</value>
<password>«hunter2»</password>
<Password type="x">«hunter2»</Password>
<db user="a" password="«hunter2»"/>
<add key="DbPassword" value="«hunter2»"/>
<entry key="db.password">«hunter2»</entry>
<property name="password" value="«hunter2»"/>
<password><![CDATA[«hunter2»]]></password>
<ns:clientSecret>«hunter2»</ns:clientSecret>
password = "«hunter2»"
password = '''«hunter2»'''
secret_key = '''«hunter2⏎two»'''
variable "x" { password = "«hunter2»" }
master_password        = "«hunter2»"
provider "aws" { secret_key = "«{b40}»" }
db_password => "«hunter2»"
'password' => '«hunter2»',
:password => "«hunter2»"
machine h login bob password «hunter2»
//registry.npmjs.org/:_authToken=«abc{20}»
_password="«aHVudGVyMg==»"
db:5432:x:etl:«hunter2»
root:$6$«saltsalt${86}»:18000:0:99999:7:::
bob:$2y$10$«{53}»
""",
    "calls": r"""
df.read.format("jdbc").option("password", "«hunter2»").load()
.option('password', '«hunter2»')
.option("user", "u").option( "password" , "«hunter2»" )
.options(user="u", password="«hunter2»")
.options(Map("user" -> "u", "password" -> "«hunter2»"))
conf.set("fs.s3a.secret.key", "«K{b38}»")
spark.conf.set("fs.azure.account.key.acc.dfs.core.windows.net", "«{b86}==»")
spark.conf.set("fs.azure.account.oauth2.client.secret.acc.dfs.core.windows.net", "«abc~d»")
sc._jsc.hadoopConfiguration().set("fs.s3a.secret.key", "«K{b38}»")
SparkSession.builder.config("spark.ssl.keyPassword", "«changeit»")
props.setProperty("password", "«hunter2»");
props.put("password", "«hunter2»");
System.setProperty("javax.net.ssl.keyStorePassword", "«changeit»")
ds.setPassword("«hunter2»");
builder.withPassword("«hunter2»")
DriverManager.getConnection("jdbc:oracle:thin:@db", "scott", "«tiger9»")
psycopg2.connect(host="db", password="«hunter2»")
connect(user='a', passwd = '«hunter2»')
pymysql.connect("db", "u", password=u'«hunter2»')
new BasicAWSCredentials("AKIA{U16}", "«{b40}»")
boto3.client("s3", aws_access_key_id="AKIA{U16}", aws_secret_access_key="«{b40}»")
os.environ["DB_PASSWORD"] = "«hunter2»"
os.environ['AWS_SECRET_ACCESS_KEY']='«{b40}»'
config["password"]="«hunter2»"
String password = "«hunter2»";
val password: String = "«hunter2»"
password: str = "«hunter2»"
password := "«hunter2»"
auth=HTTPBasicAuth("bob", "«hunter2»")
requests.get(u, auth=("bob", "«hunter2»"))
jdbcTable(url, password = f"«hunter2»")
dbutils.x(token=r'«hunter2abc»')
UsernamePasswordCredentials("bob", "«hunter2»")
""",
    "sql": r"""
CREATE USER bob IDENTIFIED BY '«hunter2»'
CREATE USER bob IDENTIFIED BY «hunter2»
CREATE USER bob IDENTIFIED BY "«hunter2»" DEFAULT TABLESPACE t
create user 'bob'@'%' identified with mysql_native_password by '«hunter2»'
CREATE USER bob IDENTIFIED WITH caching_sha2_password AS '«$A$005${20}»'
ALTER USER bob IDENTIFIED BY VALUES '«S:{h32};T:{h32}»'
ALTER USER bob IDENTIFIED BY '«n3w»' REPLACE '«0ldpw»'
ALTER USER bob IDENTIFIED BY «n3wpw» REPLACE «0ldpw»
CREATE USER bob IDENTIFIED BY PASSWORD '«*{h40}»'
GRANT ALL ON *.* TO 'bob'@'%' IDENTIFIED BY '«hunter2»'
CREATE USER bob IDENTIFIED /* x */ BY /* y */ '«hunter2»'
CREATE USER bob IDENTIFIED -- x⏎BY⏎'«hunter2»'
CREATE ROLE bob LOGIN PASSWORD '«hunter2»'
CREATE ROLE bob WITH ENCRYPTED PASSWORD '«hunter2»' VALID UNTIL 'infinity'
ALTER ROLE bob PASSWORD '«it''s2»'
ALTER ROLE bob PASSWORD /* new */ '«hunter2»'
ALTER ROLE bob PASSWORD --new⏎ '«hunter2»'
ALTER ROLE bob PASSWORD $$«hunter2»$$
ALTER ROLE bob PASSWORD $q$«hun$ter2»$q$
ALTER ROLE bob PASSWORD E'«hun\'ter2»'
ALTER USER bob WITH PASSWORD = '«hunter2»'
ALTER LOGIN bob WITH PASSWORD = N'«hunter2»' OLD_PASSWORD = N'«0ldpw»'
CREATE LOGIN bob WITH PASSWORD = 0x«0100{h32}» HASHED
CREATE USER bob PASSWORD = '«hunter2»' DEFAULT_ROLE = r
CREATE USER bob PASSWORD "«hunter2»"
SET PASSWORD FOR 'bob'@'%' = PASSWORD('«hunter2»')
SET PASSWORD FOR bob = '«hunter2»'
SET PASSWORD FOR 'bob'@'localhost' TO '«hunter2»'
SET PASSWORD = '«hunter2»'
SET PASSWORD = OLD_PASSWORD('«hunter2»')
SELECT PASSWORD('«hunter2»')
CHANGE MASTER TO MASTER_USER='r', MASTER_PASSWORD='«hunter2»'
CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = '«hunter2»'
SELECT aes_encrypt(ssn, '«hunter2key16byte»') FROM t
SELECT aes_decrypt(unbase64(x), '«0000111122223333»', 'GCM') FROM t
SELECT AES_ENCRYPT('x', "«hunter2key16byte»")
SELECT hmac(x, '«hunter2key»', 'sha256') FROM t
SELECT pgp_sym_encrypt(x, '«hunter2key»') FROM t
SELECT pgp_sym_decrypt(x::bytea, '«hunter2key»', 'cipher-algo=aes256')
SELECT pgp_pub_decrypt(x, dearmor('k'), '«hunter2key»')
SELECT encrypt(x, '«hunter2key»', 'aes')
SELECT des_encrypt(x, '«hunter2key»')
SELECT crypt('«hunter2»', gen_salt('bf'))
SELECT ENCRYPTBYPASSPHRASE('«hunter2»', x)
SELECT DECRYPTBYPASSPHRASE('«hunter2»', x)
SELECT try_aes_decrypt(x, unhex('«{h32}»'))
SELECT aes_encrypt(concat(a, ',', b), '«hunter2key16byte»')
SELECT mask_hash(x), hmac_sha256('«hunter2key»', x)
OPEN SYMMETRIC KEY k DECRYPTION BY PASSWORD = '«hunter2»'
CREATE MASTER KEY ENCRYPTION BY PASSWORD = '«hunter2»'
BACKUP CERTIFICATE c TO FILE = 'f' WITH PRIVATE KEY (ENCRYPTION BY PASSWORD = '«hunter2»')
CREATE DATABASE SCOPED CREDENTIAL c WITH IDENTITY = 'u', SECRET = '«hunter2»'
CREATE CREDENTIAL c WITH IDENTITY='SHARED ACCESS SIGNATURE', SECRET='«sv=2018&sig=x»'
CREATE SECRET s (TYPE s3, KEY_ID 'AKIA{U16}', SECRET '«{b40}»', REGION 'x')
CREATE SECRET s TYPE = GENERIC_STRING SECRET_STRING = '«hunter2»'
CREATE CONNECTION c TYPE postgresql OPTIONS (host 'h', user 'u', password '«hunter2»')
CREATE SERVER s FOREIGN DATA WRAPPER p OPTIONS (host 'h', password '«hunter2»')
CREATE USER MAPPING FOR u SERVER s OPTIONS (user 'u', password '«hunter2»')
CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:x', 'password' '«hunter2»')
CREATE TABLE t USING jdbc OPTIONS (url "jdbc:x", password "«hunter2»")
CREATE TABLE t TBLPROPERTIES ('hive.sql.dbcp.password' = '«hunter2»')
CREATE TABLE t TBLPROPERTIES ("hive.sql.dbcp.password"="«hunter2»", "x"="y")
ALTER TABLE t SET SERDEPROPERTIES ('aws.secret.key'='«K{b38}»')
CREATE TABLE t (x INT) WITH ('connector'='jdbc', 'password'='«hunter2»')
COPY t FROM 's3://b/k' CREDENTIALS 'aws_access_key_id=AKIA{U16};aws_secret_access_key=«{b40}»'
COPY t FROM 's3://b/k' ACCESS_KEY_ID 'AKIA{U16}' SECRET_ACCESS_KEY '«{b40}»'
COPY INTO t FROM 's3://b/k' CREDENTIALS = (AWS_KEY_ID='AKIA{U16}' AWS_SECRET_KEY='«{b40}»')
COPY INTO t FROM 'abfss://x' WITH (CREDENTIAL (AZURE_SAS_TOKEN = '«?sv=1&sig=x»'))
COPY INTO t FROM 's3://b' WITH (CREDENTIAL (AWS_ACCESS_KEY='AKIA{U16}', AWS_SECRET_KEY='«{b40}»',↩
 AWS_SESSION_TOKEN='«{40}»'))
CREATE STAGE s URL='s3://b' CREDENTIALS=(AWS_KEY_ID='AKIA{U16}', AWS_SECRET_KEY='«{b40}»')↩
 ENCRYPTION=(MASTER_KEY='«{b43}=»')
COPY t FROM 'x' MASTER_SYMMETRIC_KEY '«{b43}=»'
UNLOAD ('select 1') TO 's3://b' WITH CREDENTIALS 'aws_access_key_id=A;aws_secret_access_key=«{b40}»;token=«{b40}»'
CREATE EXTERNAL DATA SOURCE d WITH (LOCATION='x', SHARED_SECRET = '«hunter2»')
CREATE DATABASE LINK l CONNECT TO scott IDENTIFIED BY "«tiger9»" USING 'x'
CONNECT scott/«tiger9»@ORCL
CREATE SUBSCRIPTION s CONNECTION 'host=h user=u password=«hunter2»' PUBLICATION p
SELECT * FROM dblink('dbname=x password=«hunter2»', 'select 1')
SELECT * FROM mysql('db:3306', 'd', 't', 'user', '«hunter2»')
SELECT * FROM s3('https://b/k', 'AKIA{U16}', '«{b40}»', 'CSV')
SELECT * FROM OPENROWSET('SQLNCLI', 'Server=s;Uid=u;Pwd=«hunter2»', 'select 1')
PRAGMA key = '«hunter2»'
PRAGMA rekey='«hunter2»'
ATTACH 'x.db' AS e (ENCRYPTION_KEY '«hunter2key»')
SELECT * FROM t WHERE password = '«hunter2»'
SELECT * FROM t WHERE u.password='«hunter2»' AND x = 1
UPDATE users SET password = '«hunter2»' WHERE id = 1
UPDATE users SET passwd='«hunter2»', x=1
SET hivevar:db_password=«hunter2»
SET hive.metastore.password = «hunter2»
SET VAR:token=«abc{20}»
DECLARE @password NVARCHAR(20) = '«hunter2»'
DEFINE pw = «hunter2»
EXEC sp_addlogin @loginame = 'bob', @passwd = '«hunter2»'
ADD JAR x; SET spark.password = «hunter2»; SELECT 1
CREATE USER IF NOT EXISTS bob HOST ANY IDENTIFIED WITH sha256_password BY '«hunter2»'
ALTER USER bob SET PASSWORD '«hunter2»'
ALTER USER bob RENAME TO c PASSWORD '«hunter2»'
CREATE FUNCTION f() RETURNS STRING RETURN secret_fn('x', password => '«hunter2»')
SELECT remote_query('c', user => 'u', password => '«hunter2»')
""",
    "command lines": r"""
mysql -u root -p«hunter2» sales
mysql -uroot -p'«hunter 2»' sales
mysqldump --password=«hunter2» sales
mysqladmin -u root -p«hunter2» status
beeline -u jdbc:hive2://h:10000 -n hive -p «hunter2»
beeline -u 'jdbc:hive2://h:10000' -n hive -p '«hunter2»' -e 'select 1'
sqoop import --connect jdbc:mysql://h/d --username u --password «hunter2» --table t
sqoop import --username u --password '«hunter 2»' --table t
sqoop import --username u --password "«hunter2»"
sshpass -p «hunter2» ssh bob@h
sshpass -p'«hunter2»' scp a b
curl -u bob:«hunter2» https://x
curl -ubob:«hunter2» https://x
curl --user bob:«hunter2» https://x
curl --user 'bob:«hunter 2»' https://x
curl -s -u "bob:«hunter2»" -X POST https://x
curl --proxy-user bob:«hunter2» https://x
curl -b 'session=«{30}»' https://x
wget --user=bob --password=«hunter2» https://x
wget --http-password «hunter2» https://x
openssl enc -aes-256-cbc -pass pass:«hunter2» -in a
openssl rsa -passin pass:«hunter2» -passout pass:«other3» -in a
echo «hunter2» | kinit bob@REALM
echo '«hunter 2»' | kinit bob
echo "«hunter2»" | sudo -S ls
printf '«hunter2»' | kinit bob@REALM
printf '%s\n' «hunter2» | docker login --password-stdin
kinit bob <<< «hunter2»
kinit bob <<< '«hunter2»'
keytool -storepass «changeit» -keypass «changeit2» -list
keytool -importkeystore -srcstorepass «changeit» -deststorepass «changeit»
docker login -u bob -p «hunter2» registry
docker login --username bob --password «hunter2»
az login --service-principal -u x -p «hunter2» --tenant t
az storage blob list --account-key «{b86}==» --sas-token «sv=1&sig=abc»
ldapsearch -x -D cn=admin -w «hunter2» -b dc=x
ldapsearch -D cn=admin -w«hunter2»
redis-cli -h r -a «hunter2» ping
mongo -u root -p «hunter2» --authenticationDatabase admin
mongodump --username=root --password «hunter2»
sqlcmd -S h -U sa -P «Str0ng!» -Q 'select 1'
bcp t out f -U sa -P«Str0ng»
isql -U sa -P «Str0ng»
psql "host=h password=«hunter2»"
snowsql -a acct -u me --private-key-passphrase «hunter2»
gpg --batch --passphrase «hunter2» -d a
gpg --passphrase=«hunter2» -d a
zip -P «hunter2» a.zip b
unzip -P «hunter2» a.zip
7z x -p«hunter2» a.7z
htpasswd -b f bob «hunter2»
smbclient //nas/s -U bob%«hunter2»
net use x: \\nas\s /user:bob «hunter2»
impala-shell -l -u bob --ldap_password_cmd='echo -n «hunter2»'
hadoop credential create db.password -value «hunter2» -provider jceks://x
vault login «hvs.{24}»
vault kv put secret/db password=«hunter2»
helm install x --set db.password=«hunter2»
kubectl create secret generic s --from-literal=password=«hunter2»
aws configure set aws_secret_access_key «{b40}»
databricks configure --token «abc{20}»
app --api-key «abc{20}» --verbose
app --token=«abc{20}»
app --secret "«abc{20}»"
app -password «hunter2»
app --db-password «hunter2» run
app --auth-token «abc{20}»
app /password:«hunter2»
rsync --password-file=f rsync://bob:«hunter2»@h/m
trino --user bob --password=«hunter2»
sqlplus -s scott/«tiger9»@ORCL @q.sql
exp userid=scott/«tiger9» file=x
expect -c 'send "«hunter2»\r"' is for expect -c 'expect "Password:"; send "«hunter2»\r"'
""",
    "a second look": r"""
jdbc:clickhouse://ch:8123/default?user=etl&password=«Blu3Moon!»
jdbc:vertica://v:5433/db?user=u&Password=«Blu3Moon»
mysql+pymysql://root:«Bl/ue?Moon»@db:3306/x
presto://u:«moonblue»@c:8080/hive
nats://u:«moonblue»@n:4222
Data Source=ora;User Id=s;Password=«moonblue»;Pooling=false
mongodb://u:«mo%40on»@h1,h2/?authSource=admin
https://api/x?sig=«moonblueSIG»&v=1
https://acc.file.core.windows.net/s?sv=1&spr=https&sig=«Qa%2Bb%2Fc%3D»
X-API-KEY: «moonblue99»
Authorization: ApiKey «bW9vbmJsdWU6cGFzcw==»
"X-Auth-Token": "«moonblue99»"
Authorization=Bearer «moonblue99moonblue»
curl -H "Authorization: token «moonblue99»" https://x
curl --oauth2-bearer «moonblue99» https://x
curl -u 'moon:«bl ue»' https://x
curl https://x --header 'PRIVATE-TOKEN: «moonblue99»'
wget --header="X-Token: «moonblue99»" u
spark.sql.catalog.c.jdbc.password «moonblue»
spark.redis.auth=«moonblue99moonblue»
spark.cassandra.auth.password=«moonblue»
es.net.http.auth.pass=«moonblue»
spark.mongodb.input.uri=mongodb://u:«moonblue»@h/d
fs.cosn.userinfo.secretKey=«moonblue»
fs.oss.accessKeySecret=«moonblue»
fs.obs.secret.key = «moonblue»
fs.swift.service.x.apikey=«moonblue»
dfs.adls.oauth2.credential=«moonblue»
dfs.adls.oauth2.refresh.token = «moonblue»
hive.server2.thrift.client.password=«moonblue»
ranger.truststore.password=«moonblue»
atlas.ssl.keystorepwd=«moonblue»
ALTER USER bob PASSWORD 'mo''«on»'
CREATE USER bob WITH PASSWORD '«moonblue»' NOCREATEDB
CREATE USER bob IDENTIFIED WITH bcrypt_password BY '«moonblue»'
ALTER USER bob WITH LOGIN ENCRYPTED PASSWORD "«moonblue»"
CREATE USER bob /* the etl */ PASSWORD/* it */'«moonblue»'
CREATE USER u IDENTIFIED BY/**/«moonblue»
GRANT USAGE ON *.* TO bob IDENTIFIED BY PASSWORD '«moonblue»'
SELECT aes_encrypt(c, unhex("«6D6F6F6E626C7565»"), 'ECB', 'PKCS') FROM t
SELECT to_base64(aes_encrypt(col, sha2('«moonblue»', 512)))
SELECT encode(hmac(col, '«moonblue»', 'sha1'), 'hex')
SELECT pgp_sym_encrypt_bytea(a, '«moonblue»')
CREATE CATALOG c WITH ('type'='jdbc','default-database'='d','username'='u','password'='«moonblue»')
CREATE CONNECTION c TYPE sqlserver OPTIONS (host 'h', port '1', user 'u', password secret('s','k'),↩
 trustKey '«moonblue»', password '«moonblue»')
ALTER SERVER s OPTIONS (SET password '«moonblue»')
CREATE EXTERNAL TABLE t () WITH (CONNECTION = 'jdbc:x;user=u;password=«moonblue»')
EXEC sp_addlinkedsrvlogin 'S', 'false', NULL, 'u', @rmtpassword='«moonblue»'
df.write.option("pwd","«moonblue»")
.option("sfPassword", "«moonblue»")
.option("es.net.http.auth.pass", "«moonblue»")
spark.conf.set('fs.s3a.session.token','«moonblue»')
hadoopConf.set("fs.oss.accessKeySecret", "«moonblue»")
new Properties() {{ put("password", "«moonblue»"); }}
connection = cx_Oracle.connect("scott", "«moonblue»", "h/orcl")
properties={"user": "u", "password": "«moonblue»", "driver": "d"}
  secretAccessKey: «moonblue/K+»
env: [{name: DB_PASSWORD, value: «moonblue»}]
- name: DB_PASSWORD⏎  value: «moonblue»
<connection user="u" pwd="«moonblue»"/>
<void property="password"><string>«moonblue»</string></void>
sqoop export --connect 'jdbc:x' --username u -password «moonblue»
beeline -n hive -p«moonblue»
beeline --password=«moonblue»
mysql -h db -u etl --password='«mo onblue»'
PGPASSWORD="«moon»" pg_dump -U u
openssl pkcs12 -export -password pass:«moonblue»
kinit --password-file=STDIN bob < <(echo «moonblue»)
echo -n "«moonblue»" | kinit -c x bob
lftp -u bob,«moonblue» sftp://h
""",
    "a third look": r"""
jdbc:sap://h:30015/?user=u&password=«Silver#7»
jdbc:sybase:Tds:h:5000/d?USER=u&PASSWORD=«silver7»
hive2://u:«silver7»@h:10000
smtp://u:«si:lver»@mail:25
https://«dapi{h32}»@adb.azuredatabricks.net
wasb://c@a.blob.core.windows.net/x?se=1&sig=«aB%2Fc»
AccountName=a;SharedAccessSignature=«sv=1&sig=zz%3D»
Driver=x;Host=h;UID=token;PWD=«silver7silver»;
amqps://k:«si/lv+er=»@ns.servicebus.windows.net
Authorization: SharedKey acc:«{43}=»
x-ms-authorization-auxiliary: Bearer «{30}»
Cookie: a=b; sid=«{20}»
X-Goog-Api-Key: «silver7silver»
"Private-Token" : "«silver7»"
db.password : «silver7»
javax.jdo.option.ConnectionPassword  «silver7»
hive.druid.metadata.password='«silver7»'
fs.azure.account.key.x.blob.core.windows.net   «{86}==»
fs.s3a.assumed.role.session.token="«silver7»"
fs.s3a.encryption.key=«c2lsdmVy»
fs.s3a.server-side-encryption.key = «c2lsdmVy»
fs.azure.account.oauth2.client.secret.a.dfs.core.windows.net="«s~l»ver"
kafka.sasl.jaas.config=org.x.PlainLoginModule required username="u" password="«silver7»";
hbase.rest.ssl.keystore.keypassword=«silver7»
spark.kafka.clusters.x.ssl.truststore.password=«silver7»
spark.kubernetes.authenticate.oauthToken=«silver7»
spark.hadoop.fs.s3a.bucket.b.secret.key «silver7»
livy.keystore.password = «silver7»
zeppelin.ssl.key.manager.password=«silver7»
export HADOOP_OPTS="-Djavax.net.ssl.trustStorePassword=«silver7»"
JAVA_OPTS=-Ddb.pass=«silver7» run
REDIS_PASS=«silver7»
export AZURE_SAS_TOKEN='«sv=1&sig=abc»'
export SLACK_BOT_TOKEN=xoxb-«{d12}-{24}»
aws_secret_access_key = «{40}»
[default]⏎aws_access_key_id = AKIA{U16}⏎aws_secret_access_key = «{40}»
CREATE USER u PASSWORD = $$«silver7»$$
ALTER USER u SET PASSWORD = '«silver7»'
ALTER USER u IDENTIFIED BY "«silver 7»" ACCOUNT UNLOCK
create role r with login password -- set⏎'«silver7»'
SET PASSWORD FOR u@h = PASSWORD ( '«silver7»' )
ALTER USER CURRENT_USER() IDENTIFIED BY '«silver7»'
CREATE USER MAPPING FOR PUBLIC SERVER s OPTIONS ("user" 'u', "password" '«silver7»')
SELECT aes_decrypt(col, '«silver7»') AS token FROM t
SELECT hex(AES_ENCRYPT(name, UNHEX(SHA2('«silver7»',512)))) FROM t
INSERT INTO x SELECT hmac_sha512(c, '«silver7»') FROM t
CREATE EXTERNAL TABLE t (x INT) STORED BY 'org.x.H' TBLPROPERTIES ('es.net.http.auth.pass' = '«silver7»')
ALTER STORAGE CREDENTIAL c SET (AZURE_CLIENT_SECRET = '«silver7»')
CREATE SECRET IF NOT EXISTS s WITH (secret = '«silver7»')
SELECT * FROM read_files('s3://b', secretKey => '«silver7»')
spark.read.jdbc(url, "t", {"user":"u","password":"«silver7»"})
spark.read().option("dbtable","t").option("accessKey", "«silver7»")
conf.set(   "fs.azure.account.key.a.blob.core.windows.net" ,  "«silver7»" )
val props = new Properties; props.setProperty("pass", "«silver7»")
client = Client(api_key="«silver7»")
token: "«silver7»" # y
<Connector keystorePass="«silver7»" port="1"/>
<jdbc-password>«silver7»</jdbc-password>
mysqlimport -u root -p"«silver7»" d f
curl --user=bob:«silver7» https://x
echo "«silver7»" | sudo -S -u hive ls
ssh-keygen -t rsa -N «silver7»
beeline -u "jdbc:hive2://h/;user=u;password=«silver7»"
sqoop import -P --connect "jdbc:oracle:thin:u/«silver7»@h:1521/x"
psql postgresql://u:«silver7»@h/d
az storage copy --sas-token "«?sv=1&sig=a»"
""",
    "beside other statements, over lines, in lists, with the value first": r"""
hive -e 'SET javax.jdo.option.ConnectionPassword=«Winter2020»; SELECT 1'
spark.sql("SET fs.s3a.secret.key=«{40}»"); df = spark.sql("SELECT * FROM t")
spark.sql("SET my.password = «Winter2020»")
/* prod */ set hive.password=«Winter2020»; select 1
insert into t set hive.server2.keystore.password=«{h24}»
insert into t SET `fs.s3a.secret.key` = «{h24}»
curl -H 'X-Key: «navlin_{43}»'
sqoop import --connect jdbc:teradata://h/DATABASE=d,USER=u,PASSWORD=«Winter2020» --query "select 1"
Failed to run [insert into a select 1]: Properties{user=u, password=«Winter2020»}
connect to teradata (user=u, password=«Winter2020»); select 1
beeline \⏎  -u jdbc:hive2://h \⏎  -n u \⏎  -p «Winter2020» \⏎  -e "x"
mysql \⏎ -u root \⏎ -p«Winter2020» db
curl -X PUT \⏎  -u admin:«Winter2020» \⏎ http://ambari:8080
curl -sku svc:«Winter2020» https://h
sqoop import --password \⏎ «Winter2020» --table t
javax.jdo.option.ConnectionPassword=\⏎ «Winter2020»
["sqoop", "import", "--password", "«Winter2020»"]
{"args": ["--password", "«Winter2020»"]}
['mysql', '-u', 'root', '-p«Winter2020»']
['beeline', '-n', 'u', '-p', '«Winter2020»']
['curl', '-u', 'admin:«Winter2020»', 'https://h']
<arg>--password</arg>⏎<arg>«Winter2020»</arg>
<argument>--password</argument><argument>«Winter2020»</argument>
<property><value>«Winter2020»</value><name>hive.server2.keystore.password</name></property>
<property value='«Winter2020»' name='connection.password' />
<name>hive.password</name> <!-- of the store --> <value>«Winter2020»</value>
<entry><key>password</key><value>«Winter2020»</value></entry>
{"Name": "DB_PASSWORD", "Type": "x", "Value": "«Winter2020»"}
{"value":"«Winter2020»","name":"hive.password"}
{"key":"fs.s3a.secret.key","isFinal":false,"value":"«Winter2020»"}
jaydebeapi.connect("org.h.D", "jdbc:hive2://h", ["scott", "«Winter2020»"], jar)
DriverManager.getConnection("jdbc:hive2://zk1:2181,zk2:2181/;a=b", "scott", "«Winter2020»")
.LOGON tdprod/dbc,«Winter2020»;
CONNECT TO db2p USER u USING «Winter2020»
SELECT java_method('java.lang.System', 'setProperty', 'db.password', '«Winter2020»')
spark.redis.auth=«Winter2020»
basic.auth.user.info=«u:Winter2020»
kennwort=«Winter2020»
password=«date!2020»
password=«any.thing99»
""",
    "values of several parts, or in place of another": r"""
CREATE TABLE t USING jdbc OPTIONS (password '«Amber7»' || '«Birch8»')
SET PASSWORD = concat('«Amber7»', '«Birch8»')
SELECT 'url=x;password=' || '«amber77»' FROM dual
SELECT concat('jdbc:x;password=', '«amber77»')
password = "«Amber7»" + "«Birch8»"
password = ("«Amber7»"⏎            "«Birch8»")
password = '«Amber7»' if prod else '«Birch8»'
password = os.getenv('PW') or '«amber77»'
const token = process.env.TOKEN || '«amber77»';
val pw = sys.env.get("PW").getOrElse("«amber77»")
url = "jdbc:mysql://h?user=" + user + "&password=" + "«amber77»"
password = new String("«amber77»");
props.setProperty("password", new String("«amber77»"));
token = java.util.Optional.of("«amber77»");
"password" -> Some("«amber77»")
password = String.valueOf("«amber77»")
secret = base64.b64decode(b'«YW1iZXI3Nw==»')
ds.setPassword("«amber77»".toCharArray());
PASSWORD=$(echo «YW1iZXI3Nw==» | base64 -d)
PGPASSWORD=`echo «YW1iZXI3Nw==» | base64 -d` psql
password <- "«amber77»"
define('DB_PASSWORD', '«amber77»');
the password is: «amber77»
He set the password "«amber77»".
Mot de passe : «amber77»
""",
    "lists, phrases, manifests and what is within another text": r"""
{"passwords": ["«amber77»", "«birch88»"]}
passwords: [«amber77», «birch88»]
passwords:⏎  - «amber77»⏎  - "«birch88»"⏎host: h
val passwords = Seq("«amber»", "«birch»")
api_keys: ["«amber77»", "«birch88»"]
{"Authorization": ["Basic «YW1iZXI3Nw==»"]}
headers['Authorization'] = f'Token «amber77amber»'
password: «correct horse battery staple»
db:⏎  passphrase: «blue tin elephant nine»⏎  host: h
password: &main «amber77»
password: !!str «7712345»
password : !vault '«hunter2»'
password: !encrypted «hunter2Zx9»
apiVersion: v1⏎kind: Secret⏎metadata:⏎  name: x⏎stringData:⏎  config: «amber77»⏎  b: |⏎    «birch88»
{"secret": {"name": "x", "value": "«amber77»"}}
&lt;password&gt;«amber77»&lt;/password&gt;
<body>&lt;name&gt;db.password&lt;/name&gt;&lt;value&gt;«amber77»&lt;/value&gt;</body>
&lt;clientSecret type=&quot;x&quot;&gt;«amber77»&lt;/clientSecret&gt;
variable "db_password" {⏎  type = string⏎  default = "«amber77»"⏎}
https://h/api?next=1%26password%3D«amber77»%26y%3D1
url=jdbc%253Amysql%253A%252F%252Fh%253Fpassword%253D«amber77»%2526x
mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BUID%3Du%3BPWD%3D«amber77»
body=%7B%22user%22%3A%22u%22%2C%22password%22%3A%22«amber77»%22%7D
git clone https://«7f8e9d0c1b2a3948»@git.example.org/x/y.git
https://«ab3de{8}4xy5{8}»@host.example.org/api
jdbc:oracle:thin:u/"«am@ber77»"@//h:1521/svc
Driver={x};Server=h;Uid=u;Pwd={«am}}ber77»};
""",
    "inserted, logged in with, and keys of calls": r"""
INSERT INTO users (name, password) VALUES ('bob', '«amber77»')
INSERT INTO TABLE a.users (`id`, `user_password`) VALUES (1, '«amber77»'), (2, '«birch88»')
insert into users(id, api_key, n) values (7, concat('«amber7»', '«birch88»'), 3)
MERGE INTO u USING s ON u.id = s.id WHEN NOT MATCHED THEN INSERT (id, pwd) VALUES (s.id, '«amber77»')
!connect jdbc:hive2://h:10000/default etl «am@ber77» org.apache.hive.jdbc.HiveDriver
!connect jdbc:impala://h:21050 "" "«amber 77»"
SELECT 1 -- pw = «amber77»⏎FROM t
/* pwd = «amber77» */ SELECT a FROM b
binddn cn=x⏎bindpw «amber»⏎
rootpw «amber77»
htpasswd -b -c f admin «amber77»
kubectl -n p create secret generic s --from-literal=url='«amber 77»' --dry-run
new SecretKeySpec("«amber77»".getBytes(), "AES")
Fernet(b'«{b43}=»')
hmac.new(b'«amber77»', message, sha256)
jwt.encode({'a': 1}, '«amber77»', algorithm='HS256')
fernet_key = «{b43}=»
AIRFLOW__CORE__FERNET_KEY=«{b43}=»
secret_key_base: «{h64}»
""",
    "comparisons with a column": r"""
SELECT * FROM t WHERE lower(password) = '«hunter2»'
SELECT * FROM t WHERE lower(trim(u.password)) <> '«hunter2»'
SELECT * FROM t WHERE upper(u.`password`) = upper('«hunter2»')
SELECT * FROM t WHERE password <=> '«hunter2»'
SELECT * FROM t WHERE '«hunter2»' = password
SELECT * FROM t WHERE '«hunter2»' = lower(u.user_password) AND k = 'a'
SELECT * FROM t WHERE lower('«hunter2»') = u.`password`
SELECT * FROM t WHERE f('a') = 'b' AND '«hunter2»' <> u.password
SELECT * FROM t WHERE password IN ('«hunter2»')
SELECT * FROM t WHERE password in('«hunter2»',⏎  '«0ldpw»', N'«n3w»') AND k IN ('a', 'b')
SELECT * FROM t WHERE `api_token` NOT IN /* known */ ('«hunter2»', -- x⏎ '«0ldpw»')
SELECT * FROM t WHERE lower(password) IN ('«hunter2»', lower('«0LDPW»'))
SELECT * FROM t WHERE password LIKE '«hunter2%»'
SELECT * FROM t WHERE password NOT RLIKE '«^hunter2»' AND name LIKE 'a%'
SELECT * FROM t WHERE password BETWEEN '«hunter2»' AND '«hunter3»' AND name = 'a'
SELECT CASE u.password WHEN '«hunter2»' THEN 'ours' WHEN '«0ldpw»' THEN 1 ELSE 'b' END FROM u
SELECT coalesce(u.password, '«hunter2»'), nvl(secret, '«0ldpw»'), ifnull(api_key, '«k3y»') FROM u
SELECT coalesce(u.name, u.password, '«hunter2»'), coalesce(lower(password), '«hunter2»'), nvl(/* x */ password, '«hunter2»')
SELECT CASE lower(password) WHEN '«hunter2»' THEN "y" WHEN '«0ldpw»' THEN CASE a WHEN 'b' THEN 1 END WHEN '«n3w»' THEN 2 END
SELECT * FROM t WHERE password > '«hunter2»' AND password <= '«hunter3»' OR password <> '«hunter2»'
SELECT * FROM t WHERE password::text = '«hunter2»' OR cast(password AS string) = '«hunter2»' OR password = BINARY '«hunter2»'
SELECT * FROM t WHERE u.token IN ('«abcd1234»') OR `token` LIKE '«abcd%»' OR lower(u.token) LIKE '«abcd%»'
SELECT * FROM t WHERE password IS NOT DISTINCT FROM '«hunter2»' AND '«hunter2»' IS DISTINCT FROM u.password
SELECT * FROM t WHERE (u.name, u.password) IN (('etl', '«hunter2»'), ('ana', '«hunter3»'))
UPDATE u SET (name, passwd) = ('etl', '«hunter2»') WHERE id = 1
SELECT * FROM t WHERE password IN ('«a1»', null, 12, '«h1»'||'«h2»', cast('«h3»' AS string), lower(trim('«h4»')))
SELECT * FROM t WHERE password IN (⏎                                '«hunter2»',⏎                              '«0ldpw»')
SELECT * FROM t WHERE '«hunter2»' /* 2*3/4 */ = password OR '«hunter2»' = (password) OR lower('«hunter2»') = lower(password)
{"sql":"SELECT a FROM t WHERE password IN (\"«hunter2»\")"}
spark.sql("SELECT a FROM t WHERE password LIKE '«hunter2%»' AND '«hunter2»' = lower(password)")
sql('SELECT a FROM t WHERE \'«hunter2»\' = password')
-- WHERE password IN ('«hunter2»')⏎SELECT 1 /* OR '«hunter2»' = password */
SELECT * FROM t WHERE apı_password ın ('a') OR password IN ('«hunter2»')
""",
    "hashed, selected into a column, and within entities": r"""
SELECT md5('«hunter2»')
SELECT MD5 ( '«hunter2»' ) AS h FROM t
SELECT sha1(concat('«hunter2»', salt)) FROM t
SELECT upper(to_hex(sha256(to_utf8('«hunter2»'))))
SELECT sha2('«hunter2»', 256) = u.hash FROM u
SELECT sha('«hunter2»'), sha224('«moonblue»'), sha384('«silver7»'), sha512("«amber77»")
SELECT HASHBYTES('SHA2_256', N'«hunter2»')
SELECT standard_hash('«hunter2»', 'SHA256') FROM dual
SELECT encode(digest('«hunter2»', 'sha256'), 'hex')
SELECT sha512_256('«hunter2»'), md5_hex('«moonblue»'), sha1_binary('«silver7»'), sha2_hex('«amber77»', 512)
SELECT xxhash64(md5('«hunter2»'))
hashlib.md5(b'«hunter2»').hexdigest()
hashlib.sha256("«hunter2»".encode()).hexdigest()
hashlib.pbkdf2_hmac('sha256', b'«hunter2»', salt, 100000)
bcrypt.hashpw(b'«hunter2»', bcrypt.gensalt())
F.sha2(F.lit('«hunter2»'), 256)
DigestUtils.sha256Hex("«hunter2»")
SELECT dbms_crypto.hash(utl_raw.cast_to_raw('«hunter2»'), 2) FROM dual
SELECT blake3('«hunter2»'), sha3('«moonblue»', 256), ripemd160('«silver7»')
INSERT INTO u (password) SELECT '«hunter2»'
INSERT INTO TABLE db.u (id, `password`) SELECT 1, '«hunter2»' FROM dual
INSERT INTO u (id, name, api_key) SELECT DISTINCT 1, concat('a', 'b'), '«hunter2»' FROM t WHERE x = 'y'
INSERT INTO u (id, secret, name) (SELECT 1, '«hunter2»', 'bob')
INSERT INTO u (id, password) SELECT 1, 'x' || '«hunter2»' UNION ALL SELECT 2, '«moonblue»'
INSERT INTO u (password, id) SELECT CAST('«hunter2»' AS STRING), 1
INSERT INTO u (password, id) SELECT ALL trim('«hunter2»') p, 1 UNION SELECT '«moonblue»', 2
INSERT OVERWRITE TABLE u PARTITION (ds='2026-01-01') (id, passwd) SELECT 1, '«hunter2»'
INSERT INTO u (id, password) WITH x AS (SELECT 1 AS a) SELECT a, '«hunter2»' FROM x
INSERT INTO u (id, password) TABLE (VALUES (1, '«hunter2»'))
REPLACE INTO u (id, password) VALUES (1, '«hunter2»')
UPSERT INTO u (id, password) VALUES (1, '«hunter2»')
MERGE INTO u USING s ON u.id = s.id WHEN NOT MATCHED THEN INSERT (id, password) VALUES (s.id, '«hunter2»')
WITH x AS (SELECT 1) INSERT INTO u (id, password) SELECT 1, '«hunter2»' FROM x
FROM t INSERT INTO u (id, password) SELECT 1, '«hunter2»' INSERT INTO v (id, token) SELECT 2, '«moonblue»'
INSERT INTO u (id, password)⏎-- everybody's⏎SELECT 1, /* first */ '«hunter2»'
CREATE TABLE u (id, password) AS SELECT 1, '«hunter2»'
CREATE VIEW v (id, password) AS SELECT 1, '«hunter2»' FROM t
<add value="«hunter2»" key="password"/>
<add value='«hunter2»' key='db.password' />
<add id="1" value="«hunter2»" lock="no" key="apiKey"></add>
<entry value="«hunter2»" name="trustStorePassword" final="true"/>
<property content="«hunter2»" id="client_secret"/>
<param default="«hunter2»" type="string" property="password"/>
<item text="«hunter2»" var="DB_PASSWORD"/>
<add value="«hunter2»"⏎     key="password"⏎/>
{"xml": "<add value=\\"«hunter2»\\" key=\\"password\\"/>"}
&lt;add value=&quot;«hunter2»&quot; key=&quot;password&quot;/&gt;
{&quot;password&quot;: &quot;«hunter2»&quot;}
{&quot;user&quot;:&quot;bob&quot;,&quot;password&quot;:&quot;«hunter2»&quot;}
<arg value="{&quot;token&quot;:&quot;«hunter2»&quot;}"/>
{&#34;password&#34;: &#34;«hunter2»&#34;}
{&#x22;client_secret&#x22;: &#x22;«hunter2»&#x22;}
{&amp;quot;password&amp;quot;: &amp;quot;«hunter2»&amp;quot;}
password = &apos;«hunter2»&apos;
WHERE password = &#39;«hunter2»&#39;
{\u0022password\u0022: \u0022«hunter2»\u0022}
IDENTIFIED BY &quot;«hunter2»&quot;
password&#61;«hunter2»
""",
}

STAYS: Final = {
    "comparisons of other columns, and with other columns": r"""
SELECT * FROM t WHERE token_count IN ('1', '2') AND 'x' = token_type AND lower(token_type) = 'a'
SELECT * FROM t WHERE lower(a.token) = lower(b.token) AND 'x' = lower(name)
SELECT * FROM a WHERE token IN (SELECT token FROM b WHERE name = 'x')
SELECT count(token), 'x', concat(secret, 'y') FROM t
SELECT if(password IS NULL, 'a', 'b'), CASE WHEN name = 'x' THEN token WHEN name = 'y' THEN 'z' END FROM t
SELECT coalesce(token, ''), coalesce(name, 'x', token) FROM t WHERE password IN ('', ?) AND token LIKE :t
SELECT if(user_token IN (x), 'known', 'unknown') AS kind, decode(token, 'UTF-8'), nvl2(password, 'set', 'unset') FROM t
SELECT lower(password) = lower(x), 'etl' AS src, 'v1' AS v FROM t
SELECT * FROM t WHERE (SELECT max(dt) FROM u WHERE u.token = t.token) >= '2024-01-01'
SELECT * FROM t JOIN s ON get_json_object(s.body, '$.device.id') = t.token WHERE length(password) > '8' AND 'active' = status
<field type='string'>password</field>
concat('login','=password') hive -e 'select a, b from db.t' > credentials
SELECT * FROM words WHERE token NOT IN ('a', 'b') AND token NOT LIKE 'a%'
SELECT * FROM t WHERE password IS NOT NULL AND name = 'etl' AND password IS DISTINCT FROM u.password
SELECT * FROM t WHERE (password, name) = (u.password, 'etl')
UPDATE t SET db.t.password = s.other_column_of_1 WHERE name = 'etl'
SELECT * FROM t WHERE auth IN ('basic', 'ldap') AND lower(a."token") = "b"."token"
""",
    "columns in documents, references, and expressions": r"""
{"columnLineage":{"fields":{"password":{"inputFields":[{"namespace":"hive://h","name":"a.users","field":"password"}]}}}}
{"columns":{"password":{"name":"password","description":"","meta":{},"data_type":null}}}
{"properties":{"token":{"type":"string","description":"the id"}}}
{"password":"varchar(64)","token":"string","id":"int"}
{"token":["auth.t.token","auth.s.token"]}
{"passwords": ["auth.users.password"]}
{"tokens": ["the", "cat1"]}
secrets:⏎  - db_credentials1
passwords:⏎  - name: x⏎    type: string
df = df.rename(columns={'pw': 'power'})
SELECT u.`password` = p.`password` FROM u, p
SELECT * FROM nlp.words WHERE token <> ',' AND token IS NOT NULL
SELECT * FROM t WHERE token = x.token OR 'abc' = name
SELECT 'token=' || token || '&x=' || x FROM t
SELECT * FROM t WHERE x LIKE '%password=%'
INSERT INTO users (id, password) SELECT id, password FROM s
INSERT INTO t (a, token_count) VALUES ('x', '5')
INSERT INTO words (word, n) VALUES ('password', 3), ('token', 4)
insert into t (password, x) values (null, 'abc'), ('${pw}', 'def')
sql = "update users set password = '" + pw + "' where id = 1"
query = f"select * from t where token = '{token}'"
url = base + "&password=" + pw + "&x=1"
url = base + "?token="+token+"&user="+user
conn = BaseHook.get_connection('pg'); pw = conn.password
token = self._token
token = tokens[0]
password = env('DB_PASSWORD')
password = getenv("DB_PASSWORD")
password: env_var('DB_PASSWORD')
password = get_secret('db/prod')
password = StringField('Password', validators=[DataRequired()])
private JPasswordField password = new JPasswordField();
password = new Secret(x)
password: !GetAtt Db.Password
password: *default
headers = {"Authorization": f"Bearer {self._token()}"}
oozie:launcher:T=spark:W=token-wf:A=load-token:ID=0000012-240101000000000-oozie-oozi-W
spark.kubernetes.driver.secrets.spark-secret=/etc/secrets
password: hash of the password
token: session identifier of a visit
pass: all checks done today
-- token = t.token⏎SELECT 1
kind: ConfigMap⏎data:⏎  a: b1
apiVersion: v1⏎kind: Secret⏎data:⏎  pw: {{ .Values.pw | b64enc }}
variable "region" {⏎  default = "eu-1"⏎}
https://john.doe@example.org/x
https://data-platform-team1@dev.azure.com/o/p
https://h/x?where=a.token%3Dt.token%26a%3D1
new SecretKeySpec(bytes, "AES")
kubectl create secret generic x --from-file=./a.txt
PASSWORD=$(echo $PW | base64 -d)
""",
    "names of columns, and what is no literal": r"""
SELECT sk_prod_category_id FROM dim_product
SELECT sk_test_customer_key_of_the_year, ghr_quarterly_report_final_of_it FROM t
/data/sk-customer-dimension-table-2020/x
echo "INSERT INTO a SELECT * FROM b" | mysql -h h
echo "SELECT 1" | beeline -u jdbc:hive2://h -w /etc/passfile
df.select("password", "token", "secret")
df.drop("password", "token")
df.withColumnRenamed("pwd", "password")
df.groupBy("token", "day").agg(x)
df.write.partitionBy("token", "day")
parser.add_argument("--password", "-p")
COMMENT ON COLUMN users.password IS 'bcrypt hash of it'
SELECT "password" FROM "users" WHERE "token" = "session"."token"
FAILED: ParseException line 1:17 cannot recognize input near 'password' '=' 'x' in expression specification
export DB_PASSWORD=$(cat /run/secrets/db_password)
password = os.environ["DB_PASSWORD"]
self.password = password
this.token = token;
SELECT regexp_replace(line, 'password=[^&]*', 'password=***') FROM logs
spark.redaction.string.regex=(?i)password=[^ ]+
password: ~
SELECT a FROM t WHERE token = some_column AND day = 3
CREATE TABLE t (id INT, password STRING, token STRING COMMENT 'of the user')
""",
    "names": r"""
password_hash
token_count
key
secret_id
pass
passwords
password_reset_requested_at
is_password_expired
pwd_last_set
api_key_id
secretary
tokenizer
passenger_count
keyboard
monkey
compass
bypass
passport_no
authorization_date
author
authority
credit
credentials
session_key
primary key
foreign key
the token
access_key_age
tokens_used
encrypted_payload
public_key
partition_key
sort_key
surrogate_key
customer_key
business_key
row_key
dedup_key
secret_santa
password
token
cookie
basic
bearer
signature_date
private_label
account_key_type
""",
    "paths": r"""
/data/secret/2024/part-0.parquet
hdfs://nn:8020/user/hive/warehouse/secrets.db/passwords
s3a://bucket/secret/key=3/part-00000
s3://my-bucket/token=abc/date=2020-01-01
/warehouse/t/key=3/value=4
/warehouse/t/ds=2020-01-01/pass=2
/home/bob/.ssh/id_rsa.pub
/etc/security/keytabs/hive.service.keytab
file:///etc/hadoop/conf/password.txt
hdfs://ha/user/bob@example.org/x
abfss://container@account.dfs.core.windows.net/path
wasbs://c@a.blob.core.windows.net/x
gs://bucket/tokens/2020
jceks://hdfs/user/bob/pw.jceks
jdbc:hive2://hs2:10000/default;principal=hive/_HOST@REALM
jdbc:postgresql://db:5432/secrets
jdbc:mysql://db/sales?user=scott&useSSL=false
jdbc:oracle:thin:@//db:1521/ORCL
jdbc:oracle:thin:@db:1521:ORCL
https://github.com/apache/spark/pull/12@head
https://a.b/c?page=2&key=name&sort=asc
https://medium.com/@bob/post
https://example.org/a:b@c
git@github.com:apache/hive.git
mailto:bob@example.org
s3a://bucket/a@b/c:d@e
/user/hive/.staging/job_1610000000000_0001
application_1610000000000_0001
/tmp/hive/bob/5f4dcc3b-5aa7-65d6-1d83-27deb882cf99/hive_2020-01-01
s3://bucket/AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCd/part-0
hdfs://nn/part-00000-{h8}-{h4}-{h4}-{h4}-{h12}-c000.snappy.parquet
redis://cache:6379/0
http://rm:8088/proxy/application_1610000000000_0001/
http://h:8080/ui?a=b@c
2020-01-01T10:00:00 bob@example.org read
kafka://broker:9092/topic@3
""",
    "hashes and ids": r"""
{h40}
{h64}
{h32}
{h8}-{h4}-{h4}-{h4}-{h12}
commit {h40}
sha256:{h64}
md5={h32}
etag "{h32}"
checksum = '{h64}'
digest: {h64}
SELECT md5(x), sha2(y, 256) FROM t
WHERE md5_hash = '{h32}'
order_{d12}
arn:aws:iam::123456789012:role/etl
arn:aws:kms:eu-west-1:123456789012:key/{h8}-{h4}-{h4}-{h4}-{h12}
AC{h32}
query_id={h16}:{h16}
c2VjcmV0IG5hbWU
org.apache.hadoop.hive.ql.io.orc.OrcInputFormat
org.apache.hadoop.security.token.Token
AKIA is a prefix
sk-learn and sk-image
hf_model
npm_package
SG.1
dapi is a prefix
ghp_ is a prefix
key-value
s.key
user.password
EAAB
""",
    "sql": r"""
SELECT * FROM t WHERE token = other_column
SELECT * FROM a JOIN b ON a.token = b.token
SELECT * FROM a JOIN b ON a.password=b.password
SELECT * FROM a JOIN b ON a.token = b.token AND a.secret = b.secret
SELECT * FROM t⏎WHERE⏎  token = other_column⏎  AND password = pw2
ALTER TABLE t ADD PARTITION (key=3)
ALTER TABLE t DROP PARTITION (key='3')
INSERT OVERWRITE TABLE t PARTITION (key=3, ds='2020-01-01') SELECT 1
select pass from t
select password from t
SELECT password, token FROM users
SELECT password AS p, token t FROM users
SELECT u.password FROM users u
SELECT 1 AS password
SELECT x AS token, y AS secret FROM t
SELECT 'password' AS name, 'x' AS value
SELECT count(*) FROM tokens WHERE day = '2020-01-01'
CREATE TABLE users (id INT, password STRING, token STRING COMMENT 'the session')
CREATE TABLE users (password STRING COMMENT 'hashed by bcrypt', id INT)
CREATE TABLE t (key INT, value STRING)
CREATE TABLE t (id INT PRIMARY KEY, secret VARCHAR(20) NOT NULL)
CREATE TABLE `password` (`secret` STRING)
CREATE TABLE t (password STRING) TBLPROPERTIES ('transactional'='true')
SELECT * FROM t WHERE password IS NULL
SELECT * FROM t WHERE password IS NOT NULL AND token <> ''
SELECT * FROM t WHERE token IN ('a', 'b')
SELECT * FROM t WHERE token LIKE 'a%'
SELECT * FROM t WHERE password = NULL
SELECT * FROM t WHERE password = ''
SELECT * FROM t WHERE password = ?
SELECT * FROM t WHERE password = :pw
SELECT * FROM t WHERE password = ${pw}
SELECT * FROM t WHERE password = ${hiveconf:pw}
SELECT * FROM t WHERE token = t2.token AND key = 'a'
SELECT * FROM t WHERE key = 'abc'
SELECT * FROM t WHERE ws_sold_date_sk = d_date_sk AND i_key = 5
SELECT * FROM t WHERE token_count = 5
SELECT * FROM t WHERE password_changed = '2020-01-01'
SELECT * FROM t WHERE token_type = 'bearer'
SELECT CASE WHEN password = old_password THEN 1 ELSE 0 END FROM t
SELECT IF(token = prev_token, 1, 0) FROM t
SELECT length(password) FROM t
SELECT md5(password) FROM t
SELECT aes_encrypt(ssn, key_column) FROM t
SELECT aes_decrypt(a.x, k.key) FROM a JOIN k ON a.id = k.id
SELECT hmac(x, k) FROM t
SELECT crypt(x, y) FROM t
SELECT sha2('x', 256)
INSERT INTO passwords SELECT * FROM staging
INSERT INTO t (id, password) SELECT id, password FROM s
DROP TABLE passwords
GRANT SELECT ON passwords TO ROLE r
CREATE ROLE analyst
ALTER USER bob PASSWORD EXPIRE
ALTER ROLE bob PASSWORD NULL
ALTER USER bob ACCOUNT LOCK PASSWORD EXPIRE
CREATE USER bob IDENTIFIED EXTERNALLY
CREATE USER bob IDENTIFIED WITH kerberos
CREATE USER bob IDENTIFIED WITH auth_socket
SHOW PARTITIONS t PARTITION (key=3)
SELECT * FROM t ORDER BY token DESC
SELECT token, count(*) FROM t GROUP BY token HAVING token = max_token
MERGE INTO t USING s ON t.key = s.key WHEN MATCHED THEN UPDATE SET t.token = s.token
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET token = s.token, secret = s.secret
UPDATE t SET password = other_column
UPDATE t SET password = NULL
UPDATE t SET password = upper(name)
UPDATE t SET password = concat(a, b) WHERE id = 1
SET hive.exec.dynamic.partition = true
SET hive.exec.dynamic.partition.mode=nonstrict
SET spark.sql.shuffle.partitions=200
SET hive.optimize.skewjoin.key=100000
SET hive.skewjoin.key = 100000
set hive.security.authorization.enabled=false
set spark.authenticate=true
SET parquet.encryption.column.keys = 'k1:a,b'
SET hive.server2.authentication=KERBEROS
SET hive.server2.enable.doAs=true
SELECT * FROM t WHERE a = 'the password was lost'
SELECT 'token: ', token FROM t
SELECT max(access_token) FROM t
SELECT secret FROM t WHERE x = 1
SELECT * FROM t -- the password column is gone
SELECT /* password */ x FROM t
SELECT regexp_extract(url, 'token=([a-z]+)', 1) FROM t
SELECT parse_url(url, 'QUERY', 'token') FROM t
SELECT get_json_object(x, '$.password') FROM t
SELECT x FROM t WHERE y RLIKE 'password'
CREATE VIEW v AS SELECT token AS access_token FROM t
SELECT t.key, t.pass FROM t
SELECT row_number() OVER (PARTITION BY token ORDER BY key) FROM t
CREATE TABLE t DISTRIBUTED BY HASH(token) BUCKETS 3
CREATE TABLE t (a INT) CLUSTERED BY (password) INTO 4 BUCKETS
ALTER TABLE t CHANGE password password_hash STRING
ALTER TABLE t ADD COLUMNS (token STRING)
ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS password, token
EXPLAIN SELECT token FROM t
MSCK REPAIR TABLE secrets
ADD JAR hdfs://nn/lib/token.jar
CREATE TABLE t (m MAP<STRING, STRING>, password STRUCT<salt: STRING, hash: STRING>)
SELECT named_struct('token', token, 'key', key) FROM t
SELECT m['password'] FROM t
SELECT map('a', 1)['a'] AS key
SELECT date_format(d, 'yyyy') AS pass FROM t
SELECT * FROM t LATERAL VIEW explode(tokens) x AS token
SELECT * FROM t WHERE authorization = auth
SELECT * FROM t WHERE session_id = s.session_id
SELECT sum(key) FROM t WHERE substr(token, 1, 2) = 'ab'
SELECT c1:password FROM t
WITH secret AS (SELECT 1) SELECT * FROM secret
SELECT CAST(NULL AS STRING) AS password, CAST(1 AS INT) AS token
SELECT COALESCE(a.token, b.token) AS token FROM a
CREATE FUNCTION f AS 'org.x.Password' USING JAR 'hdfs://nn/a.jar'
""",
    "command lines": r"""
docker run -p 8080:80 nginx
mkdir -p dir
mkdir -p /data/x/y
ssh -p 2222 bob@h
scp -P 2222 a b
cp -p a b
nc -p 80 h
netstat -u -p tcp
sort -u file
sudo -u hive beeline -f q.sql
id -u bob
date -u +%s
ps -u hive -o pid
psql -U etl -p 5432 -h db
mysql -u root -p sales
mysql -P 3306 -h db
mysql -uroot -P3306
curl -s https://x/y -o out
hadoop distcp -p -update a b
hadoop distcp -pugp -update a b
hdfs dfs -mkdir -p /user/bob
hdfs dfs -put -p a b
kinit -kt /etc/security/keytabs/hive.keytab hive/_HOST@REALM
kinit -k -t hive.keytab hive
echo hello | wc -l
echo done | tee log
openssl dgst -sha256 file
grep -w password file
awk -F: '{print $1}' /etc/passwd
spark-submit --conf spark.sql.shuffle.partitions=200 --keytab a.keytab --principal hive app.jar
spark-submit --master yarn --deploy-mode cluster app.py --date 2020-01-01
sqoop import --password-file hdfs:///user/bob/pw --username u
sqoop import --password-alias db.alias
beeline -u jdbc:hive2://h:10000 -n hive -w /home/bob/pwfile
sqlplus / as sysdba
hive --hiveconf hive.exec.parallel=true -f q.sql
tar -xzpf a.tgz
python train.py --tokenizer bert --max-tokens 512
pytest -p no:cacheprovider
rsync -avz -P a b
zip -r a.zip b
export PATH=/usr/bin:$PATH
export PASSWORD
read -s PASSWORD
app --no-password
app --token-file f
PASSWORD=$PW app
app --password $PW
app --password ${DB_PASSWORD}
app --password "$PW"
""",
    "comments": r"""
the customer's password, hashed
the token that the session was opened with
Key of the customer. See also: account
foreign key to users.id
secret sauce of the model
password is not stored here
number of tokens, after tokenization
basic information of the user
bearer of the bond
Basic salary per month
the signature of the contract
pass or fail
passes the check
PK: id, FK: user_id
author: bob
key: value
a key/value pair
user/group@realm
john.doe@example.org
owner: bob@example.org
e.g. 12:30@office
contact: bob@example.org, phone: 555
ratio a/b@c
price in EUR/MWh @ hub
true if the user has a password
Tokens are issued by the identity provider.
Authorization was granted on 2020-01-01
cookie consent of the visitor
type of credential
pin of the map
auth level
session length in s
created by etl_user
This is key = 3 of the map
{"type": "record", "name": "token", "fields": [{"name": "key", "type": "string"}]}
{"name": "password", "type": "string"}
{"name": "password", "type": "string", "nullable": true, "metadata": {}}
{"password": null, "token": ""}
{"name": "secret", "comment": "x"}
<name>dfs.replication</name><value>3</value>
<name>password</name>
[token#12, password#13L]
Project [token#12 AS token#30, password#13]
Filter (isnotnull(token#12) AND (token#12 = token#44))
Join Inner, (token#12 = token#44)
HashAggregate(keys=[token#12], functions=[count(1)])
struct<password:string,token:string,key:int>
map<string,struct<secret:binary>>
password:string
token:bigint,key:int
""",
}
