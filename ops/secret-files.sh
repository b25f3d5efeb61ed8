#!/bin/sh
# Writes the secrets of FILE as files into DIRECTORY, as ops/compose/production.yml and ops/kubernetes/ read them.
# usage: sh ops/secret-files.sh [FILE [DIRECTORY]]    (default: .env secrets)
# The environment names another address of Postgres: POSTGRES_HOST (postgres) and POSTGRES_PORT (5432); and that of
# PgBouncer, which migrations cannot use: POOLER_HOST and POOLER_PORT.
set -eu
. "$(realpath "${1:-.env}")"
directory=${2:-secrets}
# Only the owner may enter the directory. Anybody may read the files: the container's user reads them once mounted.
mkdir -p "$directory"
chmod 700 "$directory"

write() {
  printf '%s\n' "$2" >"$directory/$1"
  chmod 444 "$directory/$1"
}
write service_token "$SERVICE_TOKEN"
write credentials_keys "$CREDENTIALS_KEYS"
write webhook_keys "$WEBHOOK_KEYS"
postgres=${POSTGRES_HOST:-postgres}:${POSTGRES_PORT:-5432}
pooler=${POOLER_HOST:-${POSTGRES_HOST:-postgres}}:${POOLER_PORT:-${POSTGRES_PORT:-5432}}
write orders_database_url "postgres://orders:$ORDERS_PASSWORD@$pooler/orders"
write orders_migrate_database_url "postgres://orders_owner:$ORDERS_OWNER_PASSWORD@$postgres/orders"
write notifier_database_url "postgres://notifier:$NOTIFIER_PASSWORD@$pooler/notifier"
write notifier_migrate_database_url "postgres://notifier_owner:$NOTIFIER_OWNER_PASSWORD@$postgres/notifier"
