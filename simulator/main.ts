import { loadConfigOrExit, refuseSettings } from '@courier/shared/config.ts'
import { createLogger } from '@courier/shared/log.ts'
import closeWithGrace from 'close-with-grace'
import { readAccounts } from './accounts/read-accounts.ts'
import { createSimulator } from './app.ts'
import { readBehaviour, Settings } from './config.ts'

if (process.env.NODE_ENV === 'production') {
  process.stderr.write(
    'The simulator only pretends to deliver messages, so it does not run with NODE_ENV=production. Point MESSAGING_API_URL at the real API there.\n',
  )
  process.exit(1)
}
const settings = loadConfigOrExit(Settings, process.env)
const logger = createLogger('simulator', settings.LOG_LEVEL)

const paths = settings.SIMULATOR_ACCOUNTS.split(',').flatMap(path => path.trim() || [])
const accounts = await readAccounts(paths, process.env).catch((error: Error) => refuseSettings(error.message))

const { app } = await createSimulator({
  logger,
  accounts,
  accessToken: settings.DEMO_ACCESS_TOKEN,
  appSecret: settings.DEMO_APP_SECRET,
  behaviour: readBehaviour(settings),
})

closeWithGrace({ delay: 5_000, logger: false }, async ({ signal, err }) => {
  if (err) logger.fatal({ err }, 'process.failed')
  else logger.info({ signal }, 'process.stopping')
  await app.close()
  logger.info('process.stopped')
})

try {
  await app.listen({ host: settings.HOST, port: settings.SIMULATOR_PORT })
} catch (err) {
  const portTaken = (err as NodeJS.ErrnoException).code === 'EADDRINUSE'
  logger.fatal({ err }, portTaken ? 'process.cannot_start: set SIMULATOR_PORT to a free port' : 'process.cannot_start')
  process.exit(1)
}
