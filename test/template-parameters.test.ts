import t from 'tap'

const address = new URL('../portal/console/template-parameters.js', import.meta.url)
const { buildComponents, findParameters } = await import(address.href)

/** Returns the components that the console sends for a body whose variables have the values `value NAME`. */
const send = (text: string) => {
  const parameters: { id: string; label: string }[] = findParameters({ components: [{ type: 'BODY', text }] })
  return buildComponents(parameters, Object.fromEntries(parameters.map(({ id, label }) => [id, `value ${label}`])))
}
const body = (...parameters: object[]) => [
  { type: 'body', parameters: parameters.map(each => ({ type: 'text', ...each })) },
]

t.test('a variable that a text repeats is one parameter, and positional variables are in order of number', async t => {
  t.same(send('{{2}} for {{1}}, or {{2}}'), body({ text: 'value 1' }, { text: 'value 2' }))
  t.same(send('{{10}}{{9}}{{8}}{{7}}{{6}}{{5}}{{4}}{{3}}{{2}}{{1}}')[0]?.parameters[9], {
    type: 'text',
    text: 'value 10',
  })
  const named = (name: string) => ({ text: `value ${name}`, parameter_name: name })
  t.same(send('{{who}}: {{cod}} for {{who}}'), body(named('who'), named('cod')))
})
