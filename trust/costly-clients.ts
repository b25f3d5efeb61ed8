// Runs clients that each send one request, at most twenty times a second, in a thread of their own: their computation
// is not measured.
import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { createSender, type Request } from './sender.ts'

const { url, costly } = workerData as { url: string; costly: readonly Request[] }
const send = createSender(url)
for (const input of costly)
  void (async () => {
    for (;;) {
      const { status } = (await Promise.all([send(input), delay(50)]))[0]
      if (status > 0) parentPort?.postMessage(status)
    }
  })()
