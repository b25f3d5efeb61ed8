import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { moveStopwatch } from '../../../dev/shift-clock.ts'
import {
  addStaff,
  changeRole,
  changeStaffPassword,
  deactivateStaff,
} from '../../../services/orders/access/staff-commands.ts'
import { createTokenFor, revokeTokenById } from '../../../services/orders/access/token-commands.ts'
import { applyTenant } from '../../../services/orders/provisioning/apply.ts'
import {
  addMerchant,
  changePassword,
  deactivateMerchant,
} from '../../../services/orders/provisioning/merchant-commands.ts'
import { ordersFixture } from '../../../services/orders/test/orders-fixture.ts'
import { type CreateModel, expectSame, stepsOf, stepWith, times } from '../history.ts'
import { type Account, add, endLogins, people, remember, roles, type State, statusOf, type Token } from './model.ts'

const passwords = ['first-password', 'other-password'] as const

const number = fc.nat(1_000)
const person = fc.constantFrom(...people)
const login = { tokenDays: 30, staffHours: 12, triesPerEmail: 100_000, triesPerAddress: 100_000 }

export const tokens: CreateModel = async t => {
  const { pool, request, rows } = await ordersFixture(t, { login })
  const tenant = 'demo'
  let histories = 0
  const applying: Promise<unknown>[] = []
  t.teardown(() => Promise.all(applying))
  const pass = moveStopwatch(t.teardown)

  /** `apply` returns seconds after its commit. */
  const applied = async (email: string, change: () => Promise<unknown>): Promise<void> => {
    const read = async () =>
      JSON.stringify(await rows('select password_hash, is_active from merchants where email = $1', [email]))
    const before = await read()
    applying.push(change())
    while ((await read()) === before) await delay(5)
  }
  const activate = ({ email }: Account): Promise<unknown> => {
    const merchant = { name: email, email, active: true, businesses: [] }
    return applied(email, () => applyTenant(pool, { tenant: { id: tenant }, merchants: [merchant] }, false))
  }

  const use = async (state: State, token: Token): Promise<number> => {
    const options = { token: token.token, tenant }
    const unknown = { waybill_numbers: ['DM99999999'], status_key: 'key_2' }
    const { status } =
      token.of === 'merchant'
        ? await request('GET', '/api/public/merchant/user/get-current', undefined, options)
        : await request('POST', '/api/staff/order/status', unknown, options)
    if (!token.recent.has(status)) expectSame(`status of ${token.name}`, status, statusOf(state, token))
    return status
  }
  const logsIn = stepsOf(
    fc.record({ who: person, password: fc.constantFrom(0, 1) }),
    ({ who, password }, { accounts }: State) =>
      `${who} logs in with ${accounts[who].password === password ? 'the' : 'another'} password`,
    async (state, { who, password }) => {
      const { email, isActive, password: its } = state.accounts[who]
      const path = who === 'merchant' ? '/api/public/merchant/login' : '/api/staff/login'
      const { status, body } = await request('POST', path, { email, password: passwords[password] }, { token: '' })
      expectSame('status', status, isActive && its === password ? 200 : 422)
      if (status !== 200) return status
      if (who === 'staff') expectSame('role', body.staff.role, state.role)
      return add(state, who, body.token)
    },
  )
  const isCreated = stepsOf(
    person,
    who => `operator creates a token for ${who}`,
    async (state: State, who) => {
      const holder = who === 'staff' ? { staff: 'Portal' } : { merchant: state.accounts.merchant.email }
      const { id, token } = await createTokenFor(pool, { tenant, ...holder })
      return add(state, who, token, id)
    },
    ({ accounts }, who) => who === 'staff' || accounts.merchant.isActive,
  )
  const withToken = (
    text: (token: Token) => string,
    run: (state: State, token: Token) => Promise<string | number>,
    isOne = (_: Token): boolean => true,
  ) => number.map(stepWith(({ tokens }: State) => tokens.filter(isOne), text, run))
  const isRevoked = withToken(
    ({ name }) => `operator revokes ${name}`,
    async (state, token) => {
      remember(state)
      await revokeTokenById(pool, token.id ?? '')
      token.isEnded = true
      return 'done'
    },
    ({ id }) => id !== undefined,
  )
  const logsOut = withToken(
    ({ name }) => `the holder of ${name} logs out`,
    async (state, token) => {
      const path = token.of === 'merchant' ? '/api/public/merchant/logout' : '/api/staff/logout'
      const { status } = await request('POST', path, {}, { token: token.token })
      const isLive = statusOf(state, token) !== 401
      if (isLive || token.recent.size === 0) expectSame('status', status, isLive ? 200 : 401)
      if (status === 200) Object.assign(token, { isEnded: true, recent: new Set() })
      return status
    },
  )
  const changesPassword = stepsOf(
    person,
    who => `operator gives ${who} another password`,
    async (state: State, who) => {
      const account = state.accounts[who]
      account.password = 1 - account.password
      remember(state)
      const [{ email }, password] = [account, passwords[account.password] ?? '']
      if (who === 'staff') await changeStaffPassword(pool, { tenant, email }, password)
      else await applied(email, () => changePassword(pool, { tenant, email }, password))
      endLogins(state, who)
      return 'done'
    },
  )
  const switches = stepsOf(
    person,
    (who, { accounts }: State) => `operator ${accounts[who].isActive ? 'deactivates' : 'brings back'} ${who}`,
    async (state, who) => {
      const account = state.accounts[who]
      const { email, isActive } = account
      remember(state)
      if (who === 'merchant')
        await (isActive ? applied(email, () => deactivateMerchant(pool, { tenant, email })) : activate(account))
      else if (isActive) await deactivateStaff(pool, { tenant, email })
      else await addStaff(pool, { tenant, email, name: email, role: state.role }, passwords[account.password] ?? '')
      if (who === 'staff' && isActive) endLogins(state, who)
      account.isActive = !isActive
      return 'done'
    },
  )
  const changesRole = stepsOf(
    fc.constantFrom(...roles),
    role => `operator makes staff ${role}`,
    async (state: State, role) => {
      remember(state)
      await changeRole(pool, { tenant, email: state.accounts.staff.email, role })
      state.role = role
      return 'done'
    },
  )
  const uses = withToken(({ of, name }) => `${of} uses ${name}`, use)
  /** Clears the processes' caches. */
  const forget = async ({ tokens }: State): Promise<void> => {
    await pass(5_000)
    for (const token of tokens) token.recent.clear()
  }
  const passes = stepsOf(
    fc.constant(5_000),
    () => 'five seconds pass',
    async (state: State) => {
      await forget(state)
      return 'done'
    },
  )

  return {
    settings: fc.constant('a merchant and a member of staff, a viewer'),
    begin: async () => {
      const name = `h${++histories}`
      const email = `${name}@example.com`
      const account = { email, password: 0, isActive: true }
      const business = [`${10_000 + histories}:${name}`]
      await addMerchant(pool, { tenant, email, name: email, business }, passwords[0])
      await addStaff(pool, { tenant, email, name: email, role: 'viewer' }, passwords[0])
      return { accounts: { merchant: { ...account }, staff: { ...account } }, role: 'viewer', tokens: [] }
    },
    steps: [
      ...[...times(2, logsIn), isCreated, isRevoked, logsOut, changesPassword, switches, changesRole],
      ...[...times(4, uses), passes],
    ],
    end: async state => {
      await forget(state)
      for (const token of state.tokens) await use(state, token)
    },
  }
}
