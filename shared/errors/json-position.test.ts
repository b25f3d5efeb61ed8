import t from 'tap'
import { parseJson } from '../edge/json-body.ts'

const messageOf = (text: string): string => {
  const parsed = parseJson(Buffer.from(text))
  return parsed.kind === 'malformed' ? parsed.message : 'it is JSON'
}

const table: [text: string, place: string][] = [
  ['{"general_data": nope}', 'at position 17 (line 1 column 18)'],
  ['{\n  "a": [1,\r\n  ,2]}', 'at position 16 (line 3 column 3)'],
  ['{"a":}', 'at position 5 (line 1 column 6)'],
  ['[1,]', 'at position 3 (line 1 column 4)'],
  ['[[], [ ], {}, "\\"]", -1.5e3, tru]', 'at position 29 (line 1 column 30)'],
  ['undefined', 'at position 0 (line 1 column 1)'],
  ['[1 2]', 'at position 3 (line 1 column 4)'],
  ['{"a":1}x', 'at position 7 (line 1 column 8)'],
  ['["at position 1 (line 1 column 2)", no]', 'at position 36 (line 1 column 37)'],
  ['', 'it ends too early, at position 0 (line 1 column 1)'],
  ['{\n"a":1', 'at position 7 (line 2 column 6)'],
  ['[tru', 'it ends too early, at position 4 (line 1 column 5)'],
]
for (const [text, place] of table)
  t.test(`the position of the error in ${JSON.stringify(text)}`, async t => {
    t.equal(messageOf(text), `The body is not valid JSON: ${place}.`)
  })

t.test('every error of cut or altered JSON has a line and a column, and none quotes the text', async t => {
  const json = JSON.stringify({ customer_name: 'Nimali "N"', list: [1.5, true, null, { a: [] }], e: 'x\\y' }, null, 1)
  for (let at = 0; at < json.length; at++)
    for (const text of [json.slice(0, at), `${json.slice(0, at)}?${json.slice(at + 1)}`]) {
      const message = messageOf(text)
      if (message === 'it is JSON') continue
      t.match(message, /at position \d+ \(line \d+ column \d+\)\.$/, text)
      t.notMatch(message, /Nimali/)
    }
})
