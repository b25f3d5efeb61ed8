import { restarts } from './restarts.ts'
import { testShortForm } from './short-form.ts'

testShortForm(restarts)
