import { randomUUID } from 'node:crypto'

/** An id as the real ones look: `wamid.` and base64 that has the other party's number in it. */
export const messageId = (person: string): string => {
  const unique = randomUUID().replaceAll('-', '').slice(0, 18).toUpperCase()
  const bytes = `\x1c\x18${String.fromCharCode(person.length)}${person}\x15\x02\x00\x11\x18\x12${unique}\x00`
  return `wamid.${Buffer.from(bytes, 'latin1').toString('base64')}`
}
