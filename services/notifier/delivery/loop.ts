import { type DeliveryOptions, deliverDue } from './deliver.ts'

const pollMilliseconds = 1_000

/** Delivers what customers ask for to orders, as it comes and when it is due again. Any number of processes may run one. */
export class ActionDelivery {
  readonly #options: DeliveryOptions
  #isRunning = false
  #isWoken = false
  #work = Promise.resolve()
  #endSleep = () => {}

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  start(): void {
    this.#isRunning = true
    this.#work = this.#run()
  }

  /** There are new actions. */
  wake(): void {
    this.#isWoken = true
    this.#endSleep()
  }

  /** Finishes the request in flight. */
  stop(): Promise<void> {
    this.#isRunning = false
    this.#endSleep()
    return this.#work
  }

  async #run(): Promise<void> {
    while (this.#isRunning) {
      this.#isWoken = false
      const hasMore = await deliverDue(this.#options).catch(err => {
        this.#options.logger.warn({ err }, 'actions.delivery_failed')
        return false
      })
      if (!hasMore && this.#isRunning && !this.#isWoken) await this.#sleep()
    }
  }

  async #sleep(): Promise<void> {
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, pollMilliseconds)
      this.#endSleep = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#endSleep = () => {}
  }
}
