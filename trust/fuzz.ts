import fc from 'fast-check'
import { phoneNumberId } from '../services/notifier/test/stage.ts'
import { type Application, startNotifier, startOrders } from './applications.ts'
import { type Answer, deviation, isPlainRefusal, type Operation } from './document.ts'
import { fuzzSockets } from './fuzz-sockets.ts'
import { hints } from './hints.ts'
import { Broken, type Outcome, type TrustOptions, type TrustPromise } from './promise.ts'
import { addressOf, type Call, callsOf } from './requests.ts'

const inputs = { full: 50_000, short: 1_500 }
/** Of the inputs, those that go over a real socket, for what only bytes can say. */
const shareOfSockets = 0.1

/** An application under fire: what is known to be there, and a way to put it back into order. */
interface Target extends Application {
  readonly known: (name: string) => readonly string[]
  readonly learn: (answer: Answer) => void
  readonly repair: () => Promise<void>
}

const fire = async ({ app, known }: Target, operation: Operation, call: Call): Promise<Answer> => {
  const { statusCode, headers, payload } = await app.inject({
    method: operation.method as 'GET',
    url: addressOf(operation, call, known),
    headers: call.headers,
    ...(call.body && { payload: call.body }),
  })
  return { status: statusCode, headers, text: payload }
}

/** An odd path may name nothing at all, or as `/./` another address; then the answer is that of no operation. */
const faultOf = (operation: Operation, call: Call, answer: Answer): string | undefined => {
  const mayNameNothing = Object.values(call.pathValues).some(value => 'raw' in value)
  const namesNothing =
    /"message":"(There is nothing at this address|The address is malformed|The [A-Z]+ method is not supported)/.test(
      answer.text,
    )
  if (mayNameNothing && namesNothing && isPlainRefusal(answer)) return undefined
  return deviation(operation, answer)
}

/** Keeps the last ids of that form that good answers told of: later calls name them. */
const createMemory = (form: RegExp) => {
  const ids: string[] = []
  const learn = ({ status, text }: Answer): void => {
    if (status < 300) ids.push(...(text.match(form) ?? []))
    ids.splice(0, ids.length - 200)
  }
  return { ids, learn }
}

/** The services of a run, with what they are known to hold. */
const startTargets = async (options: TrustOptions): Promise<Target[]> => {
  const orders = await startOrders(options)
  const notifier = await startNotifier(options)
  notifier.queue.start()
  const waybills = createMemory(/DM\d{8}/g)
  const messages = createMemory(/msg_[0-9a-z]{25}/g)
  const ofOrders = (name: string) => (name.includes('waybill') ? waybills.ids : ['demo'])
  const ofNotifier: Record<string, readonly string[]> = {
    phone_number_id: [phoneNumberId],
    id: messages.ids,
    phone: ['94770000101'],
  }
  return [
    { ...orders, known: ofOrders, learn: waybills.learn, repair: async () => {} },
    { ...notifier, known: name => ofNotifier[name] ?? [], learn: messages.learn },
  ]
}

/** Fires `count` calls at one operation; tells the smallest call that shows a fault. Returns how many were answered, and how many well. */
const fuzzOperation = async (target: Target, operation: Operation, count: number, seed: number, broken: Broken) => {
  let answered = 0
  let succeeded = 0
  const attempt = async (call: Call): Promise<void> => {
    if (answered % 100 === 0) await target.repair()
    const answer = await fire(target, operation, call)
    target.learn(answer)
    answered++
    if (answer.status < 300) succeeded++
    const fault = faultOf(operation, call, answer)
    if (fault) throw new Error(fault.slice(0, 300))
  }
  const calls = callsOf(operation, target.tokenFor(operation), hints[operation.id])
  const result = await fc.check(fc.asyncProperty(calls, attempt), { numRuns: count, seed })
  if (result.failed)
    broken.add(`${target.name} ${operation.id} ${result.errorInstance}: ${show(result.counterexample?.[0])}`)
  return { answered, succeeded }
}

const show = (call: Call | undefined): string =>
  JSON.stringify({ ...call, body: call?.body?.toString().slice(0, 500) }).replace(/Bearer [^"]+/, 'Bearer …')

export const fuzz: TrustPromise = {
  name: 'fuzz',
  promise: 'No input makes an answer of 5xx, and every answer is as documented',
  limit: '50,000 inputs to every documented operation: 0 answers of 5xx, 0 that the document does not tell of',
  run: async (options): Promise<Outcome> => {
    const { short, seed, report } = options
    const broken = new Broken()
    const targets = await startTargets(options)
    const total = short ? inputs.short : inputs.full
    const operations = targets.reduce((sum, target) => sum + target.operations.length, 0)
    const each = Math.ceil((total * (1 - shareOfSockets)) / operations)
    let answered = 0
    let succeeded = 0
    for (const target of targets)
      for (const [index, operation] of target.operations.entries()) {
        const counts = await fuzzOperation(target, operation, each, seed + index, broken)
        report(`${target.name} ${operation.id}: ${counts.answered} inputs, ${counts.succeeded} succeeded`)
        answered += counts.answered
        if (counts.succeeded > 0) succeeded++
      }
    for (const target of targets)
      answered += await fuzzSockets(target, Math.ceil((total * shareOfSockets) / targets.length), seed, broken)
    broken.require(succeeded >= operations / 2, `only ${succeeded} of ${operations} operations ever succeeded`)
    broken.require(answered >= total, `only ${answered} of ${total} inputs were tried`)
    const measured = { inputs: answered, operations, 'that also succeeded': succeeded, faults: broken.count }
    return { measured, broken: broken.sentences }
  },
}
