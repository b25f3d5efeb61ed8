/** Names are compared without letter case and stray blanks (merchant-api: "they name the same city"). */
export const nameKey = (name: string): string => name.normalize('NFKC').trim().replace(/\s+/g, ' ').toLowerCase()
