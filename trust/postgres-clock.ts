import { onServer } from '../dev/databases.ts'
import type { TestDatabase } from '../dev/test-database.ts'

/** A clock of Postgres that can be set. */
export interface PostgresClock {
  /** Sets it to that time; it goes on from there. */
  set: (time: number) => Promise<void>
  /** What it showed when the computer's clock showed that. */
  at: (time: number) => number
}

/**
 * Makes now() of a service's role, in this database, a function that adds what is stored: the clock of the server itself is the
 * computer's. Defaults of columns keep the real one. To be called before the service connects. A stopped one does not go on.
 */
export const setUpClock = async (
  { url, superuserUrl }: TestDatabase,
  { isStopped = false } = {},
): Promise<PostgresClock> => {
  const start = isStopped ? `timestamptz ''epoch''` : 'pg_catalog.now()'
  const { username: role, pathname } = new URL(url)
  const run = (text: string, values: unknown[] = []) =>
    onServer(superuserUrl, async client => (await client.query(text, values)).rows)
  await run(`
    create schema clock;
    create table clock.shift (by interval not null);
    insert into clock.shift values ('0');
    create function clock.now() returns timestamptz language sql stable
      as 'select ${start} + (select by from clock.shift)';
    create function clock.clock_timestamp() returns timestamptz language sql volatile
      as 'select pg_catalog.clock_timestamp() + (select by from clock.shift)';
    grant usage on schema clock to ${role};
    grant select on clock.shift to ${role};
    alter role ${role} in database ${pathname.slice(1)} set search_path = clock, pg_catalog, public`)
  const shifts = [{ since: 0, by: 0 }]
  return {
    set: async time => {
      const by = Math.round(isStopped ? time : time - Date.now())
      await run(`update clock.shift set by = make_interval(secs => $1)`, [by / 1000])
      shifts.push({ since: Date.now(), by })
    },
    at: time => time + (shifts.findLast(({ since }) => since <= time)?.by ?? 0),
  }
}
