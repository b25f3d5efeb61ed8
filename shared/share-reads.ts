/** A row by its name, of one tenant; undefined when there is none. */
export type SharedRead<Row> = (tenant: string, name: string) => Promise<Row | undefined>

interface Waiting<Row> {
  readonly name: string
  readonly settle: (row: Row | undefined) => void
  readonly fail: (error: unknown) => void
}

interface Line<Row> {
  waiting: Waiting<Row>[]
  running: number
}

/** How many statements of one tenant run at once, and what one of them asks for at most. */
const lanes = 2
const namesAtOnce = 100

/**
 * Calls that ask for one row each while others of their tenant are being answered share the next statement: `read` gets
 * their names and returns the rows found, by name. None waits longer for the others than for the statement under way.
 */
export const shareReads = <Row>(
  read: (tenant: string, names: readonly string[]) => Promise<ReadonlyMap<string, Row>>,
): SharedRead<Row> => {
  const lines = new Map<string, Line<Row>>()

  const run = async (tenant: string, line: Line<Row>): Promise<void> => {
    const group = line.waiting.splice(0, namesAtOnce)
    line.running++
    try {
      const rows = await read(tenant, [...new Set(group.map(({ name }) => name))])
      for (const { name, settle } of group) settle(rows.get(name))
    } catch (error) {
      for (const { fail } of group) fail(error)
    }
    line.running--
    start(tenant, line)
  }

  const start = (tenant: string, line: Line<Row>): void => {
    while (line.running < lanes && line.waiting.length > 0) void run(tenant, line)
    if (line.running === 0) lines.delete(tenant)
  }

  return (tenant, name) =>
    new Promise((settle, fail) => {
      const line = lines.get(tenant) ?? { waiting: [], running: 0 }
      lines.set(tenant, line)
      line.waiting.push({ name, settle, fail })
      // Calls that arrive in one turn of the event loop go together.
      if (line.waiting.length === 1) setImmediate(start, tenant, line)
    })
}
