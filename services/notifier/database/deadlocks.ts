const deadlockDetected = '40P01'

/** Runs a transaction again, twice at most, after Postgres ended it to resolve a deadlock. */
export const retryDeadlocks = async <Result>(run: () => Promise<Result>, retries = 2): Promise<Result> =>
  run().catch(error => {
    if (retries === 0 || error?.code !== deadlockDetected) throw error
    return retryDeadlocks(run, retries - 1)
  })
