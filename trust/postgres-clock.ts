import { onServer } from '../dev/databases.ts'
import type { TestDatabase } from '../dev/test-database.ts'

/** A clock of Postgres that can be set. */
interface PostgresClock {
  /** Sets it to that time; it runs on from there. */
  set: (time: number) => Promise<void>
  /** Returns the time that it showed at that time of the computer's clock. */
  at: (time: number) => number
}

/**
 * Replaces now() of a service's role, in this database, by a function that adds a stored offset: the server's own clock
 * is the computer's. Defaults of columns keep the real one. Call it before the service connects. A stopped clock stands
 * still.
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
