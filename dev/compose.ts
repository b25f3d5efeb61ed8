import { spawnSync } from 'node:child_process'
import { root } from './settings.ts'
// @ts-expect-error: plain JavaScript, for any Node
import { findStart } from './start-lock.mjs'

/**
 * Finds the container of a service that docker compose runs from this folder, or as COMPOSE_PROJECT_NAME. Returns
 * undefined without one, and while `npm start` runs.
 */
export const findContainer = (service: string): string | undefined => {
  if (findStart()) return undefined
  const { COMPOSE_PROJECT_NAME: project } = process.env
  const where = project ? `project=${project}` : `project.working_dir=${root}`
  const filters = [`service=${service}`, where, 'oneoff=False'].flatMap(label => [
    '--filter',
    `label=com.docker.compose.${label}`,
  ])
  const { stdout } = spawnSync('docker', ['ps', '--quiet', ...filters], { encoding: 'utf8', timeout: 10_000 })
  return stdout?.split('\n')[0] || undefined
}

/** Finds Docker Compose: the plugin of docker, or else version 1. */
export const findCompose = (): [string, ...string[]] =>
  spawnSync('docker', ['compose', 'version']).status === 0 ? ['docker', 'compose'] : ['docker-compose']

/**
 * Runs Node in a container, with `input` or this process's standard input, and with the `variables` that are set here.
 * Returns the exit status.
 */
export const runInContainer = (
  container: string,
  words: readonly string[],
  { variables = [], input }: { variables?: readonly string[]; input?: string | undefined } = {},
): number => {
  const isTerminal = input === undefined && process.stdin.isTTY && process.stdout.isTTY
  // Passes names without values: other users may read the arguments of a command.
  const passed = variables.filter(name => process.env[name] !== undefined).flatMap(name => ['--env', name])
  const options = ['--interactive', ...(isTerminal ? ['--tty'] : []), ...passed]
  const { status } = spawnSync('docker', ['exec', ...options, container, 'node', ...words], {
    stdio: [input === undefined ? 'inherit' : 'pipe', 'inherit', 'inherit'],
    ...(input !== undefined && { input }),
  })
  return status ?? 1
}
