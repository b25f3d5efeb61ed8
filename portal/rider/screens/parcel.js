import { Button, ErrorText, instead, useAction } from '../../kit/actions.js'
import { companyMoney, number, day as showDay, smallest, t } from '../../kit/i18n.js'
import { html, useState } from '../../kit/preact.js'
import { Facts, Field } from '../../kit/ui.js'
import { isProven, ProofFields } from '../proof.js'
import { listRefused, useRider, view } from '../queue.js'
import { act } from '../sync.js'
import { Badges, Contact } from './list.js'

/** Returns only the parts of a proof that hold something, or nothing. */
const keepProof = (/** @type {import('../proof.js').Proof} */ proof) => {
  const given = Object.entries(proof).filter(([, value]) => value instanceof Blob || value?.trim())
  return given.length > 0 ? { proof: Object.fromEntries(given) } : {}
}

/** Asks what the recipient paid, where the company keeps money: the COD in cash, unless the rider says otherwise. */
const Payment = ({ cod, methods, paid, onPaid }) => {
  const enter = (/** @type {string} */ name) => event => onPaid({ ...paid, [name]: event.target.value })
  const differs = paid.amount !== '' && Number(paid.amount) !== cod
  return html`<${Field} id="amount" label=${t('act.amount')} type="number" inputmode="decimal" min="0"
      step=${smallest()} required value=${paid.amount} onInput=${enter('amount')} />
    <${Field} id="method" label=${t('act.method')} value=${paid.method} onChange=${enter('method')}>
      ${methods.map(name => html`<option key=${name} value=${name}>${t(`method.${name}`)}</option>`)}<//>
    ${
      differs &&
      html`<${Field} id="reason" label=${t('act.reason')} required maxlength="500" value=${paid.reason}
      onInput=${enter('reason')} />`
    }`
}

const Deliver = ({ parcel, list, send }) => {
  const { cod, can_deliver_partly: mayBePartly } = parcel
  const [paid, setPaid] = useState({ amount: String(cod), method: 'cash', reason: '' })
  const [partly, setPartly] = useState(false)
  const [proof, setProof] = useState({})
  const asks = list.money && cod > 0
  const { amount, method, reason } = paid
  const isShort = Number(amount) !== cod
  const isReady = isProven(parcel.proof.delivered, proof) && (!asks || !isShort || reason.trim())
  const body = {
    kind: 'deliver',
    cod,
    ...(asks && { amount: Number(amount), method, ...(isShort && { reason: reason.trim() }) }),
    ...(partly && { partly }),
    ...keepProof(proof),
  }
  return html`<form class="stack" onSubmit=${instead(() => isReady && send.run(body))}>
    ${asks && html`<${Payment} cod=${cod} methods=${list.methods} paid=${paid} onPaid=${setPaid} />`}
    ${
      mayBePartly &&
      html`<${Field} id="partly" type="checkbox" label=${t('act.partly')} checked=${partly}
      onChange=${event => setPartly(event.target.checked)} />`
    }
    <${ProofFields} needed=${parcel.proof.delivered} proof=${proof} onProof=${setProof} />
    <${Button} kind="primary big" type="submit" isBusy=${send.isBusy} missing=${isReady ? '' : t('act.missing')}>
      ${asks ? t('act.confirm_amount', { amount: companyMoney(Number(amount)) }) : t('act.confirm')}<//></form>`
}

const Note = ({ value, onValue }) =>
  html`<${Field} id="note" label=${t('act.note')} maxlength="500" value=${value}
    onInput=${event => onValue(event.target.value)} />`

/** Offers the company's reasons: the press of one is the act. */
const Fail = ({ parcel, list, send }) => {
  const [note, setNote] = useState('')
  const [proof, setProof] = useState({})
  const isReady = isProven(parcel.proof.failed, proof)
  const press = (/** @type {string} */ reason_code) => () =>
    isReady && send.run({ kind: 'fail', reason_code, ...(note.trim() && { note: note.trim() }), ...keepProof(proof) })
  return html`<div class="stack">
    <${ProofFields} needed=${parcel.proof.failed} proof=${proof} onProof=${setProof} />
    <${Note} value=${note} onValue=${setNote} />
    ${!isReady && html`<p class="hint">${t('act.missing')}</p>`}
    ${list.reasons.map(
      ({ code, name }) =>
        html`<${Button} key=${code} kind="big" isBusy=${send.isBusy} disabled=${!isReady}
          onClick=${press(code)}>${name}<//>`,
    )}</div>`
}

const HandBack = ({ send }) => {
  const [note, setNote] = useState('')
  const body = { kind: 'hand_back', ...(note.trim() && { note: note.trim() }) }
  return html`<form class="stack" onSubmit=${instead(() => send.run(body))}>
    <${Note} value=${note} onValue=${setNote} />
    <${Button} kind="primary big" type="submit" isBusy=${send.isBusy}>${t('act.confirm_hand_back')}<//></form>`
}

const forms = { deliver: Deliver, fail: Fail, hand_back: HandBack }

/** Offers the acts that are possible. An act that replaces a refused one gives that one up. */
const Acts = ({ parcel, list, again }) => {
  const [open, setOpen] = useState(again ? again.kind : '')
  const send = useAction(async body => {
    const { waybill_number } = parcel
    const dropped = again ? [{ kind: 'drop', waybill_number, act: again.id }] : []
    await act(...dropped, { ...body, waybill_number })
    location.hash = '#/list'
  })
  const possible = {
    deliver: parcel.can_deliver && parcel.state !== 'done',
    fail: parcel.can_fail && parcel.state === 'to_do',
    hand_back: parcel.state !== 'done',
  }
  const Form = forms[open]
  return html`<section class="panel" aria-label=${t('rider.acts')}>
    <div class="acts">${Object.keys(forms).map(
      name => html`<${Button} key=${name} kind=${`big ${name}`} disabled=${!possible[name]}
        aria-expanded=${open === name ? 'true' : 'false'} onClick=${() => setOpen(open === name ? '' : name)}>
        ${t(`act.${name}`)}<//>`,
    )}</div>
    ${Form && html`<${Form} key=${open} parcel=${parcel} list=${list} send=${send} />`}
    <${ErrorText} error=${send.error} /></section>`
}

/** Shows what the office changed after the rider had read it. */
const Was = ({ of: { was } }) =>
  was &&
  html`<div class="notice"><p>${t('rider.was')}</p>
    <${Facts} of=${Object.fromEntries(
      Object.entries(was).map(([name, value]) => [
        t(`field.${name}`),
        name === 'cod' ? companyMoney(value) : (value ?? '–'),
      ]),
    )} /></div>`

const Instruction = ({ of: { action, date, note, given_as } }) =>
  html`<p class="notice"><strong>${t(`failures.${action}`)}</strong>${date && html` ${showDay(date, 'UTC')}`}
    ${note && html` · ${note}`} <span class="soft">${t(`failures.by.${given_as}`)}</span></p>`

const Details = ({ parcel }) => {
  const facts = {
    [t('field.order_no')]: parcel.order_no,
    [t('rider.shop')]: parcel.business_name,
    [t('field.description')]: parcel.description,
    [t('field.remark')]: parcel.remark,
    [t('field.weight')]: parcel.weight > 0 && `${number(parcel.weight)} kg`,
  }
  return html`<section class="panel" aria-label=${t('field.customer_address')}>
    <p class="address">${parcel.customer_address}, ${parcel.city}</p>
    <p><strong>${parcel.customer_name}</strong> <span class="badges"><${Badges} of=${parcel} /></span></p>
    <p class="cod">${parcel.cod > 0 ? companyMoney(parcel.cod) : t('rider.no_cod')}</p>
    <${Was} of=${parcel} />
    ${parcel.instruction && html`<${Instruction} of=${parcel.instruction} />`}
    <${Contact} of=${parcel} isWhole=${true} />
    <${Facts} of=${facts} /></section>`
}

/** Shows one parcel, with what the rider may do. */
export const Parcel = ({ params: [waybill = ''], query }) => {
  const { list } = useRider()
  const parcel = view().parcels.find(({ waybill_number }) => waybill_number === waybill)
  const again = listRefused().find(({ id }) => id === query.again)
  const title = html`<div class="row"><a class="button" href="#/list" aria-label=${t('menu.list')}>←</a>
    <h1 tabindex="-1">${waybill}</h1></div>`
  if (!parcel || !list) return html`${title}<p class="empty">${t('rider.not_here')}</p>`
  if (parcel.isTaken) return html`${title}<p class="notice">${t('rider.details_later')}</p>`
  return html`${title}<${Details} parcel=${parcel} />
    ${(!parcel.waits || again) && html`<${Acts} key=${again?.id} parcel=${parcel} list=${list} again=${again} />`}`
}
