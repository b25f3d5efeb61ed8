import { fuzz } from './fuzz.ts'
import { testShortForm } from './short-form.ts'

testShortForm(fuzz)
