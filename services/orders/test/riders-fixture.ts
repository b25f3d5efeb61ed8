import { randomUUID } from 'node:crypto'
import type { Teardown } from '../../../dev/test-database.ts'
import { addStaff } from '../core/access/staff-commands.ts'
import type { TenantFile } from '../core/provisioning/tenant-file.ts'
import { ordersFixture, tenantFixture } from './orders-fixture.ts'

const password = 'riders-of-tests'

/** Builds a company with two riders, and returns helpers that act as a phone and as a dispatcher. */
export const ridersFixture = async (t: Teardown, options: Parameters<typeof ordersFixture>[1] = {}) =>
  addRiders(await ordersFixture(t, options))

/** Returns the same for a tenant of its own in the application that the tests of this process share. */
export const ridersTenant = async (t: Teardown, options: { file?: TenantFile } = {}) =>
  addRiders(await tenantFixture(t, options))

const addRiders = async <Fixture extends Awaited<ReturnType<typeof tenantFixture>>>(fixture: Fixture) => {
  const { tenant, pool, request, staffToken, make, moveAlong, rows } = fixture

  const addPerson = async (name: string, role: string) => {
    const email = `${name.toLowerCase().replaceAll(' ', '.')}@courier.example`
    await addStaff(pool, { tenant, email, name, role }, password)
    const { body } = await request('POST', '/api/staff/login', { email, password }, { token: '' })
    const [{ staff_id }] = await rows('select staff_id::text from staff where email = $1', [email])
    return { email, name, id: staff_id as string, token: body.token as string }
  }
  const nimal = await addPerson('Nimal Rider', 'rider')
  const sunil = await addPerson('Sunil Rider', 'rider')
  type Person = typeof nimal

  /** Makes parcels that a rider may deliver. */
  const makeReady = async (waybills: string[], fields: Record<string, unknown> = {}) => {
    await make(waybills, { initial_status_key: 'key_2', ...fields })
    await moveAlong(waybills, [9, 10, 11, 12])
  }
  const staffPost = (path: string, body: object, token = staffToken) =>
    request('POST', `/api/staff${path}`, body, { token })
  const assign = (waybill_numbers: string[], rider: string, rest: object = {}) =>
    staffPost('/order/assign', { waybill_numbers, rider, ...rest })
  const writeAct = (kind: string, waybill_number: string, rest: object = {}) => ({
    ...{ id: randomUUID(), kind, waybill_number, happened_at: new Date().toISOString() },
    ...rest,
  })
  const sendActs = async (person: Person, acts: object[]) =>
    (await request('POST', '/api/staff/rider/acts', { acts }, { token: person.token })).body.data
  const act = async (person: Person, ...given: Parameters<typeof writeAct>) =>
    (await sendActs(person, [writeAct(...given)]))[0]
  const readList = async (person: Person) =>
    (await request('GET', '/api/staff/rider/parcels', undefined, { token: person.token })).body.data
  return { ...fixture, addPerson, nimal, sunil, makeReady, staffPost, assign, writeAct, sendActs, act, readList }
}

/** Makes a JPEG whose metadata and whose trailer have `marker`; `pixels` are its coded pixels. */
export const makeJpeg = (marker = 'GPS here', pixels = Buffer.from([0x12, 0xff, 0, 0x34])) => {
  const part = (code: number, content: Buffer) => {
    const head = Buffer.from([0xff, code, 0, 0])
    head.writeUInt16BE(content.length + 2, 2)
    return Buffer.concat([head, content])
  }
  const exif = part(0xe1, Buffer.from(`Exif\0\0${marker}`))
  const frame = part(0xc0, Buffer.from([8, 0, 1, 0, 1, 1, 1, 0x11, 0]))
  const scan = Buffer.concat([part(0xda, Buffer.from([1, 1, 0, 0, 63, 0])), pixels])
  return Buffer.concat([Buffer.from([0xff, 0xd8]), exif, frame, scan, Buffer.from([0xff, 0xd9]), Buffer.from(marker)])
}
