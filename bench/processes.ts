import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

type TaskResult<Result> = { result: Result } | { error: string }

/**
 * Starts a file from this folder that calls `runTasks`. Returns a function that runs one task at a time in that
 * process; it rejects with the task's error, or when the process ends.
 */
export const startTaskProcess = <Task extends object, Result>(file: string, cleanUps: AsyncDisposableStack) => {
  const child = fork(join(import.meta.dirname, file), { stdio: ['ignore', 2, 2, 'ipc'] })
  const ended = once(child, 'exit')
  const failed = ended.then(([status, signal]) => {
    throw new Error(`bench/${file} ended with ${signal ?? status}`)
  })
  failed.catch(() => {})
  cleanUps.defer(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return async (task: Task): Promise<Result> => {
    child.send(task)
    const [result] = (await Promise.race([once(child, 'message'), failed])) as [TaskResult<Result>]
    if ('error' in result) throw new Error(`bench/${file}: ${result.error}`)
    return result.result
  }
}

/** Runs each task that arrives and returns its result. Ends when the process that started this one ends. */
export const runTasks = <Task, Result>(run: (task: Task) => Promise<Result>): void => {
  process.on('message', async task => {
    const result: TaskResult<Result> = await run(task as Task).then(
      result => ({ result }),
      error => ({ error: error instanceof Error ? error.message : String(error) }),
    )
    process.send?.(result)
  })
  process.on('disconnect', () => process.exit())
}
