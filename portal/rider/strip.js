import { Button } from '../kit/actions.js'
import { number, t } from '../kit/i18n.js'
import { html, useEffect, useState } from '../kit/preact.js'
import { useSession } from '../kit/session.js'
import { isHeld, isUnsent, listRefused, load, undo, useRider } from './queue.js'
import { inStore, isKept } from './store.js'
import { sync } from './sync.js'
import { sumUp } from './words.js'

const dayMs = 86_400_000
const skewMs = 60_000

/** Offers to undo the last press for five seconds. */
const Undo = ({ acts }) => {
  const [, redraw] = useState(0)
  const held = acts.filter(isHeld).at(-1)
  useEffect(() => {
    if (!held) return
    const timer = setInterval(() => redraw(count => count + 1), 500)
    return () => clearInterval(timer)
  }, [held?.seq])
  return html`<div class="undo" role="status">${
    held &&
    html`<p>${sumUp(held)}</p>
      <${Button} onClick=${() => undo(held.waybill_number)}>
        ${t('rider.undo')} (${number(Math.ceil((held.heldUntil - Date.now()) / 1000))})<//>`
  }</div>`
}

/** Says what waits on this phone, on every screen and before the sign-in. */
export const Strip = () => {
  const { acts, others, list, isSending, error } = useRider()
  const { token, me } = useSession()
  const [isOnline, setOnline] = useState(navigator.onLine)
  useEffect(() => {
    const listen = () => setOnline(navigator.onLine)
    for (const type of ['online', 'offline']) addEventListener(type, listen)
  }, [])
  // A person who signs out leaves no recipient on the phone, but whoever signs in next sends what is theirs.
  useEffect(() => {
    if (!token && !me) inStore('values', 'readwrite', store => store.clear()).then(() => load())
    else load().then(sync)
  }, [token, me?.id])
  const waiting = acts.filter(isUnsent)
  const refused = listRefused().length
  const oldest = Math.min(...[...waiting, ...others].map(({ happened_at }) => Date.parse(happened_at)))
  const days = Math.floor((Date.now() - oldest) / dayMs)
  const say = (/** @type {string} */ key, /** @type {object} */ values = {}) =>
    html`<p class="notice">${t(`rider.${key}`, { ...values })}</p>`
  return html`<div class=${`strip ${waiting.length + others.length > 0 ? 'warn' : 'good'}`}>
      <span role="status"><a href="#/waiting">${
        waiting.length > 0
          ? t('rider.waits', { count: number(waiting.length) })
          : list && t(isSending ? 'rider.sending' : 'rider.all_sent')
      }
        ${refused > 0 && html` <strong class="wrong">${t('rider.refused', { count: number(refused) })}</strong>`}
      </a></span>
      ${!isOnline && html`<span>${t('rider.offline')}</span>`}
      ${waiting.length > 0 && token && isOnline && html`<${Button} onClick=${sync}>${t('rider.send_now')}<//>`}
    </div>
    ${days > 0 && Number.isFinite(days) && say('waits_long', { days: number(days) })}
    ${others.length > 0 && say('of_others', { count: number(others.length), name: others[0].by ?? '' })}
    ${!isKept() && say('not_kept')}
    ${!('serviceWorker' in navigator) && say('needs_https')}
    ${Math.abs(list?.skewMs ?? 0) > skewMs && say('clock')}
    ${error && isOnline && html`<p class="notice" role="alert">${error.message}</p>`}
    <${Undo} acts=${acts} />`
}
