import { Readable } from 'node:stream'
import { MessageChannel, Worker } from 'node:worker_threads'
import type { PrintJob } from './draw.ts'

/** Limits the jobs in a process. A job counts until its last byte is read, and has up to 500 labels in memory. */
const maxJobs = 10
/** Limits the jobs of one tenant, which leaves room for others. */
const maxJobsOfTenant = 4
/** Limits the time to read a PDF: a PDF that is not read to its end by then is abandoned. */
const maxMilliseconds = 120_000
/** Ends an idle thread after this time, since it keeps 60 to 100 MB. */
const idleMilliseconds = 60_000
/** Without these limits the thread takes twice the memory and two thirds of the time. */
const resourceLimits = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 128 }

const printers = new WeakMap<object, Printer>()

/** Returns the one printer of a service, which everything that draws shares. */
export const findPrinter = (core: object): Printer => {
  const printer = printers.get(core) ?? new Printer()
  printers.set(core, printer)
  return printer
}

/**
 * Draws in a thread of its own, which starts with the first job and ends when idle. Tenants take turns, label by label;
 * each tenant's jobs are drawn one after another. A job stops when its reader is gone.
 */
export class Printer {
  readonly #jobs: string[] = []
  readonly #last = new Map<string, Promise<unknown>>()
  #thread: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  readonly #idleMilliseconds: number

  constructor(milliseconds = idleMilliseconds) {
    this.#idleMilliseconds = milliseconds
  }

  /** Returns the PDF while it is being drawn; undefined when there are too many jobs. */
  print(tenant: string, job: PrintJob): Readable | undefined {
    const running = this.#jobs.filter(each => each === tenant).length
    if (this.#jobs.length >= maxJobs || running >= maxJobsOfTenant) return undefined
    this.#jobs.push(tenant)
    const pdf = new Readable({ read: () => undefined, signal: AbortSignal.timeout(maxMilliseconds) })
    // Fastify closes the connection; without a listener the error would end the process.
    pdf.once('error', () => undefined)
    pdf.once('close', () => this.#jobs.splice(this.#jobs.indexOf(tenant), 1))
    const last: Promise<unknown> = (this.#last.get(tenant) ?? Promise.resolve())
      .then(() => this.#draw(job, pdf))
      .then(() => this.#last.get(tenant) === last && this.#last.delete(tenant))
    this.#last.set(tenant, last)
    return pdf
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle)
    await this.#thread?.terminate()
  }

  async #draw(job: PrintJob, pdf: Readable): Promise<void> {
    if (pdf.destroyed) return
    await send(this.#start(), job, pdf).catch(error => pdf.destroy(error))
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.#last.size === 0 && this.#retire(), this.#idleMilliseconds).unref()
  }

  /** Ends the thread. A job that comes before it has ended gets another one. */
  #retire(): void {
    this.#thread?.terminate()
    this.#thread = undefined
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

/** Resolves when the PDF is drawn or its reader is gone; rejects when drawing fails or the thread dies. */
const send = (thread: Worker, job: PrintJob, pdf: Readable): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const { port1: port, port2 } = new MessageChannel()
  port.on('message', (part: Uint8Array | 'done' | Error) => {
    if (part instanceof Error) return reject(part)
    if (!pdf.destroyed) pdf.push(part === 'done' ? null : part)
    if (part === 'done') resolve()
  })
  const onExit = (): void => reject(new Error('the drawing thread ended'))
  pdf.once('close', resolve)
  thread.on('error', reject).on('exit', onExit)
  thread.postMessage({ job, port: port2 }, [port2])
  return promise.finally(() => {
    port.close()
    thread.off('error', reject).off('exit', onExit)
  })
}
