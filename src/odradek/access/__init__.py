"""Access rules: which principal may do what to which resource, as Kafka's AclAuthorizer decides.

Pure: rules come in, decisions go out. Where the rules are kept is said in `metadata.znodes.acls`.
"""
