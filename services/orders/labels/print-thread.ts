// The thread that draws: the event loop of the process stays free.
import { parentPort } from 'node:worker_threads'
import { draw, type PrintJob } from './draw.ts'

parentPort?.on('message', async (job: PrintJob) => {
  await draw(job, bytes => parentPort?.postMessage(bytes))
  parentPort?.postMessage('done')
})
