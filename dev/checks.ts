import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from './settings.ts'

/** Runs a program of the packages to its end and shows what it prints. True when it succeeded. */
const runTool = (name: string, ...words: string[]): boolean =>
  spawnSync(join(root, 'node_modules/.bin', name), words, { cwd: root, stdio: 'inherit' }).status === 0

export const checkTypes = (): boolean => runTool('tsc', '-p', '.')
export const checkLint = (): boolean => runTool('biome', 'check', '--error-on-warnings', '.')
