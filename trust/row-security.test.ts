import { rowSecurity } from './row-security.ts'
import { testShortForm } from './short-form.ts'

testShortForm(rowSecurity)
