import { addressOf, freePort } from '../dev/ports.ts'
import { ServiceProcess } from '../dev/service-process.ts'
import { serviceFlags } from '../dev/settings.ts'

interface ServiceOptions {
  /** The file, relative to the root of the repository. */
  file: string
  portSetting: string
  environment: Record<string, string>
  profileFolder?: string | undefined
}

export interface Service {
  url: string
  pid: number
  /** The time from the start of the process until it was ready. */
  readySeconds: number
}

/** Returns flags of a Node process that writes a CPU profile when it ends. */
export const profileFlags = (folder: string | undefined): string[] =>
  folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`]

/** Starts a service as a process of its own and waits until it is ready. Settings in the environment apply. */
export const startService = async (options: ServiceOptions, cleanUps: AsyncDisposableStack): Promise<Service> => {
  const { file, portSetting, profileFolder } = options
  const port = await freePort()
  const given = Object.fromEntries(Object.entries(process.env).map(([name, value = '']) => [name, value]))
  const defaults = { LOG_LEVEL: 'warn', SERVICE_TOKEN: 'a-service-token-of-benches' }
  const environment = { ...defaults, ...given, ...options.environment, HOST: '127.0.0.1', [portSetting]: String(port) }
  const flags = [...serviceFlags, ...profileFlags(profileFolder)]
  const service = new ServiceProcess(file, addressOf('127.0.0.1', port), environment, { flags })
  const start = performance.now()
  cleanUps.defer(async () => {
    await service.stop('SIGTERM')
  })
  service.start()
  await service.ready()
  return { url: service.url, pid: service.pid ?? 0, readySeconds: (performance.now() - start) / 1000 }
}
