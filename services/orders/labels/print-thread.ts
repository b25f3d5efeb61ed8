// The thread that draws: the event loop of the process stays free.
import { parentPort } from 'node:worker_threads'
import { draw, type PrintJob } from './draw.ts'

// A copy: of a small part of a buffer the whole one would be sent.
parentPort?.on('message', async (job: PrintJob) => {
  await draw(job, bytes => parentPort?.postMessage(Uint8Array.from(bytes)))
  parentPort?.postMessage('done')
})
