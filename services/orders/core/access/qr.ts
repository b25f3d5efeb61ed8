import { generate } from 'lean-qr'

/** Returns the rows of a QR code, in which 1 is dark. */
export const drawQr = (text: string): string[] => {
  const code = generate(text)
  const line = (y: number) => Array.from({ length: code.size }, (_, x) => Number(code.get(x, y))).join('')
  return Array.from({ length: code.size }, (_, y) => line(y))
}
