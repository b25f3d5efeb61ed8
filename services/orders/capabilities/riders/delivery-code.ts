import { hash, timingSafeEqual } from 'node:crypto'
import { readDigits } from '@courier/shared/phone-number.ts'
import type { SnapshotPoint } from '../../core/tracking/order-snapshot.ts'

/** Blocks the code of a parcel after this many wrong ones, until the office decides. */
export const maxWrongCodes = 5

/** Makes the code that the recipient of a parcel says at the door: six digits, which no list and no phone shows. */
const makeCode = (key: string, waybill: string): string =>
  String(hash('sha256', `${key} door ${waybill}`, 'buffer').readUIntBE(0, 6) % 1_000_000).padStart(6, '0')

/** Returns true for the code that any valid key of the tenant made. */
export const isCode = (linkKeys: readonly string[], waybill: string, given: string): boolean => {
  const digits = Buffer.from(readDigits(given).padStart(6, ' ').slice(0, 7))
  return linkKeys.some(key => {
    const code = Buffer.from(makeCode(key, waybill))
    return code.length === digits.length && timingSafeEqual(code, digits)
  })
}

/** Adds the code to what the recipient's messages may say. */
export const codeInMessages: SnapshotPoint = ({ waybill_number }, { linkKeys: [key = ''] }) => ({
  delivery_code: makeCode(key, waybill_number),
})
