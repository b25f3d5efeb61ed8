import { access } from './access.ts'
import { testShortForm } from './short-form.ts'

testShortForm(access)
