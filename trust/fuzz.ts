import fc from 'fast-check'
import { findDeviation, isPlainRefusal, type Operation, type Response } from './document.ts'
import type { Broken, TrustPromise } from './promise.ts'
import { type DrawnRequest, generateRequests } from './requests.ts'
import { startTargets, type Target } from './targets.ts'

const inputs = { full: 50_000, short: 3_800 }

/** Matches ids in responses, and lists the path parameters that they fill. */
const ids = {
  orders: { form: /DM\d{8}/g, parameters: ['waybill', 'waybill_number'] },
  notifier: { form: /msg_[0-9a-z]{25}/g, parameters: ['id'] },
}

/** Keeps the last ids in successful responses, so that later requests name them. */
const createMemory = ({ name, names }: Target) => {
  const { form, parameters } = ids[name]
  const learned: string[] = []
  const learn = ({ status, text }: Response): void => {
    if (status > 0 && status < 300) learned.push(...(text.match(form) ?? []))
    learned.splice(0, learned.length - 200)
  }
  const known = (parameter: string): readonly string[] =>
    parameters.includes(parameter) && learned.length > 0 ? learned : [names[parameter] ?? '0']
  return { known, learn }
}

interface Fuzzing {
  readonly target: Target
  readonly memory: ReturnType<typeof createMemory>
  readonly count: number
  readonly seed: number
  readonly broken: Broken
}

/** Returns the error of a response. An odd path may name no operation, and then gets a plain refusal. */
const findError = (operation: Operation, request: DrawnRequest, response: Response): string | undefined => {
  const namesNothing =
    /"message":"(There is nothing at this address|The address is malformed|The [A-Z]+ method is not supported)/.test(
      response.text,
    )
  const namesNoOperation = request.isOddPath && namesNothing
  return namesNoOperation && isPlainRefusal(response) ? undefined : findDeviation(operation, response)
}

/**
 * Sends `count` requests to one operation and reports the smallest that shows an error. Returns how many it sent
 * and how many succeeded.
 */
const fuzzOperation = async (operation: Operation, { target, memory, count, seed, broken }: Fuzzing) => {
  const counts = { sent: 0, succeeded: 0 }
  const attempt = async (request: DrawnRequest): Promise<void> => {
    if (counts.sent % 100 === 0) await target.repair()
    const response = await target.send(request)
    memory.learn(response)
    counts.sent++
    if (response.status > 0 && response.status < 300) counts.succeeded++
    const error = findError(operation, request, response)
    if (error) throw new Error(error.slice(0, 300))
  }
  const requests = generateRequests(operation, target.headersFor(operation), memory.known)
  // The shrinking of a failing input has no limit of its own.
  const options = { numRuns: count, seed, interruptAfterTimeLimit: 120_000 }
  const result = await fc.check(fc.asyncProperty(requests, attempt), options)
  if (result.failed)
    broken.add(`${target.name} ${operation.id} ${result.errorInstance}: ${show(result.counterexample?.[0])}`)
  return counts
}

const show = (request: DrawnRequest | undefined): string =>
  JSON.stringify({ ...request, body: request?.body?.toString().slice(0, 500) }).replace(/Bearer [^"]+/, 'Bearer …')

export const promise: TrustPromise = {
  promise: 'No input causes a 5xx response, and every response is as documented',
  limit: '50,000 inputs to all documented operations together: 0 deviations',
  run: async options => {
    const { short, seed, report, broken } = options
    const targets = Object.values(await startTargets(options))
    const total = short ? inputs.short : inputs.full
    const operations = targets.reduce((sum, target) => sum + target.operations.length, 0)
    const each = Math.ceil(total / operations)
    let sent = 0
    let succeeded = 0
    for (const target of targets) {
      const memory = createMemory(target)
      for (const [index, operation] of target.operations.entries()) {
        if (!operation.id.includes(process.env.FUZZ_ONLY ?? '')) continue
        const counts = await fuzzOperation(operation, { target, memory, count: each, seed: seed + index, broken })
        report(`${target.name} ${operation.id}: ${counts.sent} inputs, ${counts.succeeded} succeeded`)
        sent += counts.sent
        if (counts.succeeded > 0) succeeded++
      }
    }
    broken.require(succeeded >= operations / 2, `only ${succeeded} of ${operations} operations ever succeeded`)
    broken.require(sent >= total, `only ${sent} of ${total} inputs were tried`)
    return { inputs: sent, operations, 'that also succeeded': succeeded, errors: broken.count }
  },
}
