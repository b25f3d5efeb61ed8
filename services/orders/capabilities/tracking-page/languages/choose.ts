import { en, type Words } from './en.ts'
import { si } from './si.ts'
import { ta } from './ta.ts'

export const languages = { en, si, ta } satisfies Record<string, Words>
export type Language = keyof typeof languages

export const isLanguage = (name: unknown): name is Language =>
  typeof name === 'string' && Object.hasOwn(languages, name)

/** Returns the available language that an Accept-Language header prefers; English when it prefers none. */
export const chooseLanguage = (header = ''): Language => {
  const preferred = header
    .slice(0, 500)
    .split(',')
    .map(part => /^\s*([a-z]{1,8})(?:-[\w-]*)?\s*(?:;\s*q=([01](?:\.\d{1,3})?)\s*)?$/i.exec(part))
    .map(match => ({ name: match?.[1]?.toLowerCase() ?? '', quality: Number(match?.[2] ?? 1) }))
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
  return preferred.map(({ name }) => name).find(isLanguage) ?? 'en'
}
