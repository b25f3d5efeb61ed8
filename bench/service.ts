import { findFreePort, toAddress } from '../dev/ports.ts'
import { ServiceProcess } from '../dev/service-process.ts'
import { serviceFlags } from '../dev/settings.ts'

export const log = (progress: string): void => {
  process.stderr.write(`${progress}\n`)
}

interface ServiceOptions {
  /** Names the file, relative to the root of the repository. */
  file: string
  portSetting: string
  environment: Record<string, string>
  profileFolder?: string | undefined
}

/** Starts a service as a process of its own. Returns it once it is ready. Settings in the environment apply. */
export const startService = async (
  options: ServiceOptions,
  cleanUps: AsyncDisposableStack,
): Promise<ServiceProcess> => {
  const { file, portSetting, profileFolder } = options
  const port = await findFreePort()
  const given = Object.fromEntries(Object.entries(process.env).map(([name, value = '']) => [name, value]))
  const defaults = { LOG_LEVEL: 'warn', SERVICE_TOKEN: 'a-service-token-of-benches' }
  const environment = { ...defaults, ...given, ...options.environment, HOST: '127.0.0.1', [portSetting]: String(port) }
  const flags = [...serviceFlags, ...(profileFolder ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : [])]
  const service = new ServiceProcess(file, toAddress('127.0.0.1', port), environment, { flags })
  cleanUps.defer(async () => {
    await service.stop('SIGTERM')
  })
  service.start()
  await service.ready()
  return service
}
