// A plain balancer: every new connection goes to the next of BALANCER_TARGETS, ports of this machine.
import { connect, createServer, type Socket } from 'node:net'

const targets = (process.env.BALANCER_TARGETS ?? '').split(',').map(Number)
let turn = 0

const join = (from: Socket, to: Socket): void => {
  from.setNoDelay(true)
  from.on('error', () => {})
  from.on('close', () => to.destroy())
  from.pipe(to)
}

createServer(client => {
  const upstream = connect({ host: '127.0.0.1', port: targets[turn++ % targets.length] as number })
  join(client, upstream)
  join(upstream, client)
}).listen(Number(process.env.BALANCER_PORT), '127.0.0.1')
