import { testShortForm } from './short-form.ts'
import { signatures } from './signatures.ts'

testShortForm(signatures)
