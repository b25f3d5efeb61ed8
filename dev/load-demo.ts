// Runs as the service `demo` of docker-compose.override.yml: loads the demo tenant once both services are ready, and
// prints its tokens.
import { setTimeout as delay } from 'node:timers/promises'
import { type Addresses, loadDemo, printDemo } from './demo-data.ts'
import { readDevSettings } from './settings.ts'

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/health/ready`).then(
    response => response.ok,
    () => false,
  )

const waitFor = async (url: string): Promise<void> => {
  for (let tries = 0; !(await isReady(url)); tries++) {
    if (tries === 600) throw new Error(`${url} is not ready: docker compose logs says why.`)
    await delay(100)
  }
}

/** Holds the addresses on the host. */
const { ORDERS_ADDRESS: orders = '', NOTIFIER_ADDRESS: notifier = '', SIMULATOR_ADDRESS: simulator = '' } = process.env
const addresses: Addresses = { orders, notifier, simulator }

const load = async (): Promise<void> => {
  const { ORDERS_URL = '', NOTIFIER_URL = '', dataFolder } = readDevSettings()
  await Promise.all([ORDERS_URL, NOTIFIER_URL].map(waitFor))
  // Prints the request on one line: docker compose puts the name of the service before each line.
  await printDemo(addresses, await loadDemo(dataFolder, NOTIFIER_URL), { batch: 'examples/batch.json', lineEnd: ' ' })
}

if (process.env.DEMO === 'true') await load()
else process.stdout.write('DEMO is not true: no demo tenant is loaded.\n')
