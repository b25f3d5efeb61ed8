// Checks the rules of prose, and that the files, folders and sections that documentation and comments name exist.
import { globSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import t from 'tap'
import { root } from './settings.ts'

type Texts = Readonly<Record<string, string>>

const listAnchors = (page: string): string[] =>
  [...removeBlocks(page).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
const removeBlocks = (page: string): string => page.replace(/^ *```[\s\S]*?^ *```/gm, '')

const readComments = (file: string, text: string): string => {
  if (file.endsWith('.md')) return text
  const comment = file.endsWith('.sql') ? /--.*/g : /\/\*[\s\S]*?\*\/|(?<![:'"`\w])\/\/.*/g
  return (text.match(comment) ?? []).join('\n')
}

/** Skips parts of addresses and of other repositories' paths. `placeholder` excludes names such as `NNNN-name.sql`. */
const namedPath = /(?<![\w:/@.*-])(?:\.\.?\/)*([\w.-]+(?:\/[\w.-]+)*\.(?:ts|mjs|md|sql|sh|json|yml|html))\b(?!\/)/g
const placeholder = /\b(NNNN|NAME|FILE)\b/
const namedFolder =
  /(?<![\w:/@.*-])((?:services|shared|simulator|dev|bench|trust|test|docs|examples)\/(?:[\w-]+\/)*)(?![\w.*-])/g
const citation = /docs\/((?:[\w-]+\/)?[\w-]+\.md)((?:#[\w-]+(?:, )?)+)/g
const link = /\]\((?!\w+:)([^)#\s]*)(?:#([\w-]+))?\)/g

/** Returns a sentence for each reference that leads nowhere. A path may name only the end of a longer one. */
const findBroken = (texts: Texts, files: readonly string[]): string[] => {
  const ends = new Set(files.flatMap(file => file.split('/').map((_, index, parts) => parts.slice(index).join('/'))))
  const hasAnchor = (page: string, anchor: string): boolean => listAnchors(texts[page] ?? '').includes(anchor)
  return Object.entries(texts).flatMap(([file, text]) => {
    const comments = readComments(file, text)
    // A landed migration is never edited: it may name files that have moved since.
    const isHistory = file === 'CHANGELOG.md' || file.endsWith('.sql')
    const paths = isHistory ? [] : [...comments.matchAll(namedPath)].map(([, path = '']) => path)
    const folders = isHistory ? [] : [...comments.matchAll(namedFolder)].map(([, folder = '']) => folder)
    const sections = [...comments.matchAll(citation)].flatMap(([, page, anchors = '']) =>
      (anchors.match(/[\w-]+/g) ?? []).map(anchor => [`docs/${page}`, anchor] as const),
    )
    const links = file.endsWith('.md') ? [...removeBlocks(text).matchAll(link)] : []
    const targets = links.map(
      ([, path, anchor]) => [path ? posix.join(posix.dirname(file), path) : file, anchor] as const,
    )
    return [
      ...paths.filter(path => !ends.has(path) && !placeholder.test(path)),
      ...folders.filter(folder => !files.some(one => one.startsWith(folder))),
      ...targets.flatMap(([path]) => (files.some(one => one === path || one.startsWith(`${path}/`)) ? [] : path)),
      ...[...sections, ...targets].flatMap(([page, anchor]) =>
        anchor === undefined || hasAnchor(page, anchor) ? [] : `${page}#${anchor}`,
      ),
    ].map(target => `${file} names ${target}, which does not exist.`)
  })
}

const files = globSync('**', { cwd: root, exclude: path => /(^|\/)(node_modules|\.git|\.data)$/.test(path) }).filter(
  path => statSync(join(root, path)).isFile(),
)

/** Exempts a file from the rules: a landed migration is never edited, and each text of a language is one literal. */
const isExempt = (file: string): boolean => /\/migrations\/|\/languages\/|^examples\/.*\.d\.ts$/.test(file)
const oneLiteral = /^\s*(?:return |const \w+ = |(?:\w+\.)*\w+: |[?:+] )?(['"`]|\/(?![*/])).*\1(?: \+)?[,)]*$/
const fragment = /(?:^[\s/*|-]*|[.!?|] )((?:Of|Those|That of|Whether|What) .*)/gm

const graphemes = new Intl.Segmenter()
const isLong = (line: string): boolean => line.length > 120 && [...graphemes.segment(line)].length > 120

/** Lists the sentences that open like fragments, and the lines of more than 120 columns. */
const findProse = (file: string, text: string): string[] => {
  const isPage = file.endsWith('.md')
  const comments = isPage ? removeBlocks(text) : readComments(file, text)
  const lines = isPage ? comments.replace(/^\|.*|\]\([^)]*\)/gm, '') : text
  const long = lines.split('\n').filter(line => isLong(line) && (isPage || !oneLiteral.test(line)))
  return [...[...comments.matchAll(fragment)].map(([, sentence = '']) => sentence), ...long].map(
    found => `${file}: ${found.trim()}`,
  )
}

t.test('sentences open with a verb or a noun, and lines have at most 120 columns', async t => {
  const read = files.filter(file => /\.(md|ts|js|mjs|sql)$/.test(file) && !isExempt(file))
  t.ok(read.includes('portal/kit/form.js'))
  t.same(
    read.flatMap(file => findProse(file, readFileSync(join(root, file), 'utf8'))),
    [],
  )
})

t.test('finds a fragment and a long line', async t => {
  const long = `${'x'.repeat(121)}`
  t.same(findProse('a.ts', `// It is so. Of two.\n${long}\n  '${long}',\n`), ['a.ts: Of two.', `a.ts: ${long}`])
  t.same(findProse('a.sql', '-- Whether it is.\n'), ['a.sql: Whether it is.'])
  t.same(findProse('a.md', `- What it is:\n|${long}|\n[a](${long}) \n${long}\n`), [
    'a.md: What it is:',
    `a.md: ${long}`,
  ])
})

t.test('every path, link and section that documentation and comments name exists', async t => {
  const read = files.filter(file => /\.(md|ts|mjs|sql)$/.test(file) && file !== 'dev/docs.test.ts')
  const texts = Object.fromEntries(read.map(file => [file, readFileSync(join(root, file), 'utf8')]))
  t.ok(read.includes('README.md') && read.includes('services/orders/app.ts'))
  t.same(findBroken(texts, files), [])
})

t.test('finds a wrong path, folder, link or section', async t => {
  const right = '# A b\n[x](other.md#c-d) `dev/run.ts` run.ts dev/ `NNNN-name.sql` https://x.example/no.ts\n'
  const others = { 'docs/other.md': '# C `d`\n', 'dev/run.ts': '/** docs/page.md#a-b */\nconst url = "gone.ts"\n' }
  const brokenIn = (page: string, code = '') =>
    findBroken({ ...others, 'docs/page.md': right + page, 'dev/run.ts': `${others['dev/run.ts']}${code}\n` }, [
      'docs/other.md',
      'docs/page.md',
      'dev/run.ts',
    ]).map(sentence => sentence.replace(/^(\S+) names (.*), which.*$/, '$1 $2'))
  t.same(brokenIn(''), [])
  t.same(brokenIn('`dev/gone.ts`'), ['docs/page.md dev/gone.ts'])
  t.same(brokenIn('`dev/gone/`'), ['docs/page.md dev/gone/'])
  t.same(brokenIn('[x](gone.svg)'), ['docs/page.md docs/gone.svg'])
  t.same(brokenIn('[x](#gone)'), ['docs/page.md docs/page.md#gone'])
  t.same(brokenIn('[x](other.md#gone)'), ['docs/page.md docs/other.md#gone'])
  t.same(brokenIn('', '// gone.ts'), ['dev/run.ts gone.ts'])
  t.same(brokenIn('', '// docs/page.md#a-b, #gone'), ['dev/run.ts docs/page.md#gone'])
})
