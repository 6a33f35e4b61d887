"""Kerberos for services over Thrift or HTTP: tickets from a keytab, SASL and SPNEGO, by Java's own implementation.

Java is present wherever navlin runs. Python's packages would need the machine's Kerberos libraries, and their headers
to build; Java needs only a keytab and ``krb5.conf``. `client` runs the Java child, `words` explains errors, `spnego`
negotiates with HTTP services; SASL over Thrift is in the metastore's extractor.
"""
