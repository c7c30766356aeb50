private import CSQLite
