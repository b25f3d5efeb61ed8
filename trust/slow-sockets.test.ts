import { testShortForm } from './short-form.ts'
import { slowSockets } from './slow-sockets.ts'

testShortForm(slowSockets)
