import { roles } from './roles.ts'
import { testShortForm } from './short-form.ts'

testShortForm(roles)
