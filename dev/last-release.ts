import { spawnSync } from 'node:child_process'
import { root } from './settings.ts'

/** 0.1.0, which has no tag. */
export const firstRelease = '3d13e8ef8c7ffdd5095cc3efd03bed05e2c174e4'

const git = (...words: string[]) => spawnSync('git', words, { cwd: root, encoding: 'utf8' })

/** The newest tag `v…` before this commit; undefined where the clone has no history. */
const findLastRelease = (): string | undefined => {
  const tag = git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^')
  const commit = tag.status === 0 ? tag.stdout.trim() : firstRelease
  return git('cat-file', '-e', `${commit}^{commit}`).status === 0 ? commit : undefined
}

export const lastRelease = findLastRelease()

/** Why a test that needs it is skipped, or false. */
export const skipWithoutRelease =
  lastRelease === undefined && 'the last release is not in this clone: git fetch --unshallow --tags'
