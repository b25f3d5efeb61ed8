-- Creates the roles and databases of the services, once, in a new cluster: orders_owner and notifier_owner own the
-- tables, orders and notifier read and write them, and no other role may connect. As a superuser, with the passwords of
-- .env in the environment: psql -v ON_ERROR_STOP=1 -d postgres -f ops/postgres/roles.sql
\getenv orders_password ORDERS_PASSWORD
\getenv orders_owner_password ORDERS_OWNER_PASSWORD
\getenv notifier_password NOTIFIER_PASSWORD
\getenv notifier_owner_password NOTIFIER_OWNER_PASSWORD

revoke connect on database postgres, template1 from public;

create role orders login password :'orders_password';
create role orders_owner login password :'orders_owner_password';
create database orders owner orders_owner;
revoke connect on database orders from public;
grant connect on database orders to orders;

create role notifier login password :'notifier_password';
create role notifier_owner login password :'notifier_owner_password';
create database notifier owner notifier_owner;
revoke connect on database notifier from public;
grant connect on database notifier to notifier;
