import { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import type { PrintJob } from './draw.ts'

/** Of a process. Each has up to 500 labels in memory, and the last one gets its first bytes after that many seconds. */
const maxJobs = 10
/** The thread keeps 60 to 100 MB. */
const idleMilliseconds = 60_000
/** Without them it takes twice the memory and two thirds of the time. */
const resourceLimits = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 128 }

/** Draws one job after another in a thread of its own, which starts with the first one and ends when there is nothing to do. */
export class Printer {
  #jobs = 0
  #last: Promise<void> = Promise.resolve()
  #thread: Worker | undefined
  #idle: NodeJS.Timeout | undefined

  /** The PDF as it is drawn; undefined when too many jobs wait. */
  print(job: PrintJob): Readable | undefined {
    if (this.#jobs >= maxJobs) return undefined
    this.#jobs++
    const pdf = new Readable({ read: () => undefined })
    this.#last = this.#last.then(() => this.#draw(job, pdf)).finally(() => this.#jobs--)
    return pdf
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle)
    await this.#thread?.terminate()
    this.#thread = undefined
  }

  async #draw(job: PrintJob, pdf: Readable): Promise<void> {
    if (pdf.destroyed) return
    clearTimeout(this.#idle)
    this.#thread ??= new Worker(new URL('print-thread.ts', import.meta.url), { resourceLimits })
    try {
      await send(this.#thread, job, pdf)
    } catch (error) {
      pdf.destroy(error as Error)
      await this.close()
    }
    this.#idle = setTimeout(() => this.close(), idleMilliseconds).unref()
  }
}

/** Rejects when the thread dies. */
const send = (thread: Worker, job: PrintJob, pdf: Readable): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const onMessage = (part: Uint8Array | 'done'): void => {
    if (!pdf.destroyed) pdf.push(part === 'done' ? null : part)
    if (part === 'done') resolve()
  }
  const onExit = (): void => reject(new Error('the thread that draws ended'))
  thread.on('message', onMessage).on('error', reject).on('exit', onExit)
  thread.postMessage(job)
  return promise.finally(() => thread.off('message', onMessage).off('error', reject).off('exit', onExit))
}
