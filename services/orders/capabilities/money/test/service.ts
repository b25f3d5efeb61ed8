import type { Test } from 'tap'
import { launch } from '../../../../../dev/service-process.ts'
import type { TestDatabase } from '../../../../../dev/test-database.ts'
import { serviceToken } from '../../../test/build.ts'

const key = Buffer.alloc(32, 5).toString('base64')

/** Runs orders with money on the database of a test, as a process of its own that the test kills. */
export const startService = async (t: Test, database: TestDatabase) => {
  const service = launch(t, 'services/orders/main.ts', {
    ...{ ORDERS_DATABASE_URL: database.url, ORDERS_MIGRATE_DATABASE_URL: database.ownerUrl, ORDERS_PORT: '0' },
    ...{ SERVICE_TOKEN: serviceToken, WEBHOOK_KEYS: `test:${key}`, ORDERS_CAPABILITIES: 'money,labels' },
  })
  const address = await service.listening()
  const send = async (method: string, path: string, body: object | undefined, token: string, key?: string) => {
    const headers = {
      ...{ authorization: `Bearer ${token}`, 'x-tenant': 'demo' },
      ...(body && { 'content-type': 'application/json' }),
      ...(key && { 'idempotency-key': key }),
    }
    const response = await fetch(`${address}/api/staff${path}`, {
      ...{ method, headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text() }
  }
  const kill = async () => {
    service.child.kill('SIGKILL')
    await service.ended
  }
  return { send, kill }
}
