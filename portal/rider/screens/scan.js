import { Act, Button, ErrorText, instead, useAction } from '../../kit/actions.js'
import { ApiError, callOrders } from '../../kit/api.js'
import { t } from '../../kit/i18n.js'
import { html, useEffect, useRef, useState } from '../../kit/preact.js'
import { Field } from '../../kit/ui.js'
import { findWaybill } from '../../kit/waybill.js'
import { getState, useRider, view } from '../queue.js'
import { act } from '../sync.js'

const formats = ['code_128', 'qr_code']
const everyMs = 200

/** Returns the browser's own reader of barcodes, or else one by WebAssembly, which the service serves. */
const createReader = async () => {
  const { BarcodeDetector: Own } = /** @type {any} */ (window)
  const known = Own ? await Own.getSupportedFormats().catch(() => []) : []
  if (formats.every(format => known.includes(format))) return new Own({ formats })
  const folder = new URL('scanner/', document.baseURI)
  const { BarcodeDetector, prepareZXingModule } = await import(new URL('ponyfill.js', folder).href)
  prepareZXingModule({ overrides: { locateFile: (/** @type {string} */ name) => new URL(name, folder).href } })
  return new BarcodeDetector({ formats })
}

/** Shows what the camera sees, and gives the first waybill that it reads. */
const Camera = ({ onFound, onClose }) => {
  const video = useRef(/** @type {any} */ (null))
  const [error, setError] = useState(/** @type {unknown} */ (undefined))
  useEffect(() => {
    let isOpen = true
    /** @type {MediaStream | undefined} */
    let stream
    const watch = async () => {
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } })
      if (!isOpen) return stop()
      video.current.srcObject = stream
      const reader = await createReader()
      while (isOpen) {
        const found = video.current?.readyState > 1 ? await reader.detect(video.current).catch(() => []) : []
        const waybill = found.map(({ rawValue }) => findWaybill(rawValue)).find(Boolean)
        if (isOpen && waybill) return onFound(waybill)
        await new Promise(resolve => setTimeout(resolve, everyMs))
      }
    }
    const stop = () => {
      for (const track of stream?.getTracks() ?? []) track.stop()
    }
    watch().catch(() => setError(new ApiError(t('scan.no_camera'))))
    return () => {
      isOpen = false
      stop()
    }
  }, [])
  return html`<video ref=${video} class="camera" autoplay muted playsinline></video>
    <${ErrorText} error=${error} /><${Button} onClick=${onClose}>${t('scan.close')}<//>`
}

/** Says with whom a parcel is that is not on the list, and offers to take it. */
const Stranger = ({ found: { waybill, known } }) => {
  const take = async () => {
    await act({ kind: 'take', waybill_number: waybill })
    location.hash = '#/list'
  }
  if (known?.with === 'other')
    return html`<p class="scanned bad"><strong>${t('scan.other', { name: known.rider })}</strong> ${waybill}</p>`
  if (known && !known.can_take) return html`<p class="scanned bad"><strong>${t('scan.no_take')}</strong> ${waybill}</p>`
  return html`<p class="scanned"><strong>${t(known ? 'scan.nobody' : 'scan.not_asked')}</strong> ${waybill}</p>
    <${Act} kind="primary big" run=${take}>${t('act.take')}<//>`
}

/** Opens a scanned or typed parcel that the rider has; any other can be taken. */
export const Scan = () => {
  const { list } = useRider()
  const [isOpen, setOpen] = useState(false)
  const [found, setFound] = useState(/** @type {any} */ (undefined))
  const look = useAction(async text => {
    setOpen(false)
    setFound(undefined)
    const waybill = findWaybill(text.replace(/\s/gu, ''))
    if (!waybill) throw new ApiError(t('scan.no_waybill'))
    const open = (/** @type {string} */ wanted) => {
      const own = view().parcels.find(parcel => parcel.waybill_number.toLowerCase() === wanted.toLowerCase())
      if (own) location.hash = `#/parcel/${encodeURIComponent(own.waybill_number)}`
      return Boolean(own)
    }
    if (open(waybill)) return
    const { data } = await callOrders(`/rider/parcels/${encodeURIComponent(waybill)}`).catch(error => {
      if (error.status === 404) throw new ApiError(t('scan.unknown'))
      // Without the network the service judges when the act arrives.
      if (error.againAfter > 0) return { data: undefined }
      throw error
    })
    if (!data || !open(data.waybill_number)) setFound({ waybill: data?.waybill_number ?? waybill, known: data })
  })
  const onSubmit = instead(event => look.run(event.currentTarget.elements.namedItem('scan').value))
  const hasCamera = Boolean(navigator.mediaDevices?.getUserMedia)
  if (!list && !getState().list) return html`<h1 tabindex="-1">${t('menu.scan')}</h1>`
  return html`<h1 tabindex="-1">${t('menu.scan')}</h1>
    ${
      isOpen
        ? html`<${Camera} onFound=${look.run} onClose=${() => setOpen(false)} />`
        : hasCamera
          ? html`<${Button} kind="primary big" onClick=${() => setOpen(true)}>${t('scan.open')}<//>`
          : html`<p class="notice">${t('scan.needs_https')}</p>`
    }
    <form class="panel" onSubmit=${onSubmit}>
      <${Field} id="scan" name="scan" label=${t('scan.type')} autocomplete="off" autocapitalize="characters"
        spellcheck=${false} maxlength="300" enterkeyhint="go" />
      <${Button} type="submit" isBusy=${look.isBusy}>${t('scan.find')}<//></form>
    <${ErrorText} error=${look.error} />
    ${found && html`<${Stranger} key=${found.waybill} found=${found} />`}`
}
