import { canaries } from './canaries.ts'
import { testShortForm } from './short-form.ts'

testShortForm(canaries)
