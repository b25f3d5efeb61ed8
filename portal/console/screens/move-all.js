import { announced, Button, ErrorText, useAction } from '../../kit/actions.js'
import { callOrders, newKeys } from '../../kit/api.js'
import { number, statusName, t } from '../../kit/i18n.js'
import { html, useRef, useState } from '../../kit/preact.js'
import { isOfParcel, listRefusals, Refused } from '../../kit/selection.js'
import { may } from '../../kit/session.js'
import { Field, Panel, useLive } from '../../kit/ui.js'
import { Collection, useCollection } from '../collection.js'
import { findRefusal, listMoves } from '../scan-list.js'
import { play } from '../sound.js'

/** Reads the reasons of failed deliveries and the `status_keys` that take one: none where failures are not counted. */
export const useReasons = () => {
  const none = { data: [], status_keys: [] }
  const read = (/** @type {AbortSignal} */ signal) => callOrders('/order/failure-reasons', { signal })
  return useLive(async signal => (may('listStaffFailureReasons') ? read(signal) : none)).data ?? none
}

export const Reasons = ({ of, value, onChange }) =>
  html`<${Field} id="reason" label=${t('failures.reason')} value=${value}
    onChange=${event => onChange(event.target.value)}>
    <option value="">${t('failures.no_reason')}</option>
    ${of.data.map(({ code, name }) => html`<option key=${code} value=${code}>${name}</option>`)}<//>`

/**
 * Shows a form that moves all items to one status; it names the refused items and can leave them out. `onDone` runs
 * after a move, with a sentence about it, and after items were left out.
 */
export const Move = ({ list, onDone }) => {
  const [status, setStatus] = useState('')
  const [note, setNote] = useState('')
  const [reason_code, setReason] = useState('')
  const reasons = useReasons()
  const keys = useRef(newKeys())
  const { items } = list
  const moves = listMoves(items)
  const chosen = moves.some(({ status_key }) => status_key === status) ? status : ''
  const read = items.filter(({ isRead }) => isRead)
  const refused = read.flatMap(item => {
    const reason = findRefusal(item, chosen)
    return reason ? [{ id: item.waybill, reason }] : []
  })
  const orders = items.flatMap(({ order }) => order ?? [])
  const collection = useCollection(orders, moves.find(({ status_key }) => status_key === chosen)?.books)
  const takesReason = reasons.status_keys.includes(chosen)
  const isReady = chosen && refused.length === 0 && read.length === items.length && collection.body
  const move = useAction(async () => {
    if (!isReady) return
    const reason = takesReason && reason_code ? { reason_code } : {}
    await moveAll(
      list,
      { status_key: chosen, note: note.trim(), fields: { ...reason, ...collection.body } },
      keys.current,
    )
    setNote('')
    setReason('')
    collection.end()
    const { name } = moves.find(({ status_key }) => status_key === chosen)
    onDone(t('scan.moved', { count: number(items.length), status: statusName(name) }))
  })
  const drop = (/** @type {string[]} */ waybills) => {
    list.drop(waybills)
    onDone()
  }
  const ofParcels = Object.keys(move.error?.errors ?? {}).filter(isOfParcel)
  return html`<${Panel} title=${t('scan.move')}>
    <div class="stack">
      <${Field} id="scan-status" label=${t('scan.to')} value=${chosen}
        onChange=${event => setStatus(event.target.value)}>
        <option value="">${t('message.choose')}</option>
        ${moves.map(
          ({ status_key, name, count }) =>
            html`<option key=${status_key} value=${status_key}>${statusName(name)}
              ${
                count < items.length
                  ? ` (${t('scan.some', { count: number(count), total: number(items.length) })})`
                  : ''
              }</option>`,
        )}
      <//>
      ${takesReason && html`<${Reasons} of=${reasons} value=${reason_code} onChange=${setReason} />`}
      <${Field} id="scan-note" label=${t('moves.note')} value=${note} maxlength="1000"
        onInput=${event => setNote(event.target.value)} />
      <${Collection} of=${collection} />
      <${Refused} title=${t('scan.refused', { count: number(refused.length) })} of=${refused} onDrop=${drop} />
      ${refused.length === 0 && html`<${ErrorText} error=${move.error} except=${ofParcels} />`}
      ${chosen && refused.length === 0 && !collection.body && html`<p class="hint">${t('collect.missing')}</p>`}
      <${Button} kind="primary" isBusy=${move.isBusy || !isReady} onClick=${() => move.run()}>
        ${t('scan.move_all', { count: number(items.length) })}<//>
    </div>
  <//>`
}

/** Moves all items or none; notes the service's refusal at each refused item. */
const moveAll = async (list, { status_key, note, fields }, keys) => {
  const waybill_numbers = list.items.map(({ waybill }) => waybill)
  const body = { waybill_numbers, status_key, ...(note && { note }), ...fields }
  try {
    await announced(callOrders('/order/status', { method: 'POST', body, key: keys.of(body) }))
    keys.done()
    play('good')
    const { order } = (await list.check(waybill_numbers[0])) ?? {}
    if (!order) return list.checkAll(waybill_numbers)
    const { status, moves } = order
    list.set(waybill_numbers, item => ({ refusal: undefined, order: item.order && { ...item.order, status, moves } }))
  } catch (caught) {
    const error = /** @type {any} */ (caught)
    play('bad')
    const reasons = new Map(listRefusals(error, waybill_numbers).map(({ id, reason }) => [id, reason]))
    const wrong = [...reasons.keys()]
    await list.checkAll(wrong)
    list.set(wrong, item => ({ refusal: { statusKey: status_key, reason: reasons.get(item.waybill) } }))
    throw caught
  }
}
