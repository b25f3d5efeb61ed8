import { repeatedCalls } from './repeated-calls.ts'
import { testShortForm } from './short-form.ts'

testShortForm(repeatedCalls)
