import fc from 'fast-check'
import t from 'tap'
import { addAmounts, findDecimals, refuseDecimals } from './currency.ts'

/** Lists the currencies of which Node's list has no decimals, and ISO 4217 has. */
const coarse = 'AFN ALL COP HUF IDR IQD IRR KPW LAK LBP MGA MMK PKR SLL SOS SYP YER'.split(' ')

t.test('a currency has the decimals of ISO 4217', async t => {
  const wanted = { JPY: 0, ISK: 0, CLP: 0, UGX: 0, KRW: 0, VND: 0, LKR: 2, USD: 2, PKR: 2, IDR: 2, KWD: 3, IQD: 3 }
  for (const [currency, decimals] of Object.entries(wanted)) t.equal(findDecimals(currency), decimals, currency)
  for (const currency of Intl.supportedValuesOf('currency').filter(each => !coarse.includes(each))) {
    const { maximumFractionDigits } = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions()
    t.equal(findDecimals(currency), maximumFractionDigits, currency)
  }
})

t.test('an amount that is finer than its currency is refused in words', async t => {
  t.equal(refuseDecimals('The amount', 1.5, 'JPY'), 'The amount 1.5 has too many decimals: JPY has none.')
  t.equal(refuseDecimals('The amount', 1.0005, 'KWD'), 'The amount 1.0005 has too many decimals: KWD has 3.')
  for (const [amount, currency] of [
    [150, 'JPY'],
    [0.29, 'LKR'],
    [999_999_999_999.999, 'KWD'],
  ] as const)
    t.equal(refuseDecimals('The amount', amount, currency), undefined, `${amount} ${currency}`)
})

t.test('sums are exact, in any order', async t => {
  t.equal(addAmounts([0.1, 0.2]), 0.3)
  t.equal(addAmounts([]), 0)
  t.equal(addAmounts([999_999_999_999.999, -999_999_999_999.998]), 0.001)
  const units = fc.array(fc.integer({ min: -(10 ** 15), max: 10 ** 15 }), { maxLength: 8 })
  fc.assert(
    fc.property(units, amounts => {
      const sum = amounts.reduce((sum, each) => sum + BigInt(each), 0n)
      return addAmounts(amounts.map(each => each / 1000)) === Number(sum) / 1000
    }),
  )
})
