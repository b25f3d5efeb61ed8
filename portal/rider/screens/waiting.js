import { Act, Button } from '../../kit/actions.js'
import { named, number, t } from '../../kit/i18n.js'
import { html } from '../../kit/preact.js'
import { Panel } from '../../kit/ui.js'
import { isOpen, isUnsent, listRefused, load, useRider } from '../queue.js'
import { changeAct } from '../store.js'
import { act, sync } from '../sync.js'
import { sumUp } from '../words.js'

/** Returns true for an act that the service refused and no longer lists: somebody decided on it. */
const isDecided = (/** @type {import('../queue.js').Act} */ { id, code, settledAt }, list) =>
  code !== 'shape' && Number(settledAt) < list?.readAt && !list.refused.some(each => each.id === id)

/** Shows a refused act with its reason, until the rider does it again or gives it up, or the office decides. */
const Refused = ({ of: refused, list, dropped }) => {
  const { seq, id, kind, waybill_number: waybill, code, message } = refused
  const decision = list?.decided?.find(each => each.id === id)
  const forget = async () => {
    await changeAct(seq, () => null)
    await load()
  }
  const giveUp = () => (code === 'shape' ? forget() : act({ kind: 'drop', act: id, waybill_number: waybill }))
  const isOver = isDecided(refused, list)
  const mayDrop = code !== 'deactivated'
  const mayRepeat = mayDrop && ['deliver', 'fail', 'hand_back'].includes(kind)
  const repeat = `#/parcel/${encodeURIComponent(waybill)}?again=${id}`
  return html`<li class="panel"><p><strong>${sumUp(refused)}</strong></p>
    <p class=${isOver ? 'notice good' : 'wrong'}>${
      isOver ? named('decision', decision?.decision ?? 'other') : named('refusal', String(code))
    }</p>
    <p class="soft">${isOver ? [decision?.by, decision?.note].filter(Boolean).join(': ') : message}</p>
    <div class="row">${
      isOver
        ? html`<${Button} onClick=${forget}>${t('rider.seen')}<//>`
        : dropped
          ? html`<p class="soft">${t('rider.giving_up')}</p>`
          : html`${mayRepeat && html`<a class="button" href=${repeat}>${t('rider.again')}</a>`}
            ${mayDrop && html`<${Act} question=${t('rider.give_up_sure')} run=${giveUp}>${t('rider.give_up')}<//>`}`
    }</div></li>`
}

/** Shows every act without an outcome, and every refused one. */
export const Waiting = () => {
  const { acts, list } = useRider()
  const open = acts.filter(isUnsent)
  const refused = listRefused()
  const dropped = new Set(open.map(({ act }) => act))
  const show = each => html`<${Refused} key=${each.id} of=${each} list=${list} dropped=${dropped.has(each.id)} />`
  return html`<h1 tabindex="-1">${t('menu.waiting')}</h1>
    <${Panel} title=${t('rider.waits', { count: number(open.length) })}
      aside=${open.length > 0 && html`<${Button} kind="primary" onClick=${sync}>${t('rider.send_now')}<//>`}>
      <ul class="plain stack">${open.map(
        each => html`<li key=${each.id}>${sumUp(each)}${!isOpen(each) && ` · ${t('proof.title')}`}</li>`,
      )}</ul><//>
    <h2>${t('rider.refused', { count: number(refused.length) })}</h2>
    ${refused.length > 0 && html`<p class="hint">${t('rider.refused_hint')}</p>`}
    <ul class="plain stack">
      ${refused.map(show)}</ul>`
}
