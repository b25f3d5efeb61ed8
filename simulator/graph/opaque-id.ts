const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Letters and digits that mean nothing; not for secrets. */
export const opaqueId = (length: number): string => {
  let id = ''
  for (let left = length; left > 0; left--) id += letters[Math.floor(Math.random() * letters.length)]
  return id
}
