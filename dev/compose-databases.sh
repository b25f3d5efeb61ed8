#!/bin/bash
# Makes the roles and the databases of the services, once, in a new cluster: <name>_owner owns the tables, <name>
# reads and writes them, and no other role may connect.
set -euo pipefail

make_database() {
  psql -v ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres \
    -v name="$1" -v owner="$1_owner" -v password="$2" -v owner_password="$3" <<'SQL'
create role :"name" login password :'password';
create role :"owner" login password :'owner_password';
create database :"name" owner :"owner";
revoke connect on database :"name" from public;
grant connect on database :"name" to :"name";
SQL
}

psql -v ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres \
  -c 'revoke connect on database postgres, template1 from public'
make_database orders "$ORDERS_PASSWORD" "$ORDERS_OWNER_PASSWORD"
make_database notifier "$NOTIFIER_PASSWORD" "$NOTIFIER_OWNER_PASSWORD"
