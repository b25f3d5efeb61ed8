import JsBarcode from 'jsbarcode'
import { correction, generate } from 'lean-qr'

/** Returns the modules of a Code 128 from left to right, without quiet zones: true for dark. */
export const barsOf = (text: string): boolean[] => {
  const encoded: { encodings?: { data: string }[] } = {}
  JsBarcode(encoded, text, { format: 'CODE128' })
  return [...(encoded.encodings?.[0]?.data ?? '')].map(bit => bit === '1')
}

interface Matrix {
  /** Modules on a side, without the quiet zone. */
  readonly size: number
  readonly isDark: (x: number, y: number) => boolean
}

/** Makes a QR code that stays readable with a sixth of it damaged. */
export const qrOf = (text: string): Matrix => {
  const code = generate(text, { minCorrectionLevel: correction.M })
  return { size: code.size, isDark: (x, y) => code.get(x, y) }
}
