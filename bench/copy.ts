import type pg from 'pg'

/** COPY FROM STDIN of one text over a client of pg, which has no call of its own for it. */
export const copyIn = (client: pg.Client, statement: string, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    client.query(new CopyIn(statement, Buffer.from(text), resolve, reject))
  })

/** What the client calls while the statement is its turn. */
class CopyIn implements pg.Submittable {
  readonly #statement: string
  readonly #bytes: Buffer
  readonly #resolve: () => void
  readonly #reject: (error: Error) => void

  constructor(statement: string, bytes: Buffer, resolve: () => void, reject: (error: Error) => void) {
    this.#statement = statement
    this.#bytes = bytes
    this.#resolve = resolve
    this.#reject = reject
  }

  submit(connection: pg.Connection): void {
    connection.query(this.#statement)
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(this.#bytes)
    connection.endCopyFrom()
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#resolve()
  }

  handleError(error: Error): void {
    this.#reject(error)
  }
}

interface CopyConnection {
  sendCopyFromChunk: (bytes: Buffer) => void
  endCopyFrom: () => void
}
