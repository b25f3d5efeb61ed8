import { sendLimits } from './send-limits.ts'
import { testShortForm } from './short-form.ts'

testShortForm(sendLimits)
