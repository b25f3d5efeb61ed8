import { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import type { PrintJob } from './draw.ts'

/** Of a process, until their last byte is read. Each has up to 500 labels in memory. */
const maxJobs = 10
/** Of one tenant, so that others find room. */
const maxJobsOfTenant = 4
/** A PDF that nobody has read to its end after so long is given up. */
const maxMilliseconds = 120_000
/** The thread keeps 60 to 100 MB. */
const idleMilliseconds = 60_000
/** Without them it takes twice the memory and two thirds of the time. */
const resourceLimits = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 128 }

/** Draws one job after another in a thread of its own, which starts with the first one and ends when there is nothing to do. */
export class Printer {
  readonly #jobs: string[] = []
  #last: Promise<void> = Promise.resolve()
  #thread: Worker | undefined
  #idle: NodeJS.Timeout | undefined

  /** The PDF as it is drawn; undefined when too many wait. */
  print(tenant: string, job: PrintJob): Readable | undefined {
    const own = this.#jobs.filter(each => each === tenant).length
    if (this.#jobs.length >= maxJobs || own >= maxJobsOfTenant) return undefined
    this.#jobs.push(tenant)
    const pdf = new Readable({ read: () => undefined, signal: AbortSignal.timeout(maxMilliseconds) })
    // Fastify closes the connection; without a listener the error would end the process.
    pdf.once('error', () => undefined)
    pdf.once('close', () => this.#jobs.splice(this.#jobs.indexOf(tenant), 1))
    this.#last = this.#last.then(() => this.#draw(job, pdf))
    return pdf
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle)
    await this.#thread?.terminate()
  }

  async #draw(job: PrintJob, pdf: Readable): Promise<void> {
    if (pdf.destroyed) return
    clearTimeout(this.#idle)
    try {
      await send(this.#start(), job, pdf)
    } catch (error) {
      pdf.destroy(error as Error)
      await this.close().catch(() => undefined)
    }
    this.#idle = setTimeout(() => this.close(), idleMilliseconds).unref()
  }

  #start(): Worker {
    if (this.#thread) return this.#thread
    const thread = new Worker(new URL('print-thread.ts', import.meta.url), { resourceLimits })
    thread.on('error', () => undefined)
    thread.once('exit', () => {
      if (this.#thread === thread) this.#thread = undefined
    })
    this.#thread = thread
    return thread
  }
}

/** Resolves when the PDF is drawn or nobody wants it any more; rejects when the thread dies. */
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
