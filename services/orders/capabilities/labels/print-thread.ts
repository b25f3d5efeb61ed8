// Draws in a thread, so that the event loop of the process stays free.
import { constants, setPriority } from 'node:os'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { draw, type PrintJob } from './draw.ts'

// A low priority lets requests go first on busy cores. Only Linux has a priority for each thread; elsewhere the call
// would lower the priority of the whole process.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW)

/** Draws each job into its own port, several jobs in turns, and stops one whose port is closed. */
parentPort?.on('message', async ({ job, port }: { job: PrintJob; port: MessagePort }) => {
  let isOpen = true
  port.once('close', () => {
    isOpen = false
  })
  // Copies the chunk: posting part of a buffer would send the whole buffer.
  await draw(
    job,
    bytes => port.postMessage(Uint8Array.from(bytes)),
    () => isOpen,
  ).then(
    () => port.postMessage('done'),
    error => port.postMessage(error),
  )
})
