import { testShortForm } from './short-form.ts'
import { webhookStorm } from './webhook-storm.ts'

testShortForm(webhookStorm)
