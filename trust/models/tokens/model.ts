export const people = ['merchant', 'staff'] as const
export type Person = (typeof people)[number]
export const roles = ['viewer', 'dispatcher', 'messenger', 'admin'] as const
type Role = (typeof roles)[number]

export interface Token {
  name: string
  of: Person
  token: string
  id: string | undefined
  isLogin: boolean
  isEnded: boolean
  /** The statuses of the last five seconds. */
  recent: Set<number>
}

export interface Account {
  email: string
  password: number
  isActive: boolean
}

export interface State {
  accounts: Record<Person, Account>
  role: Role
  tokens: Token[]
}

/** Returns the status due to a request to move an unknown order, or of a merchant for its own account. */
export const statusOf = ({ accounts, role }: State, { of, isLogin, isEnded }: Token): number => {
  if (isEnded) return 401
  if (of === 'merchant') return accounts.merchant.isActive ? 200 : 401
  const its = isLogin ? role : 'admin'
  return its === 'dispatcher' || its === 'admin' ? 422 : 403
}

/** Records the current status before a change: processes may cache it for five seconds. */
export const remember = (state: State): void => {
  for (const token of state.tokens) token.recent.add(statusOf(state, token))
}
export const endLogins = ({ tokens }: State, person: Person): void => {
  for (const token of tokens) if (token.of === person && token.isLogin) token.isEnded = true
}
export const add = ({ tokens }: State, of: Person, token: string, id?: string): string => {
  const name = `T${tokens.length + 1}`
  tokens.push({ name, of, token, id, isLogin: id === undefined, isEnded: false, recent: new Set() })
  return name
}
