import { toUserId } from '../../../simulator/messages/people.ts'

/** Holds the seconds when a person last opted out and in; 0: never. */
interface Choice {
  out: number
  in: number
}

/** Describes a person as the notifier knows them: under one name or several. */
export interface Person {
  /** Is where their messages arrive. */
  phone: string
  /** Is the second of their last message; 0: none opens a conversation. */
  last: number
  all: Choice
  marketing: Choice
  /** Counts the messages that their conversation shows as received. */
  texts: number
}

export interface Message {
  name: string
  id: string
  person: Person
  status: string
  attempts: number
  /** true: the message was refused temporarily, and is not due before its wait is over. */
  waits: boolean
}

interface Names {
  phone: string
  id: string
}

export interface State {
  /** Holds the names that the person has now, and had until the number changed. */
  names: Names
  former: Names | undefined
  people: Map<string, Person>
  messages: Message[]
  /** Lists the phones on which messages arrived, with the names of the messages. */
  arrived: string[]
  /** Gives each webhook a second of its own. */
  second: number
  /** Lists webhooks, for repetition. */
  posted: { text: string; body: string }[]
}

export const toNames = (phone: string): Names => ({ phone, id: toUserId(phone) })
/** Lists the names by which a person may be looked up; a former number may have another owner by now. */
export const listNames = ({ names, former }: State): string[] => [
  ...Object.values(names),
  ...Object.values(former ?? {}),
]

const none = (): Choice => ({ out: 0, in: 0 })
export const isOut = ({ out, in: back }: Choice): boolean => out > 0 && out >= back

/** Returns the person behind a name: a new one, if nothing said anything about that name before. */
export const find = (state: State, name: string): Person => {
  const { names, former, people } = state
  const { phone } = former && Object.values(former).includes(name) ? former : names
  const person = people.get(name) ?? { phone, last: 0, all: none(), marketing: none(), texts: 0 }
  people.set(name, person)
  return person
}

/** Makes one person of both: the later window counts, and the opt-out of either. */
const merge = (state: State, from: Person, to: Person): void => {
  if (from === to) return
  to.last = Math.max(from.last, to.last)
  to.texts += from.texts
  for (const kind of ['all', 'marketing'] as const) {
    const [one, other] = [from[kind], to[kind]]
    const back = Math.max(one.in, other.in)
    const out = Math.max(one.out, other.out, ...(isOut(one) || isOut(other) ? [back] : []))
    to[kind] = { out, in: back }
  }
  for (const [name, person] of state.people) if (person === from) state.people.set(name, to)
  for (const message of state.messages) if (message.person === from) message.person = to
}

/** A webhook or response names the person by number and user id. */
export const pair = (state: State): void => merge(state, find(state, state.names.id), find(state, state.names.phone))

/** The person has a new number, and so a new user id; the webhook names them by number, by id, or by both. */
export const changeNumber = (state: State, names: Names, by: 'phone' | 'id' | 'both'): void => {
  const { phone, id } = state.names
  const own = find(state, phone)
  const isKnown = by !== 'id' || find(state, id) === own
  const moving = new Set([...(isKnown ? [own] : []), ...(by === 'phone' ? [] : [find(state, id)])])
  state.former = state.names
  state.names = names
  const kept = { ...own, last: 0, texts: 0, all: { ...own.all }, marketing: { ...own.marketing } }
  const next = find(state, by === 'id' ? names.id : names.phone)
  if (by === 'both') pair(state)
  for (const person of moving) merge(state, person, next)
  next.phone = names.phone
  next.texts++
  if (isKnown) state.people.set(phone, kept)
}

export type Word = 'Hello' | 'STOP' | 'START'
/** The person writes: this opens the conversation and may opt out or in. */
export const write = (person: Person, word: Word, at: number): void => {
  person.last = at
  person.texts++
  if (word === 'STOP') person.all.out = at
  if (word === 'START') person.all.in = person.marketing.in = at
}

/** Sends the message, unless its person has opted out meanwhile. */
export const send = (state: State, message: Message, fate: 'accepted' | 'busy'): void => {
  const { person, name } = message
  message.waits = fate === 'busy'
  if (isOut(person.all)) Object.assign(message, { status: 'cancelled', waits: false })
  else if (fate === 'busy') message.attempts++
  else {
    message.status = 'accepted'
    state.arrived.push(`${person.phone} ${name}`)
  }
}
