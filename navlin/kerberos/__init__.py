"""Kerberos for what speaks Thrift or HTTP: tickets from a keytab, SASL and SPNEGO, by Java's own implementation.

Java is there wherever navlin runs. Python's packages would need the Kerberos libraries of the machine, and their headers to
be built; Java needs nothing but a keytab and ``krb5.conf``. `client` is the child that does it, `words` what goes wrong,
`spnego` how HTTP services want to be talked to; SASL over Thrift is with the metastore's extractor.
"""
