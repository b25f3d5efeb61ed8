import type pg from 'pg'
import { waitUntil } from './receiver.ts'

const text = `select from pg_locks where not granted and pid in (
  select pid from pg_locks where database = (select oid from pg_database where datname = current_database()))`

/** Counts the sessions of the client's database that wait for a lock. */
export const countWaiting = async (client: pg.ClientBase): Promise<number> => (await client.query(text)).rowCount ?? 0

/** Waits until so many sessions wait for a lock. */
export const untilWaiting = (client: pg.ClientBase, sessions = 1): Promise<void> =>
  waitUntil(`${sessions} wait for a lock`, async () => (await countWaiting(client)) >= sessions)
