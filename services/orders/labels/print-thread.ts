// The thread that draws: the event loop of the process stays free.
import { constants, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { draw, type PrintJob } from './draw.ts'

// So that requests go first when the cores are busy. Only Linux has a priority for each thread; elsewhere it would be that of the process.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW)

// A copy: of a small part of a buffer the whole one would be sent.
parentPort?.on('message', async (job: PrintJob) => {
  await draw(job, bytes => parentPort?.postMessage(Uint8Array.from(bytes)))
  parentPort?.postMessage('done')
})
