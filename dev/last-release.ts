import { spawnSync } from 'node:child_process'
import { root } from './settings.ts'

/** Names the commit of 0.2.0, which has no tag. */
const untaggedRelease = '97b32212a1f4dc2e1a92c8c5227f5c0a42fb5e36'

const git = (...words: string[]) => spawnSync('git', words, { cwd: root, encoding: 'utf8' })

/** Finds the newest tag `v…` before this commit, or else the commit of 0.2.0. undefined: the clone lacks it. */
const findLastRelease = (): string | undefined => {
  const tag = git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^')
  const commit = tag.status === 0 ? tag.stdout.trim() : untaggedRelease
  return git('cat-file', '-e', `${commit}^{commit}`).status === 0 ? commit : undefined
}

export const lastRelease = findLastRelease()

/** Gives the reason to skip a test that needs the last release, or false. */
export const skipWithoutRelease =
  lastRelease === undefined && 'the last release is not in this clone: git fetch --unshallow --tags'
