import { isDeepStrictEqual } from 'node:util'
import { Client, StreamableHTTPClientTransport, type VersionNegotiationOptions } from '@modelcontextprotocol/client'

interface Connection {
  address: string
  token: string
  tenant?: string
  mode?: VersionNegotiationOptions['mode']
  fetch?: typeof fetch
}

/** Connects the official client to the tools of agents. */
export const connectAgent = async (
  t: { teardown: (end: () => unknown) => void },
  { address, token, tenant = 'demo', mode = 'auto', fetch }: Connection,
) => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': tenant }
  t.teardown(() => client.close())
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${address}/mcp`), {
      requestInit: { headers },
      ...(fetch && { fetch }),
    }),
  )
  /** Calls a tool. Returns its answer, which clients that read no structured output find in the text. */
  const use = async (name: string, given: object = {}) => {
    const { content, structuredContent, isError = false } = await client.callTool({ name, arguments: { ...given } })
    const [{ text = '' } = {}] = content as { text?: string }[]
    const answer = JSON.parse(text)
    if (!isError && !isDeepStrictEqual(structuredContent, answer)) throw new Error(`${name}: no structured output`)
    return { ...answer, isError }
  }
  return { client, use }
}
