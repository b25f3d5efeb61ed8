// Takes a proof: a photo that is made small on the phone, a signature, or the code that the recipient says.

import { Button, ErrorText, useAction } from '../kit/actions.js'
import { ApiError } from '../kit/api.js'
import { t } from '../kit/i18n.js'
import { html, useEffect, useRef, useState } from '../kit/preact.js'
import { Field } from '../kit/ui.js'

/** @typedef {{ photo?: Blob, signature?: Blob, code?: string, without?: string }} Proof */

const longestSide = 1_600
const wantedBytes = 200_000
const qualities = [0.8, 0.65, 0.5, 0.35, 0.2]

/** @param {HTMLCanvasElement} canvas @param {string} type @param {number} [quality] @returns {Promise<Blob>} */
const toBlob = (canvas, type, quality) =>
  new Promise((resolve, reject) =>
    canvas.toBlob(blob => (blob ? resolve(blob) : reject(new ApiError(t('proof.no_picture')))), type, quality),
  )

/** Makes a photo small. Only its picture is drawn again: the place and the camera that the file names stay here. */
export const shrink = async (/** @type {Blob} */ file) => {
  const picture = await createImageBitmap(file).catch(() => {
    throw new ApiError(t('proof.no_picture'))
  })
  const scale = Math.min(1, longestSide / Math.max(picture.width, picture.height))
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(picture.width * scale))
  canvas.height = Math.max(1, Math.round(picture.height * scale))
  canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height)
  picture.close()
  let small = await toBlob(canvas, 'image/jpeg', qualities[0])
  for (const quality of qualities.slice(1)) {
    if (small.size <= wantedBytes) break
    small = await toBlob(canvas, 'image/jpeg', quality)
  }
  return small
}

const Preview = ({ of }) => {
  const [url, setUrl] = useState('')
  useEffect(() => {
    const made = of ? URL.createObjectURL(of) : ''
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [of])
  return of && url && html`<img class="proof" src=${url} alt=${t('proof.photo')} />`
}

const Photo = ({ value, onValue }) => {
  const take = useAction(async file => onValue(await shrink(file)))
  return html`<div class="field">
    <label class="button" for="photo">${t(value ? 'proof.again' : 'proof.take_photo')}</label>
    <input id="photo" class="hidden" type="file" accept="image/*" capture="environment"
      onChange=${({ target }) => target.files[0] && take.run(target.files[0])} />
    <${ErrorText} error=${take.error} /><${Preview} of=${value} /></div>`
}

/** Draws what a finger writes, black on white in light and dark. */
const Signature = ({ value, onValue }) => {
  const place = useRef(/** @type {any} */ (null))
  const clear = () => {
    const { current: canvas } = place
    const pen = canvas.getContext('2d')
    pen.fillStyle = '#fff'
    pen.fillRect(0, 0, canvas.width, canvas.height)
    Object.assign(pen, { lineWidth: 4, lineCap: 'round', strokeStyle: '#000' })
    onValue(undefined)
  }
  useEffect(clear, [])
  const draw = (/** @type {'moveTo' | 'lineTo'} */ step) => event => {
    const canvas = place.current
    if (step === 'moveTo') canvas.setPointerCapture(event.pointerId)
    if (!canvas.hasPointerCapture(event.pointerId)) return
    const { left, top, width } = canvas.getBoundingClientRect()
    const scale = canvas.width / width
    const pen = canvas.getContext('2d')
    if (step === 'moveTo') pen.beginPath()
    pen[step]((event.clientX - left) * scale, (event.clientY - top) * scale)
    pen.stroke()
  }
  const end = async () => onValue(await toBlob(place.current, 'image/png'))
  return html`<div class="field"><p id="signature-label">${t('proof.signature')}</p>
    <canvas ref=${place} class="signature" width="700" height="300" role="img" aria-labelledby="signature-label"
      onPointerDown=${draw('moveTo')} onPointerMove=${draw('lineTo')} onPointerUp=${end}></canvas>
    ${value && html`<${Button} kind="quiet" onClick=${clear}>${t('proof.clear')}<//>`}</div>`
}

const Code = ({ value, onValue }) =>
  html`<${Field} id="code" label=${t('proof.code')} hint=${t('proof.code_hint')} inputmode="numeric" autocomplete="off"
    maxlength="12" value=${value ?? ''} onInput=${event => onValue(event.target.value.trim() || undefined)} />`

const ways = { photo: Photo, signature: Signature, code: Code }

/** Returns true once the proof that a parcel needs is there, or a reason for going on without it. */
export const isProven = (/** @type {string} */ needed, /** @type {Proof} */ proof) =>
  needed === 'none' || Boolean(proof[needed]) || Boolean(proof.without?.trim())

/** Asks for the proof that is needed; offers a photo where none is. */
export const ProofFields = ({ needed, proof, onProof }) => {
  const way = (/** @type {string} */ name) => html`<${ways[name]} key=${name} value=${proof[name]}
    onValue=${value => onProof({ ...proof, [name]: value })} />`
  if (needed === 'none') return html`<details><summary>${t('proof.add')}</summary>${way('photo')}</details>`
  return html`<fieldset><legend>${t('proof.title')}</legend>${way(needed)}
    ${
      !proof[needed] &&
      html`<${Field} id="without" label=${t('proof.without')} maxlength="500" value=${proof.without ?? ''}
        onInput=${event => onProof({ ...proof, without: event.target.value })} />`
    }</fieldset>`
}
