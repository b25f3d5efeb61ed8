/** Too much is waiting already: nothing was done. */
export class RoomFull extends Error {
  override name = 'RoomFull'
}

/** Runs `atOnce` tasks at a time, in the order they came; while `waiting` others wait, a further one throws RoomFull. */
export const createWaitingRoom = (atOnce: number, waiting: number) => {
  const queue: (() => void)[] = []
  let running = 0
  return async <Result>(task: () => Promise<Result>): Promise<Result> => {
    if (running >= atOnce) {
      if (queue.length >= waiting) throw new RoomFull('too many tasks wait')
      // Who ends hands its place on, so `running` stays.
      await new Promise<void>(resume => queue.push(resume))
    } else {
      running++
    }
    try {
      return await task()
    } finally {
      const next = queue.shift()
      if (next) next()
      else running--
    }
  }
}

export type WaitingRoom = ReturnType<typeof createWaitingRoom>
