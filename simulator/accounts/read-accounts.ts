import { readFile } from 'node:fs/promises'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

/**
 * Describes the part of a tenant's notifier file that the simulator reads
 * (docs/operators/company-files.md#the-notifiers-file).
 */
const NotifierFile = Type.Object({
  channels: Type.Array(
    Type.Object({
      phone_number_id: Type.String(),
      name: Type.Optional(Type.String()),
      access_token: Type.Union([Type.String(), Type.Object({ env: Type.String() })]),
      app_secret: Type.Union([Type.String(), Type.Object({ env: Type.String() })]),
      waba_id: Type.String(),
    }),
  ),
})

export type ChannelAccount = Record<'phone_number_id' | 'waba_id' | 'name' | 'access_token' | 'app_secret', string>

/** Returns the numbers in the tenants' notifier files. Throws an Error that names the file and its error. */
export const readAccounts = async (paths: readonly string[], environment: NodeJS.ProcessEnv) => {
  const accounts = await Promise.all(paths.map(path => readAccountFile(path, environment)))
  return accounts.flat()
}

const readAccountFile = async (path: string, environment: NodeJS.ProcessEnv): Promise<ChannelAccount[]> => {
  const refuse = (problem: string): never => {
    throw new Error(`${path}, from SIMULATOR_ACCOUNTS: ${problem}`)
  }
  const file: unknown = await readFile(path, 'utf8')
    .then(JSON.parse)
    .catch(error => refuse(error.message))
  const [problem] = Value.Errors(NotifierFile, file)
  if (!Value.Check(NotifierFile, file)) return refuse(`${problem?.path} ${problem?.message}`)
  const readSecret = (secret: string | { env: string }): string =>
    typeof secret === 'string' ? secret : (environment[secret.env] ?? refuse(`${secret.env} is not set`))
  return file.channels.map(channel => ({
    name: channel.phone_number_id,
    ...channel,
    access_token: readSecret(channel.access_token),
    app_secret: readSecret(channel.app_secret),
  }))
}
