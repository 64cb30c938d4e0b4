#!/bin/sh
# What the official image's entry point does with the settings our compose file gives it, and no more: a new
# data folder is made with the named user, password and database, then the server takes over this process.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  initdb --pgdata="$PGDATA" --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" \
    --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --no-locale >/dev/null
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  echo "create database \"$POSTGRES_DB\"" | postgres --single -D "$PGDATA" postgres >/dev/null
fi
exec "$@" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql
